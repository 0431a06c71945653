"""The general English that the checks share: the function of each word in a statement, and idioms."""

import re
from collections.abc import Iterator, Sequence
from functools import lru_cache
from itertools import product

from gate.vocabulary import CACHE_SIZE, compile_lists, load_lists, load_words

ARTICLES = frozenset(("a", "an", "the"))
COPULAS = load_words("copulas")
AUXILIARIES = load_words("auxiliaries")
CONDITIONS = load_words("conditions")
_find_tags = compile_lists(load_lists("tags"))
# A negative prefix before a word that also exists without the prefix.
_PREFIXED = re.compile(
    r"un(?!der|i[cflnqtv]|til|to\b|usual|common|cover|veil|ravel|fold|known|clear|certain|dergo|likely|doubt"
    r"|question|fail|proven|proved|confirm|found|substan|deni|necess|support|determ)\w{3,}"
    r"(?:ed|able|ably|ible|ing|ful|al|ive|ic|ous|ent|ant|ory|own|een|ound|aware)"
    r"|non(?!e)\w{4,}"
    r"|(?:in|im|ir|il|dis|mis)(?:able|accurate|active|adequate|advisable|applicable|appropriate|complete|correct"
    r"|curable|dependent|detectable|direct|discernible|effective|effectual|efficacious|evident|existent|frequent"
    r"|operative|significant|sensitive|separable|stable|sufficient|tolerant|valid|variable|visible|mobile"
    r"|permissible|plausible|possible|potent|practical|probable|proper|regular|relevant|replaceable|responsive"
    r"|reversible|legitimate|logical|associated|connected|joined|similar|proven|proved|counted|qualified|qualifies"
    r"|favored|attributed|attributable)(?:ly)?"
)
# These words only look like prefixed negations, or get their tag from the lists above.
_UNPREFIXED = load_words("unprefixed")
_ENDLESS = re.compile(r"(?!un|never|none|regard|doubt|end|bless|need)\w{3,}less(?:ly|ness)?")


@lru_cache(CACHE_SIZE)
def tag_word(word: str) -> frozenset[str]:
    """Return the tags of a folded word; most words have none."""
    tags = _find_tags(word)
    if tags & {"neg", "rare", "unlike", "doubt", "must"}:
        return tags
    is_prefixed = _PREFIXED.fullmatch(word) is not None and word not in _UNPREFIXED
    return tags | {"neg"} if is_prefixed or _ENDLESS.fullmatch(word) else tags


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
