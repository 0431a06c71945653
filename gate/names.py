"""Prepare an entity name for the search in a text: its variants, its words, and its abbreviations."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from functools import lru_cache

from gate.lexicon import tag_word
from gate.vocabulary import CACHE_SIZE, load_lists, load_words
from gate.words import FUNCTION_WORDS, MARKS, make_singular, split_words, stem_word

# Each line holds words of one meaning: an organ and its adjective, a Latin word and an English one.
_SAME = {word: group.split()[0] for group in load_lists("names")["same"].split(";") for word in group.split()}

# Terminologies append these class words to a name in brackets.
CLASS_TAGS = load_words("class_tags")
# A name without these words is still the same name, if other words are left.
WEAK_WORDS = load_words("weak_words")
# Terminologies append these to the name of a whole class.
_UNSPECIFIC = re.compile(r"(?:,? not otherwise specified|,? NOS| - category)$", re.IGNORECASE)
_SYMBOL = re.compile(r"[a-z]{2,}\d+[a-z]?\d*")
_PROTEIN = re.compile(r"(?:[a-z]{3}ase(?<!disease)|protein|enzyme|receptor|antigen|channel|transporter)$")
_CHANGING_TAGS = frozenset(("up", "down", "neg", "abnormal", "normal"))


@dataclass(frozen=True)
class Name:
    """One name of an entity, prepared for the search."""

    literal: str
    """The words of the name as they are written, folded, with a blank at both ends."""
    variants: tuple[str, ...]
    """Word sequences that count as the name, each with a blank at both ends; the longest form first."""
    needed: Counter[str]
    """Stems of the words that carry the meaning, with the count of each."""
    optional: frozenset[str]
    """Stems of the words without which the name is still the same."""
    order: tuple[str, ...]
    """All these stems in the order of the name."""
    own_function_words: frozenset[str]
    fixed_pairs: tuple[frozenset[tuple[str, str]], ...]
    """For each number or letter its pairs with its neighbours, such as ("type", "1"): a mention keeps one."""
    letters: str
    """All letters and digits of the name, without blanks."""
    content: tuple[tuple[str, str], ...]
    """(word, stem) of the words that are no function words."""
    words: frozenset[str]
    """All words of the name as they are in a text, folded."""
    symbol: str
    """The symbol after the description of a protein: "akt1" in "Protein Kinase AKT1"; empty without one."""


@lru_cache(CACHE_SIZE)
def normalize_name_word(word: str) -> str:
    """Return the singular of a folded word of a name; words of one meaning give the same word."""
    if word in _SAME:
        return _SAME[word]
    singular = make_singular(word)
    return _SAME.get(singular, singular)


@lru_cache(CACHE_SIZE)
def stem_name_word(word: str) -> str:
    """Return the stem by which words of names are compared."""
    return stem_word(normalize_name_word(word))


@lru_cache(CACHE_SIZE)
def parse_name(name: str) -> Name:
    """Return the name prepared for the search in a text."""
    folded = split_words(_UNSPECIFIC.sub("", name))
    words = [normalize_name_word(word) for word in folded]
    stems = [stem_name_word(word) for word in folded]
    full = [normalize_name_word(word) for word in split_words(name)]
    variants = _list_variants(full) + ([words] if words != full else [])
    meaningful = [
        (word, stem) for word, stem in zip(words, stems, strict=True) if _carries_meaning(word, name)
    ]
    content = [stem for _, stem in meaningful]
    needed = [stem for word, stem in meaningful if word not in WEAK_WORDS] or content
    return Name(
        literal=f" {' '.join(split_words(name))} ",
        variants=tuple(f" {' '.join(variant)} " for variant in variants if variant),
        needed=Counter(needed),
        optional=frozenset(content).difference(needed),
        order=tuple(content),
        own_function_words=frozenset(words) & FUNCTION_WORDS,
        fixed_pairs=tuple(_list_fixed_pairs(stems)),
        letters="".join(word for word in folded if word not in MARKS),
        content=tuple(pair for pair in zip(folded, stems, strict=True) if pair[0] not in FUNCTION_WORDS),
        words=frozenset(folded),
        symbol=_find_symbol(folded),
    )


def _find_symbol(words: list[str]) -> str:
    """Return the last word if it is a symbol; none if a word says that the protein is changed or lost."""
    if len(words) < 2 or not (_SYMBOL.fullmatch(words[-1]) and _PROTEIN.search(words[-2])):
        return ""
    return "" if any(tag_word(word) & _CHANGING_TAGS for word in words) else words[-1]


def _list_fixed_pairs(stems: list[str]) -> Iterator[frozenset[tuple[str, str]]]:
    for before, stem, after in zip(["", *stems], stems, [*stems[1:], ""], strict=False):
        if (len(stem) == 1 or stem.isdigit()) and stem not in MARKS:
            pairs = {(before, stem)} if stem.isdigit() else {(before, stem), (stem, after)}
            pairs = {pair for pair in pairs if not FUNCTION_WORDS.intersection(pair) and "" not in pair}
            if pairs:
                yield frozenset(pairs)


def _carries_meaning(word: str, name: str) -> bool:
    """Return whether the word is not a function word; the capital A of "hepatitis A" is not one."""
    return word not in FUNCTION_WORDS or (word == "a" and re.search(r"\bA\b", name) is not None)


def _list_variants(words: list[str]) -> list[list[str]]:
    """Return the name, then its forms with the abbreviation for the long form, and without the bracket."""
    variants = [words]
    if "(" in words and ")" in words[words.index("(") :]:
        start, end = words.index("("), words.index(")", words.index("("))
        before, inner, after = words[:start], words[start + 1 : end], words[end + 1 :]
        long_form_start = _find_long_form(before, inner)
        if long_form_start is not None:
            variants.append(before[:long_form_start] + inner + after)
        if long_form_start is not None or (inner[-1:] and inner[-1] in CLASS_TAGS):
            variants.append(before + after)
    elif words.count(",") == 1:
        at = words.index(",")
        variants.append(words[at + 1 :] + words[:at])
    return variants


def _find_long_form(before: list[str], inner: list[str]) -> int | None:
    """Return the index of the first word that the bracket abbreviates; None if it abbreviates none."""
    if len(inner) != 1 or not before:
        return None
    for start, word in enumerate(before):
        if word[0] == inner[0][0] and is_abbreviation(inner[0], "".join(before[start:])):
            return start
    return None


def abbreviates(short: str, words: Sequence[str]) -> bool:
    """Return whether ``short`` has the initial of each word, and else letters of them, in their order."""
    if any(len(word) < 5 and word.isalpha() for word in words) or len(short) > 2 * len(words) + 1:
        return False
    left = iter(short)
    return is_abbreviation(short, "".join(words)) and all(word[0] in left for word in words)


def is_abbreviation(short: str, letters: str) -> bool:
    """Return whether ``short`` (8 letters at most) is a subsequence of ``letters`` that starts like it."""
    if not letters or not short or len(short) > 8 or short[0] != letters[0]:
        return False
    left = iter(letters)
    return all(letter in left for letter in short)
