"""Check that a text is one plain statement: no preamble, list, question, answer, explanation or fragment."""

from collections.abc import Sequence
from itertools import pairwise

from pretexeval.gate.lexicon import MARKS, PATTERNS, WORDS, tag_word
from pretexeval.gate.names import SLOTS
from pretexeval.gate.relations import find_noun_kinds, list_hinted

_NO_VERBS = WORDS["function_words"] | WORDS["no_verbs"]
_AFTER_VERB = WORDS["articles"].union(SLOTS, ("as", "into"))
_NO_VERB_TAGS = frozenset(("often", "rare", "mainly", "likely", "normal", "abnormal", "person"))


def _repeats_entity(text: Sequence[str]) -> bool:
    """Return whether one clause names an entity twice: "X has X as a sign"."""
    starts = [0, *(i for i in range(1, len(text)) if text[i] in WORDS["clause_starts"]), len(text)]
    clauses = [text[start:end] for start, end in pairwise(starts)]
    return any(clause.count(slot) > 1 for clause in clauses for slot in SLOTS)


def _has_claim(text: Sequence[str]) -> bool:
    """Return whether the clause after a condition, or the whole text without one, contains a verb."""
    if text[0] not in WORDS["conditions"]:
        return _has_verb(text)
    end = next((i for i, token in enumerate(text) if token in (",", "then")), 0)
    claim = text[end + 1 :] if end else text
    is_open = text[0] not in ("if", "when") or text[1].endswith("ing")
    return (is_open or _has_verb(text[1 : end or None])) and _has_verb(claim)


def _has_verb(words: Sequence[str]) -> bool:
    """Return whether one of the words is a finite verb, by its form and by the word before it."""
    for before, word, after in zip(("", *words), words, (*words[1:], ""), strict=False):
        # "X features the change Y", "X functions as Y"
        is_noun = find_noun_kinds(word) and not (before in SLOTS and after in _AFTER_VERB)
        if word in WORDS["auxiliaries"] or "_" in word or word == "include":
            return True
        if word in SLOTS or word in MARKS or word in _NO_VERBS or is_noun or PATTERNS["no_verb"].search(word):
            continue
        is_verb = tag_word(word).isdisjoint(_NO_VERB_TAGS) and before not in ("", *WORDS["function_words"])
        if is_verb or word.endswith(("s", "ed")) or list_hinted(word):
            return True
    return False


# The least share of English function words among the words of a text, and the length that a text may have: so
# many times the words of its statement, and so many words more.
MIN_ENGLISH, MAX_LONGER, MAX_ADDED = 0.12, 2.5, 18


def is_malformed(masked: str) -> bool:
    """Return whether a preamble or a mark outside the names ("Entity") shows that a text is no statement."""
    if not (PATTERNS["suspicious"].search(masked) or PATTERNS["preamble"].match(masked.lstrip("\"'“ "))):
        return False
    text = masked.strip().removesuffix(".")
    has_marks = PATTERNS["malformed"].search(text) is not None or '"' in text.replace('"Entity"', "")
    return has_marks or PATTERNS["preamble"].match(text.lstrip("\"'“ ")) is not None


def is_not_a_sentence(statement: Sequence[str], text: Sequence[str], has_premise: bool) -> bool:
    """Return whether the masked words are a fragment, another language, an explanation or far too many.

    With a premise, a name may stand for "this drug": it may be once more in the text than in the statement.
    """
    words = [token for token in text if token not in SLOTS and token not in MARKS]
    new = set(words).difference(statement)
    return (
        not _has_claim(text)
        or text[-1] in WORDS["unfinished"]
        or len(text) > MAX_LONGER * len(statement) + MAX_ADDED
        or not WORDS["explaining"].isdisjoint(new)
        or not "".join(new).isascii()
        or (len(words) > 4 and len(WORDS["english"].intersection(words)) < MIN_ENGLISH * len(words))
        or any(text.count(slot) > statement.count(slot) + has_premise for slot in SLOTS)
        or (_repeats_entity(text) and not _repeats_entity(statement))
        or any(one in SLOTS and other in SLOTS for one, other in pairwise(text))
        or (text[0] in WORDS["references"] and text[0] != statement[0])
    )


_QUOTES = (('"', '"'), ("“", "”"), ("„", "“"), ("«", "»"), ("'", "'"), ("‘", "’"), ("`", "`"))


def clean_reply(reply: str) -> str:
    """Return the reply without white space, quotes or a label around it, and without a doubled full stop."""
    text = reply.strip()
    while (bare := _unwrap(text)) != text:
        text = bare
    return PATTERNS["doubled_stop"].sub(".", text)


def _unwrap(text: str) -> str:
    """Return the text without its outermost label or pair of quotes."""
    text = PATTERNS["label"].sub("", text, count=1)
    for opening, closing in _QUOTES:
        for end in (closing, f"{closing}."):
            inner = text[len(opening) : -len(end)]
            is_wrapped = (
                text.startswith(opening) and text.endswith(end) and len(text) > len(opening) + len(end)
            )
            if is_wrapped and opening not in inner and closing not in inner:
                return inner.strip() + ("." if end.endswith(".") else "")
    return text
