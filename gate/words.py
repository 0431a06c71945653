"""Words as the gate compares them: folded for case, accents, British spelling and possessive."""

import re
import unicodedata
from functools import lru_cache

CACHE = 1 << 16


def list_words(text: str) -> frozenset[str]:
    """The words of a list that is written as running text."""
    return frozenset(text.split())


# Words, with what an apostrophe joins to them; and the marks that part clauses.
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*\+*|[,;:()]")
MARKS = frozenset(",;:()")
# What a name may lose, gain or have in another order without becoming another name.
FUNCTION_WORDS = list_words(
    """
    a an the of in on at to for from by with and or as is its their his her due into within s , ; : ( )
    """
)
_SYNONYMS = {
    word: group[0]
    for group in (
        ("cancer", "carcinoma"),
        ("neoplasm", "tumor"),
        ("hereditary", "inherited"),
        ("surgical", "operative"),
        ("procedure", "intervention"),
        ("disease", "disorder", "condition", "illness"),
        ("after", "following", "subsequent"),
        ("renal", "kidney"),
        ("hepatic", "liver"),
        ("pulmonary", "lung"),
        ("cardiac", "heart"),
    )
    for word in group
}
_AMERICAN = (
    (re.compile(r"(?<=[a-z])isation"), "ization"),
    (re.compile(r"(?<=[a-z]{2}[lrtnmdg])is(?=e[ds]?$|ing$)"), "iz"),
    (re.compile(r"lys(?=e[ds]?$|ing$)"), "lyz"),
    (re.compile(r"(?<=[a-z]{2})our(?=s?$|al|ed|ing|ably?$)"), "or"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"(?<=[a-z]{2}[bt])re$"), "er"),
)
# Alike in ending only: "disease" is no verb in -ise.
_ALIKE = re.compile(
    r"dis(?:eas|guis)|ris|nois|rais|prais|expertis|exercis|promis|our$|hour|four|pour|sour|course"
)


@lru_cache(CACHE)
def fold_word(word: str) -> str:
    """The word in lower case, without accents and possessive, spelled the American way."""
    folded = unicodedata.normalize("NFKD", word.casefold()).replace("’", "'")
    folded = "".join(c for c in folded if not unicodedata.combining(c)).removesuffix("'s")
    if len(folded) > 5:
        folded = folded.replace("ae", "e").replace("oe", "e")
        if not _ALIKE.match(folded):
            for pattern, american in _AMERICAN:
                folded = pattern.sub(american, folded)
    return folded


@lru_cache(CACHE)
def name_word(word: str) -> str:
    """A folded word of a name in the singular, for its synonyms one and the same."""
    return _SYNONYMS.get(singular := _cut_plural(word), singular)


def _cut_plural(word: str) -> str:
    if len(word) < 4 or word.endswith(("ss", "us")):
        return word
    if word.endswith("sis"):
        return word[:-2] + "e"
    if word.endswith("is"):
        return word
    if word.endswith("ies") and len(word) > 4:
        return word[:-3] + "y"
    if word.endswith(("xes", "ches", "shes", "sses", "zes")):
        return word[:-2]
    return word.removesuffix("s")


_ENDINGS = re.compile(r"(?:ically|ical|ally|al|atory|ar|ary|ic|ous|y|a|um|us|is|e|on|i)$")
_VERBAL = re.compile(r"(?:ization|ated|ating|ates|ate|ation|ition|tion|ion|ing|ed|es|e|ive|or)$")


@lru_cache(CACHE)
def stem_word(word: str) -> str:
    """What a noun shares with its adjective, a verb with its noun: "cornea" and "corneal", "binds"."""
    singular = name_word(word)
    for pattern in (_ENDINGS, _VERBAL):
        if len(stem := pattern.sub("", singular)) >= 4 and stem != singular:
            return stem
    return singular


def split_words(text: str) -> list[str]:
    """The folded words of the text and its marks, in order; "n't" and "cannot" give their "not"."""
    return [word for token in TOKEN.findall(text) for word in _read_token(token)]


_UNMARKED = {"cant": "can", "dont": "do", "doesnt": "does", "isnt": "is", "wont": "will", "arent": "are"}


@lru_cache(CACHE)
def _read_token(token: str) -> tuple[str, ...]:
    """The words of one token: two for a negation that is joined to its verb."""
    word = token if token in MARKS else fold_word(token)
    if word == "cannot":
        return ("can", "not")
    if word.endswith("n't") or word in _UNMARKED:
        stem = _UNMARKED.get(word) or word.removesuffix("n't")
        return ({"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}.get(stem, stem), "not")
    return (word,)
