"""The words of texts, and the vocabulary that the rules look up."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import lru_cache
from itertools import chain, product
from pathlib import Path

CACHE_SIZE = 1 << 16
VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


def list_words(text: str) -> frozenset[str]:
    """Return the words of a text that lists them between blanks."""
    return frozenset(text.split())


def load_words(name: str) -> frozenset[str]:
    """Return the words of one list of the table "words"."""
    return list_words(VOCABULARY["words"][name])


def load_lists(name: str) -> Mapping[str, str]:
    """Return one table: key -> its words, between blanks."""
    lists: Mapping[str, str] = VOCABULARY[name]
    return lists


def compile_lists(lists: Mapping[str, str]) -> Callable[[str], frozenset[str]]:
    """Return a function from a folded word to the keys of the lists that contain it; "*" is any ending."""
    compiled = {
        key: re.compile("|".join(re.escape(word).replace(r"\*", r"\w*") for word in text.split()))
        for key, text in lists.items()
    }

    @lru_cache(CACHE_SIZE)
    def find_keys(word: str) -> frozenset[str]:
        return frozenset(key for key, pattern in compiled.items() if pattern.fullmatch(word))

    return find_keys


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
