"""Read the grammar of a masked sentence: its clauses, its finite verbs, and what is garbled in it."""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from gate.entities import SLOTS
from gate.kinds import find_noun_kinds
from gate.lexicon import ARTICLES, AUXILIARIES, CONDITIONS, tag_word
from gate.relations import list_hinted
from gate.vocabulary import load_words
from gate.words import FUNCTION_WORDS, MARKS, list_words

_CLAUSE_STARTS = frozenset((",", ";", "then", "but", "although", "while", "whereas", "which"))
_RELATIVE = frozenset(("that", "which", "who", "if", "when"))
# At the start of a text these refer to nothing.
_REFERENCES = frozenset(("this", "these", "those", "such"))
_OPENING = FUNCTION_WORDS | CONDITIONS
_VERBS = AUXILIARIES | {"include"}
_SUBJECTS = load_words("subjects")
_NO_VERBS = FUNCTION_WORDS | list_words("if then that not no also it they among one")
_NO_VERB_TAGS = frozenset(("often", "rare", "mainly", "likely", "normal", "abnormal", "person"))
_NO_VERB = re.compile(r"(?:tion|ment|ness|ity|ance|ence|al|ic|ous|ive|able|ly|ing)$")


def split_clauses(text: Sequence[str]) -> Iterator[tuple[int, int]]:
    """Yield (start, end) of each clause of the text."""
    starts = [0, *(i for i in range(1, len(text)) if text[i] in _CLAUSE_STARTS), len(text)]
    yield from pairwise(starts)


def is_garbled(statement: Sequence[str], text: Sequence[str]) -> bool:
    """Return whether the text is no grammatical sentence about the two entities of its statement."""
    return (
        (_repeats_entity(text) and not _repeats_entity(statement))
        or any(one in SLOTS and other in SLOTS for one, other in pairwise(text))
        or (text[0] in _REFERENCES and text[0] != statement[0])
        or _has_two_verbs(text)
        or _opens_with_junk(text, set(text).difference(statement))
        or _gives_example(text)
    )


def _repeats_entity(text: Sequence[str]) -> bool:
    """Return whether one clause names an entity twice: "X has X as a sign"."""
    return any(text[start:end].count(slot) > 1 for start, end in split_clauses(text) for slot in SLOTS)


def _has_two_verbs(text: Sequence[str]) -> bool:
    """Return whether a name is between two finite verbs of a main clause: "the finding is X may occur"."""
    words = [word for word in text if word not in ARTICLES and word != "indeed"]
    return any(
        words[i] in SLOTS
        and words[i - 1] in ("is", "are", "has", "have")
        and words[i + 1] in AUXILIARIES
        and _RELATIVE.isdisjoint(words[: i - 1])
        for i in range(1, len(words) - 1)
    )


def _opens_with_junk(text: Sequence[str], new: Set[str]) -> bool:
    """Return whether a new word without a function is before the subject: "Aphrodisiac the disease X …"."""
    first = text[0]
    is_known = first in _OPENING or tag_word(first) or list_hinted(first) or first.endswith(("ing", "ly"))
    return first in new and text[1] == "the" and not is_known


def _gives_example(text: Sequence[str]) -> bool:
    """Return whether it calls one entity an example of the other: "X, such as Y"."""
    words = [word for word in text if word not in MARKS]
    return any(
        words[i : i + 2] == ["such", "as"] and {words[i - 1], words[i + 2]} == set(SLOTS)
        for i in range(1, len(words) - 2)
    )


def has_claim(text: Sequence[str]) -> bool:
    """Return whether the clause after a condition, or the whole text without one, contains a verb."""
    claim = text
    if text[0] in CONDITIONS:
        marks = [i for i, token in enumerate(text) if token in (",", "then")]
        claim = text[marks[0] + 1 :] if marks else text
        if claim[:1] in (("and",), ("or",)) or (
            text[0] in ("if", "when")
            and not text[1].endswith("ing")
            and not _has_verb(text[1 : marks[0]] if marks else text[1:])
        ):
            return False
    return _has_verb(claim)


def _has_verb(words: Sequence[str]) -> bool:
    """Return whether one of the words is a finite verb, by its form and by the word before it."""
    for at, word in enumerate(words):
        if word in _VERBS or "_" in word or (word == "features" and words[at - 1] in SLOTS):
            return True
        if (
            word in SLOTS
            or word in MARKS
            or find_noun_kinds(word)
            or word in _NO_VERBS
            or _NO_VERB.search(word)
        ):
            continue
        before = [token for token in words[:at] if not token.endswith("ly")][-1:]
        if _is_subject(before) if word.endswith("ed") else _is_verb(word, before):
            return True
    return False


def _is_verb(word: str, before: Sequence[str]) -> bool:
    """Return whether a word of unknown class is a verb, by its ending or its place."""
    if word.endswith("s") or list_hinted(word):
        return True
    return tag_word(word).isdisjoint(_NO_VERB_TAGS) and not FUNCTION_WORDS.issuperset(before)


def _is_subject(words: Sequence[str]) -> bool:
    """Return whether the word before a participle makes it a finite verb: "X followed", not ", managed"."""
    return any(word in SLOTS or word in _SUBJECTS or bool(find_noun_kinds(word)) for word in words)
