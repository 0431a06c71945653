"""Entity names as the gate looks for them: the words that must be there, and what may stand for them."""

import re
from collections import Counter
from dataclasses import dataclass
from functools import lru_cache
from itertools import pairwise

from gate.words import CACHE, FUNCTION_WORDS, MARKS, list_words, name_word, split_words, stem_word

# Class words that terminologies put in brackets behind a name.
_CLASS_TAGS = list_words(
    """
    disorder disease finding procedure situation event organism substance product abnormality
    """
)


@dataclass(frozen=True)
class Name:
    """One entity name, ready to be looked for."""

    variants: tuple[str, ...]
    """Runs of words, each between blanks, that are the name; the fullest first."""
    needed: Counter[str]
    """Stems of the words that carry its meaning, with how often each is there."""
    order: tuple[str, ...]
    """Those stems in order."""
    own_function_words: frozenset[str]
    fixed_pairs: tuple[tuple[str, str], ...]
    """A number or a letter with the word that it follows: ("type", "1")."""
    initials: str


@lru_cache(CACHE)
def read_name(name: str) -> Name:
    """What to look for where the name should stand."""
    words = [name_word(word) for word in split_words(name)]
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
    """Whether the word is more than grammar; the A of "hepatitis A" is."""
    return word not in FUNCTION_WORDS or (word == "a" and re.search(r"\bA\b", name) is not None)


def _list_variants(words: list[str]) -> list[list[str]]:
    """The name itself, without what its brackets abbreviate or classify, and with its abbreviation alone."""
    variants = [words]
    if "(" in words and ")" in words[words.index("(") :]:
        start, end = words.index("("), words.index(")", words.index("("))
        before, inner, after = words[:start], words[start + 1 : end], words[end + 1 :]
        spelled = _find_spelled(before, inner)
        if spelled is not None:
            variants.append(before[:spelled] + inner + after)
        if spelled is not None or (inner[-1:] and inner[-1] in _CLASS_TAGS):
            variants.append(before + after)
    return variants


def _find_spelled(before: list[str], inner: list[str]) -> int | None:
    """Where the words begin that the bracket abbreviates; None if it does not."""
    if len(inner) != 1 or not before:
        return None
    for start, word in enumerate(before):
        if word[0] == inner[0][0] and is_abbreviation(inner[0], "".join(before[start:])):
            return start
    return None


def is_abbreviation(short: str, letters: str) -> bool:
    """Whether the letters of ``short`` come in this order among the letters, the first one first."""
    if not letters or len(short) > 8 or short[0] != letters[0]:
        return False
    left = iter(letters)
    return all(letter in left for letter in short)
