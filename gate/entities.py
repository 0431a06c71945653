"""Find where a text names its two entities, and replace them by slots."""

from collections.abc import Sequence
from dataclasses import dataclass

from gate.lexicon import AUXILIARIES
from gate.mentions import Span, find_abbreviated, find_alike, find_literal, find_variants
from gate.names import CLASS_TAGS, Name, is_abbreviation, parse_name
from gate.vocabulary import load_words
from gate.words import split_words

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
