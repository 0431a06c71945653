"""Find the mentions of one name in the words of a text."""

import re
from collections import Counter
from itertools import pairwise

from gate.names import Name, abbreviates, normalize_name_word, stem_name_word
from gate.vocabulary import load_words
from gate.words import MARKS, fold_word

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
