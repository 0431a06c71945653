"""Find where a text names its two entities, and replace them by slots."""

import re
from collections.abc import Sequence
from dataclasses import dataclass

from gate.mentions import (
    Span,
    find_abbreviated,
    find_exact_mentions,
    find_initials,
    find_joined,
    find_reordered,
    find_symbol,
)
from gate.name_words import (
    CHANGE_VERBS,
    CHANGE_VERBS_AFTER_MODAL,
    CLASS_TAGS,
    LIGHT_WORDS,
    normalize_name_word,
)
from gate.names import Name, is_abbreviation, parse_name
from gate.words import fold_word, split_words

HEAD, TAIL = "X", "Y"
SLOTS = (HEAD, TAIL)
_NAMING = frozenset(("known", "called", "named", "namely", "termed"))
_CAPITALS = re.compile(r"\b[A-Z][A-Z0-9]{2,}(?=s?\b)")
_MODALS = frozenset(("can", "may", "to", "not", "might", "could", "will", "does"))


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
    masked = split_words(text)
    words = [normalize_name_word(token) for token in masked]
    if parse_name(heads[0]).variants[:1] == parse_name(tails[0]).variants[:1]:
        return _mask_same_names(masked, words, parse_name(heads[0]))
    names = ((HEAD, heads), (TAIL, tails))
    if len(heads[0]) < len(tails[0]):
        names = names[::-1]
    lost = [
        slot
        for slot, forms in names
        if not _mask_exactly(masked, words, forms, slot) and not _mask_alike(text, masked, words, forms, slot)
    ]
    return MaskedText(tuple(masked), HEAD in lost, TAIL in lost)


def _mask_same_names(tokens: list[str], words: list[str], name: Name) -> MaskedText:
    """Mask two names that differ only in case or plural: the first mention is the head."""
    spans = find_exact_mentions(words, name)
    for count, (start, end) in reversed(list(enumerate(spans))):
        tokens[start:end] = [TAIL if count else HEAD]
    return MaskedText(tuple(tokens), not spans, len(spans) < 2)


def _mask_exactly(tokens: list[str], words: list[str], forms: Sequence[str], slot: str) -> bool:
    """Replace every word-for-word mention by the slot in both lists; return whether there was one."""
    names = [parse_name(form) for form in forms]
    found = [_replace(tokens, words, find_exact_mentions(words, name), name, slot) for name in names]
    return any(found)


def _mask_alike(text: str, tokens: list[str], words: list[str], forms: Sequence[str], slot: str) -> bool:
    """Replace the best mention that differs in order, ending, spelling or abbreviation; as above."""
    capitals = frozenset(fold_word(word) for word in _CAPITALS.findall(text))
    for form in forms:
        name = parse_name(form)
        span = (
            find_joined(tokens, name)
            or find_initials(tokens, name)
            or find_reordered(words, name, capitals)
            or find_symbol(tokens, name)
        )
        if span is not None and _replace(tokens, words, [span], name, slot):
            return True
    return False


def _replace(tokens: list[str], words: list[str], spans: list[Span], name: Name, slot: str) -> bool:
    for start, end in reversed(spans):
        end = _skip_bracket(tokens, end, name)
        if start > 1 and tokens[start - 1] == "(" and find_abbreviated(tokens[start - 2], name):
            start, end = start - 2, end + (tokens[end : end + 1] == [")"])
        start = _skip_apposition(tokens, start, name)
        is_change = _is_change_verb(tokens, start) and tokens[start] not in name.words
        tokens[start:end] = words[start:end] = ["causes", slot] if is_change else [slot]
    return bool(spans)


def _is_change_verb(tokens: list[str], at: int) -> bool:
    """Return whether the mention begins with a verb: "lowers the level of X" for "decreased level of X"."""
    is_after_modal = at > 0 and tokens[at - 1] in _MODALS
    return tokens[at] in CHANGE_VERBS or (is_after_modal and tokens[at] in CHANGE_VERBS_AFTER_MODAL)


def _skip_apposition(tokens: list[str], start: int, name: Name) -> int:
    """Return the start of the mention, including a part of the name that it explains: "IL2, called IL2 R"."""
    at = start
    while at and tokens[at - 1] in LIGHT_WORDS:
        at -= 1
    if _NAMING.isdisjoint(tokens[at:start]):
        return start
    while at and tokens[at - 1] in name.words:
        at -= 1
        start = at
    return start


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
