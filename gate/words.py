"""Normalize words for comparison: case, accents, British spelling, Greek letters, plurals and endings."""

import re
import unicodedata
from functools import lru_cache
from itertools import chain

from gate.vocabulary import CACHE_SIZE, load_words
from gate.vocabulary import list_words as list_words

# A word, including what follows its apostrophe, or a mark that separates clauses.
TOKEN = re.compile(r"[^\W_]+(?:['’][^\W_]+)*\+*|[,;:()]")
MARKS = frozenset(",;:()")
FUNCTION_WORDS = load_words("function_words")
_GREEK = str.maketrans(
    {"α": "alpha", "β": "beta", "γ": "gamma", "δ": "delta", "ε": "epsilon", "κ": "kappa", "λ": "lambda"}
    | {"μ": "mu", "σ": "sigma", "ω": "omega", "’": "'", "ß": "ss", "ø": "o", "ł": "l"}
)
_AMERICAN = (
    (re.compile(r"(?<=[a-z])isation"), "ization"),
    (re.compile(r"(?<=[a-z]{2}[lrtnmdg])is(?=e[ds]?$|ing$)"), "iz"),
    (re.compile(r"lys(?=e[ds]?$|ing$)"), "lyz"),
    (re.compile(r"(?<=[a-z]{2})our(?=s?$|al|ed|ing|ably?$)"), "or"),
    (re.compile(r"sulph"), "sulf"),
    (re.compile(r"(?<=[a-z]{2}[bt])re$"), "er"),
)
# "Oedema" and "edema"; not "coexist".
_DIGRAPH = re.compile(r"ae|(?<!^c)oe(?!s?$)")
# These words only end like British spellings: "disease" is not a verb in -ise.
_NOT_BRITISH = re.compile(
    r"dis(?:eas|guis)|ris|nois|rais|prais|expertis|exercis|promis|our$|hour|four|pour|sour|course"
)


@lru_cache(CACHE_SIZE)
def fold_word(word: str) -> str:
    """Return the word in lower case and American spelling, without accents and possessive."""
    folded = word.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKD", folded).translate(_GREEK)
        folded = "".join(c for c in folded if not unicodedata.combining(c))
    folded = folded.removesuffix("'s").removesuffix("s'")
    if len(folded) > 5:
        folded = _DIGRAPH.sub("e", folded)
        if not _NOT_BRITISH.match(folded):
            for pattern, american in _AMERICAN:
                folded = pattern.sub(american, folded)
    return folded


@lru_cache(CACHE_SIZE)
def make_singular(word: str) -> str:
    """Return the singular of a folded English or Latin noun; other words come back unchanged."""
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
    if word.endswith(("ynx", "ax")):
        return word[:-1] + ("g" if word.endswith("ynx") else "c")
    return word.removesuffix("s")


# "trauma" and "traumatic", "stenosis" and "stenotic", "diabetes" and "diabetic", "cornea" and "corneal",
# "presence" and "present".
_ENDINGS = re.compile(
    r"(?:(?<=[a-z]{3}m)at(?:ically|ical|ic|ous|a)|(?<=[aoy])(?:tically|tical|tic|se)"
    r"|ically|ical|ally|ial|al|atory|ar|ary|ian|ic|ious|eous|ous|ency|ancy|ence|ance|ent|ant|ity|ly|y"
    r"|ae|ia|a|um|us|is|e|on|i)$"
)
# "activation", "activating" and "activated", "amplification" and "amplified", "exposure" and "exposed".
_VERBAL = re.compile(
    r"(?:ification|ified|ifying|ify|iz(?:ation|ed|ing|e)?|ism|(?<=uc)tion|(?<=[a-z]{5})(?:ation|ated|ating|ate)|ment|ion|ures?|ured"
    r"|ing|ed|ive|or)$"
)
_SHORT_VERBAL = re.compile(r"(?:ion|ing|ed)$")


@lru_cache(CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return the stem that related words share: "cornea" and "corneal", "binds" and "binding"."""
    stem = make_singular(word)
    for pattern, n_letters in ((_VERBAL, 4), (_SHORT_VERBAL, 3 if len(stem) > 5 else 4), (_ENDINGS, 4)):
        if (shorter := pattern.sub("", stem)) != stem and len(shorter) >= n_letters:
            stem = shorter
            break
    return stem[:-1] if len(stem) > 4 and (stem[-1] == "e" or stem[-1] == stem[-2] != "s") else stem


def split_words(text: str) -> list[str]:
    """Return the folded words and marks of the text, in order; "n't" and "cannot" give a separate "not"."""
    return list(chain.from_iterable(map(_split_contraction, TOKEN.findall(text))))


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
