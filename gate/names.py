"""Prepare an entity name for the search in a text: its required words and its accepted variants."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gate.words import (
    CACHE_SIZE,
    FUNCTION_WORDS,
    MARKS,
    list_words,
    normalize_name_word,
    split_words,
    stem_word,
)

# Terminologies append these class words to a name in brackets.
_CLASS_TAGS = list_words(
    """
    disorder disease finding procedure situation event organism substance product abnormality
    """
)


@dataclass(frozen=True)
class Name:
    """One entity name, prepared for the search."""

    variants: tuple[str, ...]
    """Word sequences that count as the name, each with a blank at both ends; the longest form first."""
    needed: Counter[str]
    """Stems of the words that carry the meaning, with the count of each."""
    order: tuple[str, ...]
    """The same stems in the order of the name."""
    own_function_words: frozenset[str]
    fixed_pairs: tuple[tuple[str, str], ...]
    """(word, number or letter that follows it), such as ("type", "1"); a mention must keep them together."""
    initials: str


@lru_cache(CACHE_SIZE)
def parse_name(name: str) -> Name:
    """Return the name prepared for the search in a text."""
    words = [normalize_name_word(word) for word in split_words(name)]
    stems = [stem_word(word) for word in words]
    content = [stem for word, stem in zip(words, stems, strict=True) if _carries_meaning(word, name)]
    pairs = [
        (before, stem)
        for before, stem in pairwise(stems)
        if (len(stem) == 1 or stem.isdigit()) and stem not in MARKS
    ]
    return Name(
        variants=tuple(f" {' '.join(variant)} " for variant in _list_variants(words) if variant),
        needed=Counter(content),
        order=tuple(content),
        own_function_words=frozenset(words) & FUNCTION_WORDS,
        fixed_pairs=tuple(pair for pair in pairs if pair[0] not in FUNCTION_WORDS),
        initials="".join(word[0] for word in words if word not in FUNCTION_WORDS),
    )


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
        if long_form_start is not None or (inner[-1:] and inner[-1] in _CLASS_TAGS):
            variants.append(before + after)
    return variants


def _find_long_form(before: list[str], inner: list[str]) -> int | None:
    """Return the index of the first word that the bracket abbreviates; None if it abbreviates none."""
    if len(inner) != 1 or not before:
        return None
    for start, word in enumerate(before):
        if word[0] == inner[0][0] and is_abbreviation(inner[0], "".join(before[start:])):
            return start
    return None


def is_abbreviation(short: str, letters: str) -> bool:
    """Return whether ``short`` (8 letters at most) is a subsequence of ``letters`` that starts like it."""
    if not letters or len(short) > 8 or short[0] != letters[0]:
        return False
    left = iter(letters)
    return all(letter in left for letter in short)
