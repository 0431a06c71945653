"""The two names of a statement: where a text mentions them, and what of it is neither."""

import re
from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import accumulate, pairwise

from pretexeval.gate.lexicon import (
    CACHE_SIZE,
    MARKS,
    PATTERNS,
    WORDS,
    find_tokens,
    fold_word,
    load_groups,
    make_singular,
    split_words,
    stem_word,
    tag_word,
)

HEAD, TAIL = "X", "Y"
SLOTS = (HEAD, TAIL)
_SAME = load_groups("same_names")
# With these words in a name, its order matters: "G0 to G1" is not "G1 to G0".
_ORDERING_WORDS = frozenset(("to", "from"))
_FUNCTION_WORDS = WORDS["function_words"]
_BEFORE_INFINITIVE = WORDS["auxiliaries"] | {"to", "not"}
Span = tuple[int, int]
Stems = frozenset[str]


@lru_cache(CACHE_SIZE)
def normalize_name_word(word: str) -> str:
    """Return the singular of a folded word of a name; words of one meaning give the same word."""
    singular = make_singular(word)
    return _SAME.get(word) or _SAME.get(singular, singular)


@lru_cache(CACHE_SIZE)
def stem_name_word(word: str) -> str:
    """Return the stem by which words of names are compared."""
    return stem_word(normalize_name_word(word))


@dataclass(frozen=True)
class Name:
    """One name of an entity, prepared for the search."""

    literal: str  # The words of the name as they are written, folded, with a blank at both ends.
    variants: tuple[str, ...]
    """Word sequences that count as the name, each with a blank at both ends; the longest form first."""
    needed: Counter[str]  # Stems of the words that carry the meaning, with the count of each.
    order: tuple[str, ...]  # The stems of all words but function words, in the order of the name.
    words: Stems  # All words of the name as they are in a text, folded.
    content: tuple[tuple[str, str], ...]  # (word, stem) of the words that are no function words.
    edges: tuple[str, str]  # The marks before the first word and after the last one.


@lru_cache(CACHE_SIZE)
def parse_name(name: str) -> Name:
    """Return the name prepared for the search in a text."""
    folded = split_words(PATTERNS["unspecific"].sub("", name))
    words = [normalize_name_word(word) for word in folded]
    stems = [stem_name_word(word) for word in folded]
    full = [normalize_name_word(word) for word in split_words(name)]
    variants = _list_variants(full)
    # The abbreviation in the bracket after its long form says nothing more.
    optional = WORDS["weak_words"] | ({full[full.index("(") + 1]} if len(variants) == 3 else set())
    # The capital A of "hepatitis A" is no article.
    light = _FUNCTION_WORDS - ({"a"} if re.search(r"\bA\b", name) else set())
    content = [(word, stem) for word, stem in zip(words, stems, strict=True) if word not in light]
    edges = PATTERNS["edges"].match(name.strip())
    return Name(
        literal=f" {' '.join(split_words(name))} ",
        variants=tuple(f" {' '.join(variant)} " for variant in [*variants, words] if variant),
        needed=Counter([s for word, s in content if word not in optional] or [s for _, s in content]),
        order=tuple(stem for _, stem in content),
        words=frozenset(folded),
        content=tuple(pair for pair in zip(folded, stems, strict=True) if pair[0] not in _FUNCTION_WORDS),
        edges=(edges[1], edges[2]) if edges else ("", ""),
    )


def _read_symbol(name: Name) -> str:
    """Return the symbol after the description of a protein that is not changed or lost: "AKT1"."""
    words = ["", *(word for word, _ in name.content)]
    is_symbol = PATTERNS["symbol"].fullmatch(words[-1]) and PATTERNS["protein"].search(words[-2])
    tags = frozenset().union(*map(tag_word, words))
    return words[-1] if is_symbol and tags.isdisjoint(("up", "down", "neg", "abnormal", "normal")) else ""


def _list_variants(words: list[str]) -> list[list[str]]:
    """Return the name, then its forms with the abbreviation for the long form, and without the bracket."""
    variants = [words]
    if "(" in words and ")" in words[words.index("(") :]:
        start, end = words.index("("), words.index(")", words.index("("))
        before, inner, after = words[:start], words[start + 1 : end], words[end + 1 :]
        starts = [at for at in range(len(before)) if is_abbreviation("".join(inner), "".join(before[at:]))]
        if is_abbreviated := bool(starts) and len(inner) == 1:
            variants.append(before[: starts[0]] + inner + after)
        if is_abbreviated or (inner[-1:] and inner[-1] in WORDS["class_tags"]):
            variants.append(before + after)
    elif words.count(",") == 1:
        at = words.index(",")
        variants.append(words[at + 1 :] + words[:at])
    return variants


