"""Load the lists of words from `vocabulary.toml`."""

import re
import tomllib
from collections.abc import Callable, Mapping
from functools import lru_cache
from pathlib import Path

CACHE_SIZE = 1 << 16
VOCABULARY = tomllib.loads(Path(__file__).with_suffix(".toml").read_text(encoding="utf-8"))


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
