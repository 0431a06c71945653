"""Find where a text names its two entities, and replace them by slots."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gate.names import Name, is_abbreviation, parse_name
from gate.words import list_words, normalize_name_word, stem_word

HEAD, TAIL = "X", "Y"
SLOTS = (HEAD, TAIL)
# These may stand between the words of a name in another order: "cancer of the lung".
_FREE = frozenset(["a", "an", "the", "of", "in", "on", "at", "to", "by", "its", "their", "s", ",", "(", ")"])
_GENERIC_WORDS = list_words(
    """
    gene protein disease process phase enzyme product encoded reaction lining known called namely entire
    whole
    """
)
# With these words in a name, its order matters: "G0 to G1" is not "G1 to G0".
_ORDERING = frozenset(("to", "from"))
# These may replace a preposition of the name: "lymphoma exhibiting plasmacytoid differentiation" (with).
_CONNECTIVES = list_words(
    """
    accord to the a an as by with exhibiting featuring showing having involving affecting classified
    according caused characterized subsequent resulting
    """
)
_MAX_WORDS_BETWEEN = 8


@dataclass(frozen=True)
class MaskedText:
    """The words of a text with the entities replaced by slots, and which of the two were not found."""

    tokens: tuple[str, ...]
    is_head_lost: bool
    is_tail_lost: bool


def mask_entities(tokens: Sequence[str], head: str, tail: str) -> MaskedText:
    """Replace each entity in the tokens by its slot; the longer name is searched first."""
    masked = list(tokens)
    words = [normalize_name_word(token) for token in tokens]
    if parse_name(head).variants[:1] == parse_name(tail).variants[:1]:
        return _mask_same_names(masked, words, parse_name(head))
    names = ((HEAD, head), (TAIL, tail)) if len(head) >= len(tail) else ((TAIL, tail), (HEAD, head))
    lost = [slot for slot, name in names if not _mask_name(masked, words, parse_name(name), slot)]
    return MaskedText(tuple(masked), HEAD in lost, TAIL in lost)


def _mask_same_names(tokens: list[str], words: list[str], name: Name) -> MaskedText:
    """Mask two names that differ only in case or plural: the first mention is the head."""
    spans = _find_exact_mentions(words, name)
    for count, (start, end) in reversed(list(enumerate(spans))):
        tokens[start:end] = [TAIL if count else HEAD]
    return MaskedText(tuple(tokens), not spans, len(spans) < 2)


def _mask_name(tokens: list[str], words: list[str], name: Name, slot: str) -> bool:
    """Replace every mention by the slot in both lists, in place; return whether there was a mention."""
    spans = _find_exact_mentions(words, name) or _find_reordered_mention(words, name)
    for start, end in reversed(spans):
        end = _skip_abbreviation(tokens, end, name)
        tokens[start:end] = words[start:end] = [slot]
    return bool(spans)


def _find_exact_mentions(words: list[str], name: Name) -> list[tuple[int, int]]:
    """Return the spans that match the name word for word, for the first of its variants that occurs."""
    joined = f" {' '.join(words)} "
    for variant in name.variants:
        spans, length, at = [], variant.count(" ") - 1, joined.find(variant)
        while at >= 0:
            start = joined.count(" ", 0, at)
            spans.append((start, start + length))
            at = joined.find(variant, at + len(variant) - 1)
        if spans:
            return spans
    return []


def _find_reordered_mention(words: list[str], name: Name) -> list[tuple[int, int]]:
    """Return the shortest span with all words of the name, if only light words are between them."""
    stems = [stem_word(word) for word in words]
    places = [i for i, stem in enumerate(stems) if stem in name.needed]
    best: tuple[int, int] | None = None
    for first, start in enumerate(places):
        end = _find_end(places[first:], stems, name)
        if end is not None and (best is None or end - start < best[1] - best[0]):
            best = (start, end)
    return [best] if best is not None and _is_mention(words, stems, best, name) else []


def _find_end(places: list[int], stems: list[str], name: Name) -> int | None:
    """Return the end of the span that begins at the first place and has all needed stems, or None."""
    missing = Counter(name.needed)
    for place in places:
        missing[stems[place]] -= 1
        if all(count <= 0 for count in missing.values()):
            return place + 1
    return None


def _is_mention(words: list[str], stems: list[str], span: tuple[int, int], name: Name) -> bool:
    """Return whether the span is the name: only light words between its words, numbers after their words."""
    found = [(words[i], stems[i]) for i in range(*span)]
    own = [stem for _, stem in found if stem in name.needed]
    between = [word for word, stem in found if stem not in name.needed]
    is_same_order = tuple(dict.fromkeys(own)) == tuple(dict.fromkeys(name.order))
    if not is_same_order and name.own_function_words & _ORDERING.intersection(between):
        return False
    allowed = _FREE | _GENERIC_WORDS | name.own_function_words
    if is_same_order and name.own_function_words:
        allowed |= _CONNECTIVES
    pairs = set(pairwise(stems))
    return (
        len(between) <= _MAX_WORDS_BETWEEN
        and all(word in allowed for word in between)
        and all(pair in pairs for pair in name.fixed_pairs)
    )


def _skip_abbreviation(tokens: list[str], end: int, name: Name) -> int:
    """Return the end of the mention, including a bracket with its abbreviation if one follows."""
    if tokens[end : end + 1] == ["("] and tokens[end + 2 : end + 3] == [")"]:
        short = tokens[end + 1]
        if is_abbreviation(short.removesuffix("s"), name.initials) or is_abbreviation(
            short, "".join(name.order)
        ):
            return end + 3
    return end