def abbreviates(short: str, words: Sequence[str]) -> bool:
    """Return whether ``short`` is made of the initials of the words, or has them and more of their letters.

    A count may stand for a repeated word: "map3k7" for "mitogen activated protein kinase kinase kinase 7".
    """
    initials = "".join(word if word.isdigit() else word[0] for word in words)
    if short in (initials, PATTERNS["repeated"].sub(lambda run: f"{len(run[0])}{run[1]}", initials)):
        return True
    if any(len(word) < 5 and word.isalpha() for word in words) or len(short) > 2 * len(words) + 1:
        return False
    left = iter(short)
    return is_abbreviation(short, "".join(words)) and all(word[0] in left for word in words)


def is_abbreviation(short: str, letters: str) -> bool:
    """Return whether ``short`` (8 letters at most) is a subsequence of ``letters`` that starts like it."""
    left = iter(letters)
    return 0 < len(short) <= 8 and short[0] == letters[:1] and all(letter in left for letter in short)


@lru_cache(CACHE_SIZE)
def _find_abbreviated(word: str, content: tuple[tuple[str, str], ...]) -> tuple[str, ...] | None:
    """Return the stems of the longest run that the word abbreviates; one letter is the first word."""
    if len(word) == 1:
        return (content[0][1],) if len(content) > 1 and content[0][0][0] == word else None
    for n_words in range(len(content), 1, -1):
        for start in range(len(content) - n_words + 1):
            run = content[start : start + n_words]
            strong = [full for full, _ in run if full not in WORDS["weak_words"]]
            is_strong = len(strong) > 1 and abbreviates(word, strong)
            if is_strong or abbreviates(word, [full for full, _ in run]):
                return tuple(stem for _, stem in run)
    return None


def _find_all(words: list[str], variants: Sequence[str]) -> list[Span]:
    """Return the spans of the first of the variants that occurs."""
    joined = f" {' '.join(words)} "
    for variant in variants:
        spans, length, at = [], variant.count(" ") - 1, joined.find(variant)
        while at >= 0:
            start = joined.count(" ", 0, at)
            spans.append((start, start + length))
            at = joined.find(variant, at + len(variant) - 1)
        if spans:
            return spans
    return []


def _find_alike(tokens: list[str], words: list[str], name: Name, capitals: Stems, said: Stems) -> Span | None:
    """Return the best span that differs from the name in order, ending, spelling or abbreviation."""
    if span := _find_joined(tokens, name):
        return span
    stems = [stem_name_word(word) for word in words]
    for at, token in enumerate(tokens):
        if token in capitals - name.words and (run := _find_abbreviated(token, name.content)):
            full, all_stems = ([*row[:at], *run, *row[at + 1 :]] for row in (words, stems))
            span = _find_reordered(full, all_stems, name, name.needed)
            return span and (min(span[0], at), max(span[1] - len(run) + 1, at + 1))
    if (symbol := _read_symbol(name)) in tokens:
        return tokens.index(symbol), tokens.index(symbol) + 1
    unsaid = Counter({stem: count for stem, count in name.needed.items() if stem not in said})
    for needed in (name.needed, unsaid):
        if needed and (span := _find_reordered(words, stems, name, needed)):
            return span
    return _find_split(words, stems, name)


def _find_joined(tokens: list[str], name: Name) -> Span | None:
    """Return the span whose letters are those of the name: "IL2" for "IL-2", "betablocker"."""
    letters = "".join(word for word in name.literal.split() if word not in MARKS)
    joined = "".join(token for token in tokens if token not in MARKS)
    at = joined.find(letters) if letters else -1
    ends = [0, *accumulate(0 if token in MARKS else len(token) for token in tokens)]
    if at < 0 or at not in ends or at + len(letters) not in ends:
        return None
    return len(ends) - 1 - ends[::-1].index(at), ends.index(at + len(letters))


