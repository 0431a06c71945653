"""Replace idioms, whose words mean something else on their own, by one word, or remove them."""

from collections.abc import Iterator, Sequence
from itertools import product

from gate.vocabulary import load_lists

# Words of a phrase ("/" separates alternatives) -> its replacement; empty if the phrase is removed. "+" in a
# replacement stands for the first word of the phrase.
_PHRASES = load_lists("phrases")


def _index_phrases() -> dict[str, list[tuple[tuple[str, ...], list[str]]]]:
    """Return first word -> [(the words of a phrase, its replacement)], the longest phrase first."""
    index: dict[str, list[tuple[tuple[str, ...], list[str]]]] = {}
    for pattern, meaning in _PHRASES.items():
        for words in product(*(part.split("/") for part in pattern.split())):
            read = [words[0] if part == "+" else part for part in meaning.split()]
            index.setdefault(words[0], []).append((words, read))
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return index


_INDEX = _index_phrases()


def join_phrases(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens with every phrase replaced by its meaning."""
    return tuple(_replace_phrases(tokens))


def _replace_phrases(tokens: Sequence[str]) -> Iterator[str]:
    at = 0
    while at < len(tokens):
        token = tokens[at]
        found = _find_phrase(tokens, at) if token in _INDEX else None
        if found is None:
            yield "too_to" if token == "too" and "to" in tokens[at + 2 : at + 4] else token
        else:
            yield from found[1]
        at += len(found[0]) if found else 1


def _find_phrase(tokens: Sequence[str], at: int) -> tuple[tuple[str, ...], list[str]] | None:
    for words, read in _INDEX[tokens[at]]:
        if tuple(tokens[at : at + len(words)]) == words:
            return words, read
    return None
