"""Count the changes of a rewording that could alter what its statement says."""

from collections.abc import Collection, Sequence
from difflib import SequenceMatcher

from gate.entities import SLOTS
from gate.kinds import find_noun_kinds
from gate.lexicon import ARTICLES
from gate.vocabulary import load_lists, load_words
from gate.words import make_singular

_GROUPS = [group.split() for group in load_lists("words")["interchangeable"].split(";")]
_SAME = {word: group[0] for group in _GROUPS for word in group}
_DROPPED = load_words("dropped")


def count_changed_words(statement: Sequence[str], text: Sequence[str]) -> int:
    """Return the number of words that were added, dropped or exchanged, apart from harmless changes.

    Harmless are: articles, commas and "then"; singular and plural; words of one group of the vocabulary; and
    to leave out what the statement calls an entity ("the condition X" said as "X"). A text without any other
    change says what its statement says, whoever wrote it.
    The sequences are matched by the longest blocks that they share (`difflib`; Ratcliff and Metzener, 1988).

    Args:
        statement, text: words in which the entities are slots.
    """
    own = _simplify(statement, ())
    other = _simplify(text, own)
    own = [word if word in other else word.split("/")[0] for word in own]
    if own == other:
        return 0
    changes = SequenceMatcher(None, own, other, autojunk=False).get_opcodes()
    return sum(max(i2 - i1, j2 - j1) for tag, i1, i2, j1, j2 in changes if tag != "equal")


def _simplify(words: Sequence[str], called: Collection[str]) -> list[str]:
    """Return the words without harmless differences; "the condition X" becomes "X/condition".

    Args:
        called: "the condition of X" becomes "X/condition" as well if that is among these.
    """
    kept: list[str] = []
    nouns: list[str] | None = None  # What the next entity is called, from an article on.
    for word, following in zip(words, [*words[1:], ""], strict=False):
        if word in SLOTS and nouns:
            kept[-len(nouns) :] = ["/".join((word, *nouns))]
            nouns = None
        elif word in ARTICLES:
            nouns = []
        elif nouns and word == "of" and "/".join((following, *nouns)) in called:
            continue
        elif word not in _DROPPED:
            kept.append(_find_group(word))
            nouns = [*nouns, kept[-1]] if nouns is not None and find_noun_kinds(word) else None
    return kept


def _find_group(word: str) -> str:
    """Return the first word of the word's group, or its singular; "anatomic" for "anatomical"."""
    singular = make_singular(word)
    singular = singular.removesuffix("al") if singular.endswith("ical") else singular
    return _SAME.get(word) or _SAME.get(singular, singular)