def _find_reordered(words: list[str], stems: list[str], name: Name, needed: Counter[str]) -> Span | None:
    """Return the shortest span with all needed words of the name, if only light words are between them."""
    places = [i for i, stem in enumerate(stems) if stem in needed]
    n_needed = sum(needed.values())
    spans = []
    for first, start in enumerate(places[: len(places) - n_needed + 1]):
        missing, left = Counter(needed), n_needed
        for place in places[first:]:
            left -= missing[stems[place]] > 0
            missing[stems[place]] -= 1
            if not left:
                spans.append((start, place + 1))
                break
    best = min(spans, key=lambda span: span[1] - span[0], default=None)
    return _widen(stems, best, name) if best and _is_mention(words, stems, best, name) else None


def _is_mention(words: list[str], stems: list[str], span: Span, name: Name) -> bool:
    """Return whether the span is the name: only light words between its words, numbers after their words."""
    own_words = _FUNCTION_WORDS & name.words
    between = [words[i] for i in range(*span) if stems[i] not in name.order]
    order = dict.fromkeys(stem for stem in name.order if stem in name.needed)
    own = dict.fromkeys(stem for stem in stems[slice(*span)] if stem in name.needed)
    if [*order] != [*own] and own_words & _ORDERING_WORDS.intersection(between):
        return False
    is_near = len(between) <= 8 and (WORDS["light_words"] | own_words).issuperset(between)
    return is_near and not _separates(stems, name)


def _separates(stems: list[str], name: Name) -> bool:
    """Return whether a number or letter of the name is not beside its word; "B-cell" is still the B."""
    found = [stem for stem in stems if stem not in _FUNCTION_WORDS]
    pairs = {*pairwise(found), *pairwise(stem for stem in found if stem != "cell")}
    for before, stem, after in zip(("", *name.order), name.order, (*name.order[1:], ""), strict=False):
        fixed = {(before, stem)} if stem.isdigit() or len(stem) == 1 else set()
        fixed |= {(stem, after)} if len(stem) == 1 and not stem.isdigit() else set()
        if any("" not in pair for pair in fixed) and pairs.isdisjoint(fixed):
            return True
    return False


def _find_split(words: list[str], stems: list[str], name: Name) -> Span | None:
    """Return the longest run of words of a name whose words are all in the text, but in several places.

    "The inheritance of Y is not X-linked recessive" has all words of "X-linked recessive inheritance".
    """
    if len(name.order) < 2 or not name.needed <= Counter(stems):
        return None
    if (name.words | name.needed.keys()) & (_ORDERING_WORDS | {"a"}) or _separates(stems, name):
        return None
    places = [at for at, stem in enumerate(stems) if stem in name.order]
    runs = [places[:1]]
    for before, at in pairwise(places):
        gap = [word for word in words[before + 1 : at] if word not in _FUNCTION_WORDS]
        if WORDS["light_words"].issuperset(gap):
            runs[-1].append(at)
            continue
        # "At an advanced stage" has a word that belongs to neither part.
        is_within = WORDS["auxiliaries"].union(SLOTS).isdisjoint(gap)
        if is_within and any(word.endswith(("ed", "ing")) for word in gap):
            return None
        runs.append([at])
    longest = max(runs, key=lambda run: len({stems[at] for at in run} & name.needed.keys()))
    return longest[0], longest[-1] + 1


def _widen(stems: list[str], span: Span, name: Name) -> Span:
    """Return the span with the optional words of the name beside it, such as "the presence of" before it."""
    start, end = span
    optional = set(name.order).difference(name.needed)
    for n_between in (0, 1):
        before = stems[max(0, start - n_between - 1) : start]
        is_linked = {"of", "the", "a", ","}.issuperset(before[1:])
        if len(before) > n_between and before[0] in optional and is_linked:
            start -= n_between + 1
    while end < len(stems) and stems[end] in optional:
        end += 1
    return start, end


