"""Check that a text is one plain statement: no preamble, list, question, answer, explanation or fragment."""

import re
from collections.abc import Iterator, Sequence, Set
from itertools import pairwise

from pretexeval.gate.kinds import find_noun_kinds, list_hinted
from pretexeval.gate.lexicon import (
    ARTICLES,
    AUXILIARIES,
    CONDITIONS,
    FUNCTION_WORDS,
    MARKS,
    list_words,
    load_words,
    stem_word,
    tag_word,
)
from pretexeval.gate.names import SLOTS

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


# Fast filter: a text without any of these needs no closer check.
_SUSPICIOUS = re.compile(r"[\"\n\r\t?!;*#\[\]<>|_{}~`=\\…%$^]|:(?:\s|$)|\.\s*\S|^\s*(?:[-•–]|\d+[.)])")
# A full stop that ends a sentence; not the one in "e.g." or "E. coli".
_STOP = r"(?<!\bvs)(?<!\bcf)(?<!\bDr)(?<!\bSt)(?<!\bsp)(?<!\bspp)(?<!\betc)(?<!\b[A-Za-z])\."
_MALFORMED = re.compile(
    r"[\n\r\t?!;*#\[\]<>|_{}~`=\\…%$^]|:(?:\s|$)|\.\s*\.|^\s*(?:[-•–]|\d+[.)])|" + _STOP + r"[\"”’')\]]*\s+\S"
)
_ANSWERS = (
    "yes no true false correct incorrect right wrong sure certainly absolutely okay ok answer note well"
)
_PREAMBLES = (
    r"here(?:'s|’s| is| are| you)",
    "of course|sorry|unfortunately|please|in other words|in summary|rephrase|paraphrase|rewrite",
    r"i (?:am|have|can|would|will|think|believe|apologi[sz]e)",
    r"i['’](?:m|ve|ll|d)",
    "as an? (?:ai|expert|clinical|medical|language)",
    "to (?:rephrase|summarize)",
    "the following|this (?:statement|sentence)|system|user|assistant|output",
)
_PREAMBLE = re.compile(
    rf"(?:(?:{_ANSWERS.replace(' ', '|')})\s*(?:[,.:!]|$|-\s)|(?:{'|'.join(_PREAMBLES)})\b)", re.IGNORECASE
)
_EXPLAINING = load_words("explaining")
_UNFINISHED = load_words("unfinished")
_ENGLISH = load_words("english")
_REASONING = {(",", "as", word) for word in ("it", "they", "this", "these", "there", "he", "she")} | {
    (",", "that", "means"),
    (",", "this", "means"),
    (",", "which", "means"),
}
# The least share of English function words among the words of a text.
MIN_ENGLISH = 0.12
# A text may have this many times the words of its statement, plus MAX_ADDED.
MAX_LONGER = 2.5
MAX_ADDED = 18


def is_malformed(text: str, names: Sequence[str]) -> bool:
    """Return whether a preamble or marks outside the names show that the text is not one statement."""
    is_suspicious = _SUSPICIOUS.search(text) or _PREAMBLE.match(text.lstrip("\"'“ "))
    return is_suspicious is not None and _is_malformed_without(text, names)


def _is_malformed_without(text: str, names: Sequence[str]) -> bool:
    """Repeat the check after replacing the names, which may contain any mark."""
    for name in sorted(names, key=len, reverse=True):
        text = re.sub(re.escape(name), "Entity", text, flags=re.IGNORECASE)
    text = text.strip().removesuffix(".")
    return '"' in text.replace('"Entity"', "") or bool(
        _MALFORMED.search(text) or _PREAMBLE.match(text.lstrip("\"'“ "))
    )


def is_not_a_sentence(statement: Sequence[str], text: Sequence[str], has_premise: bool) -> bool:
    """Return whether the masked words are a fragment, another language, an explanation or far too many.

    With a premise, a name may stand for "this drug": it may be once more in the text than in the statement.
    """
    words = [token for token in text if token not in SLOTS and token not in MARKS]
    new = set(words).difference(statement)
    return (
        not has_claim(text)
        or text[-1] in _UNFINISHED
        or len(text) > MAX_LONGER * len(statement) + MAX_ADDED
        or not _EXPLAINING.isdisjoint(new)
        or not "".join(new).isascii()
        or (len(words) > 4 and len(_ENGLISH.intersection(words)) < MIN_ENGLISH * len(words))
        or any(text.count(slot) > statement.count(slot) + has_premise for slot in SLOTS)
        or any(text[i - 1 : i + 2] in _REASONING for i in range(1, len(text)))
        or is_garbled(statement, text)
    )


def contradicts_itself(text: Sequence[str], tags: Sequence[frozenset[str]]) -> bool:
    """Return whether one clause affirms and another one denies the same words about the same entity."""
    clauses: list[tuple[set[str], bool]] = []
    for start, end in split_clauses(text):
        words = text[start:end]
        if text[start] in CONDITIONS and not all(slot in words for slot in SLOTS):
            continue
        content = {stem_word(word) for word in words if word not in _ENGLISH and word not in MARKS}
        n_negations = sum("neg" in tag for tag in tags[start:end])
        clauses.append((content, n_negations % 2 == 1))
    return any(
        is_denied != is_also_denied and any(slot in shared for slot in SLOTS) and len(shared) > 1
        for i, (content, is_denied) in enumerate(clauses)
        for other, is_also_denied in clauses[:i]
        if (shared := content & other)
    )


_LABEL = re.compile(
    r"^(?:the )?(?:rephrased|reworded|paraphrased|rewritten|revised|new)?[ -]?"
    r"(?:statement|sentence|version|text|paraphrase|rephrasing|output)\s*:\s*",
    re.IGNORECASE,
)
_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'"), ("‘", "’"), ("`", "`"))
_DOUBLED_STOP = re.compile(r"(?<!\.)\s*\.\s*\.$")


def clean_reply(reply: str) -> str:
    """Return the reply without white space, quotes or a label around it, and without a doubled full stop."""
    text = reply.strip()
    while (bare := _unwrap(text)) != text:
        text = bare
    return _DOUBLED_STOP.sub(".", text)


def _unwrap(text: str) -> str:
    """Return the text without its outermost label or pair of quotes."""
    text = _LABEL.sub("", text, count=1)
    for opening, closing in _QUOTES:
        for end in (closing, f"{closing}."):
            inner = text[len(opening) : -len(end)]
            if _wraps(text, opening, end) and opening not in inner and closing not in inner:
                return inner.strip() + ("." if end.endswith(".") else "")
    return text


def _wraps(text: str, opening: str, end: str) -> bool:
    return len(text) > len(opening) + len(end) and text.startswith(opening) and text.endswith(end)
