"""The two names of a statement: where a text mentions them, and what of it is neither."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from pretexeval.gate.lexicon import (
    AUXILIARIES,
    CACHE_SIZE,
    FUNCTION_WORDS,
    MARKS,
    fold_word,
    load_lists,
    load_words,
    make_singular,
    split_words,
    stem_word,
    tag_word,
)

# Each line holds words of one meaning: an organ and its adjective, a Latin word and an English one.
_SAME = {word: group.split()[0] for group in load_lists("names")["same"].split(";") for word in group.split()}

# Terminologies append these class words to a name in brackets.
CLASS_TAGS = load_words("class_tags")
# A name without these words is still the same name, if other words are left.
WEAK_WORDS = load_words("weak_words")
# Terminologies append these to the name of a whole class.
_UNSPECIFIC = re.compile(r"(?:,? not otherwise specified|,? NOS| - category)$", re.IGNORECASE)
_SYMBOL = re.compile(r"[a-z]{2,}\d+[a-z]?\d*")
_PROTEIN = re.compile(r"(?:[a-z]{3}ase(?<!disease)|protein|enzyme|receptor|antigen|channel|transporter)$")
_CHANGING_TAGS = frozenset(("up", "down", "neg", "abnormal", "normal"))


@dataclass(frozen=True)
class Name:
    """One name of an entity, prepared for the search."""

    literal: str
    """The words of the name as they are written, folded, with a blank at both ends."""
    variants: tuple[str, ...]
    """Word sequences that count as the name, each with a blank at both ends; the longest form first."""
    needed: Counter[str]
    """Stems of the words that carry the meaning, with the count of each."""
    optional: frozenset[str]
    """Stems of the words without which the name is still the same."""
    order: tuple[str, ...]
    """All these stems in the order of the name."""
    own_function_words: frozenset[str]
    fixed_pairs: tuple[frozenset[tuple[str, str]], ...]
    """For each number or letter its pairs with its neighbours, such as ("type", "1"): a mention keeps one."""
    letters: str
    """All letters and digits of the name, without blanks."""
    content: tuple[tuple[str, str], ...]
    """(word, stem) of the words that are no function words."""
    words: frozenset[str]
    """All words of the name as they are in a text, folded."""
    symbol: str
    """The symbol after the description of a protein: "akt1" in "Protein Kinase AKT1"; empty without one."""


@lru_cache(CACHE_SIZE)
def normalize_name_word(word: str) -> str:
    """Return the singular of a folded word of a name; words of one meaning give the same word."""
    if word in _SAME:
        return _SAME[word]
    singular = make_singular(word)
    return _SAME.get(singular, singular)


@lru_cache(CACHE_SIZE)
def stem_name_word(word: str) -> str:
    """Return the stem by which words of names are compared."""
    return stem_word(normalize_name_word(word))


@lru_cache(CACHE_SIZE)
def parse_name(name: str) -> Name:
    """Return the name prepared for the search in a text."""
    folded = split_words(_UNSPECIFIC.sub("", name))
    words = [normalize_name_word(word) for word in folded]
    stems = [stem_name_word(word) for word in folded]
    full = [normalize_name_word(word) for word in split_words(name)]
    variants = _list_variants(full) + ([words] if words != full else [])
    meaningful = [
        (word, stem) for word, stem in zip(words, stems, strict=True) if _carries_meaning(word, name)
    ]
    content = [stem for _, stem in meaningful]
    needed = [stem for word, stem in meaningful if word not in WEAK_WORDS] or content
    return Name(
        literal=f" {' '.join(split_words(name))} ",
        variants=tuple(f" {' '.join(variant)} " for variant in variants if variant),
        needed=Counter(needed),
        optional=frozenset(content).difference(needed),
        order=tuple(content),
        own_function_words=frozenset(words) & FUNCTION_WORDS,
        fixed_pairs=tuple(_list_fixed_pairs(stems)),
        letters="".join(word for word in folded if word not in MARKS),
        content=tuple(pair for pair in zip(folded, stems, strict=True) if pair[0] not in FUNCTION_WORDS),
        words=frozenset(folded),
        symbol=_read_symbol(folded),
    )


def _read_symbol(words: list[str]) -> str:
    """Return the last word if it is a symbol; none if a word says that the protein is changed or lost."""
    if len(words) < 2 or not (_SYMBOL.fullmatch(words[-1]) and _PROTEIN.search(words[-2])):
        return ""
    return "" if any(tag_word(word) & _CHANGING_TAGS for word in words) else words[-1]


def _list_fixed_pairs(stems: list[str]) -> Iterator[frozenset[tuple[str, str]]]:
    for before, stem, after in zip(["", *stems], stems, [*stems[1:], ""], strict=False):
        if (len(stem) == 1 or stem.isdigit()) and stem not in MARKS:
            pairs = {(before, stem)} if stem.isdigit() else {(before, stem), (stem, after)}
            pairs = {pair for pair in pairs if not FUNCTION_WORDS.intersection(pair) and "" not in pair}
            if pairs:
                yield frozenset(pairs)


def _carries_meaning(word: str, name: str) -> bool:
    """Return whether the word is not a function word; the capital A of "hepatitis A" is not one."""
    return word not in FUNCTION_WORDS or (word == "a" and re.search(r"\bA\b", name) is not None)


def _list_variants(words: list[str]) -> list[list[str]]:
    """Return the name, then its forms with the abbreviation for the long form, and without the bracket."""
    variants = [words]
    if "(" in words and ")" in words[words.index("(") :]:
        start, end = words.index("("), words.index(")", words.index("("))
        before, inner, after = words[:start], words[start + 1 : end], words[end + 1 :]
        long_form_start = _find_long_form(before, inner)
        if long_form_start is not None:
            variants.append(before[:long_form_start] + inner + after)
        if long_form_start is not None or (inner[-1:] and inner[-1] in CLASS_TAGS):
            variants.append(before + after)
    elif words.count(",") == 1:
        at = words.index(",")
        variants.append(words[at + 1 :] + words[:at])
    return variants


def _find_long_form(before: list[str], inner: list[str]) -> int | None:
    """Return the index of the first word that the bracket abbreviates; None if it abbreviates none."""
    if len(inner) != 1 or not before:
        return None
    for start, word in enumerate(before):
        if word[0] == inner[0][0] and is_abbreviation(inner[0], "".join(before[start:])):
            return start
    return None


def abbreviates(short: str, words: Sequence[str]) -> bool:
    """Return whether ``short`` has the initial of each word, and else letters of them, in their order."""
    if any(len(word) < 5 and word.isalpha() for word in words) or len(short) > 2 * len(words) + 1:
        return False
    left = iter(short)
    return is_abbreviation(short, "".join(words)) and all(word[0] in left for word in words)


def is_abbreviation(short: str, letters: str) -> bool:
    """Return whether ``short`` (8 letters at most) is a subsequence of ``letters`` that starts like it."""
    if not letters or not short or len(short) > 8 or short[0] != letters[0]:
        return False
    left = iter(letters)
    return all(letter in left for letter in short)


# These may stand between the words of a name that are in another order ("cancer of the lung"), or replace a
# preposition of the name: "stage 2 according to the scale" for "stage 2 by the scale".
LIGHT_WORDS = load_words("light_words")
# With these words in a name, its order matters: "G0 to G1" is not "G1 to G0".
_ORDERING_WORDS = frozenset(("to", "from"))
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9]{2,}(?=s?\b)")
_MAX_WORDS_BETWEEN = 8
_LINKING = frozenset(("of", "the", "a", ","))
Span = tuple[int, int]


def find_literal(tokens: list[str], name: Name) -> list[Span]:
    """Return the spans that are the name as it is written, but for case and accents."""
    return _find_all(f" {' '.join(tokens)} ", name.literal)


def find_variants(tokens: list[str], name: Name) -> list[Span]:
    """Return the spans of the first variant of the name that occurs; words of one meaning count as equal."""
    joined = f" {' '.join(map(normalize_name_word, tokens))} "
    return next(filter(None, (_find_all(joined, variant) for variant in name.variants)), [])


def find_alike(tokens: list[str], name: Name, text: str) -> list[Span]:
    """Return the best span that differs from the name in order, ending, spelling or abbreviation.

    Args:
        text: the text of the tokens; its words in capitals may abbreviate words of the name.
    """
    capitals = frozenset(fold_word(word) for word in _CAPITALS.findall(text))
    words = [normalize_name_word(token) for token in tokens]
    span = _find_joined(tokens, name) or _find_reordered(words, name, capitals) or _find_symbol(tokens, name)
    return [span] if span else []


def _find_all(joined: str, variant: str) -> list[Span]:
    spans, length, at = [], variant.count(" ") - 1, joined.find(variant)
    while at >= 0:
        start = joined.count(" ", 0, at)
        spans.append((start, start + length))
        at = joined.find(variant, at + len(variant) - 1)
    return spans


def _find_joined(tokens: list[str], name: Name) -> Span | None:
    """Return the span whose letters are those of the name: "IL 2" for "IL-2", "betablocker"."""
    for start, token in enumerate(tokens):
        if not name.letters.startswith(token):
            continue
        end, letters = start, ""
        while end < len(tokens) and len(letters) < len(name.letters):
            letters += "" if tokens[end] in MARKS else tokens[end]
            end += 1
        if letters == name.letters:
            return start, end
    return None


def _find_symbol(tokens: list[str], name: Name) -> Span | None:
    """Return the span of the symbol of a protein: "the AKT1 gene" for "Protein Kinase AKT1"."""
    if not name.symbol or name.symbol not in tokens:
        return None
    at = tokens.index(name.symbol)
    return at, at + 1


def _find_reordered(words: list[str], name: Name, capitals: frozenset[str]) -> Span | None:
    """Return the shortest span with all words of the name, if only light words are between them."""
    stems = [stem_name_word(word) for word in words]
    for at, word in enumerate(words):
        run = find_abbreviated(word, name) if word in capitals and word not in name.words else None
        if run is not None:
            full = [*words[:at], *run, *words[at + 1 :]]
            span = _find_reordered_in(full, [*stems[:at], *run, *stems[at + 1 :]], name)
            return span and (min(span[0], at), max(span[1] - len(run) + 1, at + 1))
    return _find_reordered_in(words, stems, name)


def find_abbreviated(word: str, name: Name) -> list[str] | None:
    """Return the stems of the longest run of words of the name that the word abbreviates, or None."""
    for n_words in range(len(name.content), 1, -1):
        for start in range(len(name.content) - n_words + 1):
            run = name.content[start : start + n_words]
            if abbreviates(word, [full for full, _ in run]):
                return [stem for _, stem in run]
    return None


def _find_reordered_in(words: list[str], stems: list[str], name: Name) -> Span | None:
    places = [i for i, stem in enumerate(stems) if stem in name.needed]
    if len(places) < sum(name.needed.values()):
        return None
    best: Span | None = None
    for first, start in enumerate(places):
        end = _find_end(places[first:], stems, name)
        if end is not None and (best is None or end - start < best[1] - best[0]):
            best = (start, end)
    if best is None or not _is_mention(words, stems, best, name):
        return None
    return _widen(stems, best, name)


def _find_end(places: list[int], stems: list[str], name: Name) -> int | None:
    """Return the end of the span that begins at the first place and has all needed stems, or None."""
    missing = Counter(name.needed)
    for place in places:
        missing[stems[place]] -= 1
        if all(count <= 0 for count in missing.values()):
            return place + 1
    return None


def _is_mention(words: list[str], stems: list[str], span: Span, name: Name) -> bool:
    """Return whether the span is the name: only light words between its words, numbers after their words."""
    found = [(words[i], stems[i]) for i in range(*span)]
    own = [stem for _, stem in found if stem in name.needed]
    between = [word for word, stem in found if stem not in name.needed and stem not in name.optional]
    is_same_order = tuple(dict.fromkeys(own)) == tuple(
        s for s in dict.fromkeys(name.order) if s in name.needed
    )
    if not is_same_order and name.own_function_words & _ORDERING_WORDS.intersection(between):
        return False
    allowed = LIGHT_WORDS | name.own_function_words
    is_near = len(between) <= _MAX_WORDS_BETWEEN and all(word in allowed for word in between)
    return is_near and not any(fixed.isdisjoint(pairwise(stems)) for fixed in name.fixed_pairs)


def _widen(stems: list[str], span: Span, name: Name) -> Span:
    """Return the span with the optional words of the name beside it, such as "the presence of" before it."""
    start, end = span
    for n_between in (0, 1, 2):
        before = stems[max(0, start - n_between) : start]
        if (
            start > n_between
            and stems[start - n_between - 1] in name.optional
            and _LINKING.issuperset(before)
        ):
            start -= n_between + 1
    while end < len(stems) and stems[end] in name.optional:
        end += 1
    return start, end


HEAD, TAIL = "X", "Y"
SLOTS = (HEAD, TAIL)
# These verbs say that something brings about the change that a name contains: "lowers X" for "decreased X".
_CHANGE_VERBS = load_words("change_verbs")
_BEFORE_INFINITIVE = AUXILIARIES | {"to", "not"}


@dataclass(frozen=True)
class MaskedText:
    """The words of a text with the entities replaced by slots, and which of the two were not found."""

    tokens: tuple[str, ...]
    is_head_lost: bool
    is_tail_lost: bool


def mask_entities(text: str, heads: Sequence[str], tails: Sequence[str]) -> MaskedText:
    """Replace each entity in the text by its slot; the longer name is searched first.

    Args:
        heads: the name of the head, then its aliases.
        tails: the name of the tail, then its aliases.
    """
    tokens = split_words(text)
    head, tail = list(map(parse_name, heads)), list(map(parse_name, tails))
    if head[0].variants[:1] == tail[0].variants[:1]:
        return _mask_same_names(tokens, head[0])
    names = ((HEAD, head), (TAIL, tail))
    if len(heads[0]) < len(tails[0]):
        names = names[::-1]
    lost = [slot for slot, forms in names if not _mask(tokens, forms, slot, text)]
    return MaskedText(tuple(tokens), HEAD in lost, TAIL in lost)


def _mask_same_names(tokens: list[str], name: Name) -> MaskedText:
    """Mask two names that differ only in case or plural: the first mention is the head."""
    spans = find_variants(tokens, name)
    for count, (start, end) in reversed(list(enumerate(spans))):
        tokens[start:end] = [TAIL if count else HEAD]
    return MaskedText(tuple(tokens), not spans, len(spans) < 2)


def _mask(tokens: list[str], names: Sequence[Name], slot: str, text: str) -> bool:
    """Replace the mentions of an entity by its slot: those as it is written, or else the best other ones."""
    found = [_replace(tokens, find_literal(tokens, name), name, slot) for name in names]
    if any(found):
        return True
    return any(_replace(tokens, find_variants(tokens, name), name, slot) for name in names) or any(
        _replace(tokens, find_alike(tokens, name, text), name, slot) for name in names
    )


def _replace(tokens: list[str], spans: list[Span], name: Name, slot: str) -> bool:
    for start, end in reversed(spans):
        end = _skip_bracket(tokens, end, name)
        if start > 1 and tokens[start - 1] == "(" and find_abbreviated(tokens[start - 2], name):
            start, end = start - 2, end + (tokens[end : end + 1] == [")"])
        is_change = _is_change_verb(tokens, start) and tokens[start] not in name.words
        tokens[start:end] = ["causes", slot] if is_change else [slot]
    return bool(spans)


def _is_change_verb(tokens: list[str], at: int) -> bool:
    """Return whether the mention begins with a verb: "lowers the level of X" for "decreased level of X"."""
    is_infinitive = at > 0 and tokens[at - 1] in _BEFORE_INFINITIVE
    return tokens[at] in _CHANGE_VERBS or (is_infinitive and f"{tokens[at]}s" in _CHANGE_VERBS)


def _skip_bracket(tokens: list[str], end: int, name: Name) -> int:
    """Return the end of the mention, including a bracket with its abbreviation or class if one follows."""
    if tokens[end : end + 1] == ["("] and tokens[end + 2 : end + 3] == [")"]:
        short = tokens[end + 1]
        if short in CLASS_TAGS or any(
            is_abbreviation(short.removesuffix("s"), letters)
            for letters in ("".join(word[0] for word, _ in name.content), "".join(name.order))
        ):
            return end + 3
    return end
