"""Where the words of a text name an entity."""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from itertools import pairwise

from gate.names import Name, is_abbreviation, read_name
from gate.words import list_words, name_word, stem_word

HEAD, TAIL = "X", "Y"
SLOTS = (HEAD, TAIL)
# May stand between the words of a name that come in another order: "cancer of the lung".
_FREE = frozenset(["a", "an", "the", "of", "in", "on", "at", "to", "by", "its", "their", "s", ",", "(", ")"])
_GENERIC = list_words(
    """
    gene protein disease process phase enzyme product encoded reaction lining known called namely entire
    whole
    """
)
# "G0 to G1" is not "G1 to G0".
_ORDERING = frozenset(("to", "from"))
# May stand for a preposition of the name: "lymphoma exhibiting plasmacytoid differentiation".
_CONNECTIVES = list_words(
    """
    accord to the a an as by with exhibiting featuring showing having involving affecting classified
    according caused characterized subsequent resulting
    """
)
_MAX_STRETCH = 8


@dataclass(frozen=True)
class Masked:
    """A text's words with the entities replaced by their slots, and which of the two were not found."""

    tokens: tuple[str, ...]
    is_head_lost: bool
    is_tail_lost: bool


def mask_entities(tokens: Sequence[str], head: str, tail: str) -> Masked:
    """The tokens with each entity replaced by its slot; the longer name is looked for first."""
    masked = list(tokens)
    words = [name_word(token) for token in tokens]
    if read_name(head).variants[:1] == read_name(tail).variants[:1]:
        return _mask_twins(masked, words, read_name(head))
    names = ((HEAD, head), (TAIL, tail)) if len(head) >= len(tail) else ((TAIL, tail), (HEAD, head))
    lost = [slot for slot, name in names if not _mask_name(masked, words, read_name(name), slot)]
    return Masked(tuple(masked), HEAD in lost, TAIL in lost)


def _mask_twins(tokens: list[str], words: list[str], name: Name) -> Masked:
    """The tokens where both names are one but for case or plural: the first mention is the head."""
    spans = _find_runs(words, name)
    for count, (start, end) in reversed(list(enumerate(spans))):
        tokens[start:end] = [TAIL if count else HEAD]
    return Masked(tuple(tokens), not spans, len(spans) < 2)


def _mask_name(tokens: list[str], words: list[str], name: Name, slot: str) -> bool:
    """Whether the name is mentioned; puts the slot for every mention, in the tokens and in the words."""
    spans = _find_runs(words, name) or _find_scattered(words, name)
    for start, end in reversed(spans):
        end = _skip_abbreviation(tokens, end, name)
        tokens[start:end] = words[start:end] = [slot]
    return bool(spans)


def _find_runs(words: list[str], name: Name) -> list[tuple[int, int]]:
    """Spans of the words that are the name, word for word, in the first of its variants that is there."""
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


def _find_scattered(words: list[str], name: Name) -> list[tuple[int, int]]:
    """The tightest span with all words of the name, if nothing of weight stands among them."""
    stems = [stem_word(word) for word in words]
    places = [i for i, stem in enumerate(stems) if stem in name.needed]
    best: tuple[int, int] | None = None
    for first, start in enumerate(places):
        end = _reach_all(places[first:], stems, name)
        if end is not None and (best is None or end - start < best[1] - best[0]):
            best = (start, end)
    return [best] if best is not None and _is_mention(words, stems, best, name) else []


def _reach_all(places: list[int], stems: list[str], name: Name) -> int | None:
    """Where the first of the places on, all needed stems have been seen."""
    missing = Counter(name.needed)
    for place in places:
        missing[stems[place]] -= 1
        if all(count <= 0 for count in missing.values()):
            return place + 1
    return None


def _is_mention(words: list[str], stems: list[str], span: tuple[int, int], name: Name) -> bool:
    """Whether the span says the name: only light words between its own, numbers behind their words."""
    found = [(words[i], stems[i]) for i in range(*span)]
    own = [stem for _, stem in found if stem in name.needed]
    between = [word for word, stem in found if stem not in name.needed]
    is_same_order = tuple(dict.fromkeys(own)) == tuple(dict.fromkeys(name.order))
    if not is_same_order and name.own_function_words & _ORDERING.intersection(between):
        return False
    allowed = _FREE | _GENERIC | name.own_function_words
    if is_same_order and name.own_function_words:
        allowed |= _CONNECTIVES
    pairs = set(pairwise(stems))
    return (
        len(between) <= _MAX_STRETCH
        and all(word in allowed for word in between)
        and all(pair in pairs for pair in name.fixed_pairs)
    )


def _skip_abbreviation(tokens: list[str], end: int, name: Name) -> int:
    """The end of the mention, behind the bracket that abbreviates it if there is one."""
    if tokens[end : end + 1] == ["("] and tokens[end + 2 : end + 3] == [")"]:
        short = tokens[end + 1]
        if is_abbreviation(short.removesuffix("s"), name.initials) or is_abbreviation(
            short, "".join(name.order)
        ):
            return end + 3
    return end