class _Mentions:
    """The tokens of one text, in which the mentions of the names become slots."""

    def __init__(self, text: str) -> None:
        self.text = text
        self.tokens, self.places = find_tokens(text)

    def mask(self, names: Sequence[Name], slot: str, said: Stems) -> bool:
        """Replace the mentions of an entity by its slot: those as written, or else the best other ones."""
        found = [self.replace(_find_all(self.tokens, (name.literal,)), name, slot) for name in names]
        if any(found):
            return True
        words = [normalize_name_word(token) for token in self.tokens]
        for name in names:
            if spans := _find_all(words, name.variants):
                return self.replace(spans, name, slot)
        capitals = frozenset(fold_word(word) for word in PATTERNS["capitals"].findall(self.text))
        for name in names:
            if span := _find_alike(self.tokens, words, name, capitals, said):
                return self.replace([span], name, slot)
        return False

    def replace(self, spans: Sequence[Span], name: Name, slot: str) -> bool:
        """Replace the spans by the slot, with a bracket that abbreviates the name; return if any."""
        tokens = self.tokens
        for start, end in reversed(spans):
            end = _skip_bracket(tokens, end, name)
            if start > 1 and tokens[start - 1] == "(" and _find_abbreviated(tokens[start - 2], name.content):
                start, end = start - 2, end + (tokens[end : end + 1] == [")"])
            is_infinitive = start > 0 and tokens[start - 1] in _BEFORE_INFINITIVE
            verbs = {tokens[start], f"{tokens[start]}s" if is_infinitive else ""} & WORDS["change_verbs"]
            masks = ["causes", slot] if verbs and tokens[start] not in name.words else [slot]
            first, last = self.places[start][0], self.places[end - 1][1]
            before, after = name.edges
            first -= len(before) if before and self.text.endswith(before, 0, first) else 0
            # "Glucose 5 %" is "glucose 5%".
            blank = after == "%" and self.text.startswith(" %", last)
            last += len(after) + blank if after and self.text.startswith(after, last + blank) else 0
            tokens[start:end] = masks
            self.places[start:end] = [(first, last)] * len(masks)
        return bool(spans)

    def mask_text(self, name_words: Stems) -> str:
        """Return the text with its marks, in which every mention is the word "Entity".

        A mark before another word of a name is a part of that name: ";" in "t(9;22); BCR-ABL1".
        """
        parts, end = [], 0
        following = [*self.tokens[1:], ""]
        for token, after, (start, stop) in zip(self.tokens, following, self.places, strict=True):
            if token in SLOTS or (token in ";:" and after in name_words):
                parts += [self.text[end:start], "Entity" if token in SLOTS else " "]
                end = stop
        return "".join([*parts, self.text[end:]])


def _skip_bracket(tokens: list[str], end: int, name: Name) -> int:
    """Return the end of the mention, including a bracket with its abbreviation or class if one follows."""
    if tokens[end : end + 1] == ["("] and tokens[end + 2 : end + 3] == [")"]:
        short = tokens[end + 1]
        letters = ("".join(word[0] for word, _ in name.content), "".join(name.order))
        is_short = any(is_abbreviation(short.removesuffix("s"), row) for row in letters)
        return end + 3 if is_short or short in WORDS["class_tags"] else end
    return end


@dataclass(frozen=True)
class MaskedText:
    """The words of a text with the entities replaced by slots, and which of the two were not found."""

    tokens: tuple[str, ...]
    text: str  # The text itself, with the word "Entity" for each mention.
    is_head_lost: bool
    is_tail_lost: bool


def mask_entities(
    text: str, heads: Sequence[str], tails: Sequence[str], said: Stems = frozenset()
) -> MaskedText:
    """Replace each entity, a name or one of its aliases, by its slot; the longer name is searched first.

    A name does not need the words whose stems the statement has outside the names (``said``).
    """
    mentions = _Mentions(text)
    head, tail = list(map(parse_name, heads)), list(map(parse_name, tails))
    if head[0].variants[:1] == tail[0].variants[:1]:
        # Two names that differ only in case or plural: the first mention is the head.
        spans = _find_all([normalize_name_word(token) for token in mentions.tokens], head[0].variants)
        for at, span in reversed(list(enumerate(spans))):
            mentions.replace([span], head[0], TAIL if at else HEAD)
        lost = [HEAD] * (not spans) + [TAIL] * (len(spans) < 2)
    else:
        names = ((HEAD, head), (TAIL, tail))
        ordered = names if len(heads[0]) >= len(tails[0]) else names[::-1]
        lost = [slot for slot, forms in ordered if not mentions.mask(forms, slot, said)]
    name_words = frozenset().union(*(name.words for name in (*head, *tail))) - _FUNCTION_WORDS
    return MaskedText(tuple(mentions.tokens), mentions.mask_text(name_words), HEAD in lost, TAIL in lost)
