"""Normalize words for comparison: case, accents, British spelling and possessive are folded."""

import re
import unicodedata
from functools import lru_cache

CACHE_SIZE = 1 << 16


def list_words(text: str) -> frozenset[str]:
    """Return the words of a text that lists them between blanks."""
    return frozenset(text.split())


# A word, including what follows its apostrophe, or a mark that separates clauses.
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*\+*|[,;:()]")
MARKS = frozenset(",;:()")
# A name may lose, gain or reorder these words and still be the same name.
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
# These words only end like British spellings: "disease" is not a verb in -ise.
_NOT_BRITISH = re.compile(
    r"dis(?:eas|guis)|ris|nois|rais|prais|expertis|exercis|promis|our$|hour|four|pour|sour|course"
)


@lru_cache(CACHE_SIZE)
def fold_word(word: str) -> str:
    """Return the word in lower case and American spelling, without accents and possessive."""
    folded = unicodedata.normalize("NFKD", word.casefold()).replace("’", "'")
    folded = "".join(c for c in folded if not unicodedata.combining(c)).removesuffix("'s")
    if len(folded) > 5:
        folded = folded.replace("ae", "e").replace("oe", "e")
        if not _NOT_BRITISH.match(folded):
            for pattern, american in _AMERICAN:
                folded = pattern.sub(american, folded)
    return folded


@lru_cache(CACHE_SIZE)
def normalize_name_word(word: str) -> str:
    """Return the singular of a folded word of a name; synonyms give the same word."""
    return _SYNONYMS.get(singular := _make_singular(word), singular)


def _make_singular(word: str) -> str:
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


@lru_cache(CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return the stem that related words share: "cornea" and "corneal", "binds" and "binding"."""
    singular = normalize_name_word(word)
    for pattern in (_ENDINGS, _VERBAL):
        if len(stem := pattern.sub("", singular)) >= 4 and stem != singular:
            return stem
    return singular


def split_words(text: str) -> list[str]:
    """Return the folded words and marks of the text, in order; "n't" and "cannot" give a separate "not"."""
    return [word for token in TOKEN.findall(text) for word in _split_contraction(token)]


# Contractions that were written without their apostrophe.
_CONTRACTED = {"cant": "can", "dont": "do", "doesnt": "does", "isnt": "is", "wont": "will", "arent": "are"}


@lru_cache(CACHE_SIZE)
def _split_contraction(token: str) -> tuple[str, ...]:
    """Return the words of one token: two if a negation is joined to its verb."""
    word = token if token in MARKS else fold_word(token)
    if word == "cannot":
        return ("can", "not")
    if word.endswith("n't") or word in _CONTRACTED:
        stem = _CONTRACTED.get(word) or word.removesuffix("n't")
        return ({"ca": "can", "wo": "will", "sha": "shall", "ai": "is"}.get(stem, stem), "not")
    return (word,)
