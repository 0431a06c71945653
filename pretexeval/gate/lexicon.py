"""The words of texts, and the vocabulary that the rules look up."""

import re
import tomllib
import unicodedata
from collections.abc import Callable, Sequence
from functools import cache, lru_cache
from itertools import product
from pathlib import Path
from typing import Any

CACHE_SIZE = 1 << 16
VOCABULARY = tomllib.loads(Path(__file__).with_name("vocabulary.toml").read_text(encoding="utf-8"))


def list_words(text: str) -> frozenset[str]:
    """Return the words of a text that lists them between blanks."""
    return frozenset(text.split())


def join_parts(*parts: str) -> str:
    """Return the parts that are not empty, with blanks between them."""
    return " ".join(part for part in parts if part)


@cache
def load_tagger() -> Any:  # noqa: ANN401  (HanTa has no types)
    """Return HanTa's tagger, whose English model is part of its package."""
    from HanTa.HanoverTagger import HanoverTagger  # type: ignore[import-untyped]

    return HanoverTagger("morphmodel_en.pgz")


PATTERNS = {name: re.compile(text) for name, text in VOCABULARY["patterns"].items()}
_AMERICAN = [(re.compile(ending), american) for ending, american in VOCABULARY["american"].items()]
WORDS = {name: list_words(text) for name, text in VOCABULARY["words"].items()}


def load_groups(name: str) -> dict[str, str]:
    """Return word -> the first word of its group, for a list of groups that ";" separates."""
    groups = [group.split() for group in VOCABULARY["words"][name].split(";")]
    return {word: group[0] for group in groups for word in group}


def load_partners(name: str) -> dict[str, set[str]]:
    """Return stem -> the stems of the other words of all its groups, for a list of groups as above."""
    partners: dict[str, set[str]] = {}
    for group in VOCABULARY["words"][name].split(";"):
        stems = {stem_word(fold_word(word)) for word in group.split()}
        for stem in stems:
            partners.setdefault(stem, set()).update(stems - {stem})
    return partners


def compile_lists(table: str) -> Callable[[str], frozenset[str]]:
    """Return a function from a folded word to the keys of its lists; "*" is any ending, or any start."""
    listed: dict[str, set[str]] = {}
    for key, text in VOCABULARY[table].items():
        for word in text.split():
            listed.setdefault(word, set()).add(key)

    @lru_cache(CACHE_SIZE)
    def find_keys(word: str) -> frozenset[str]:
        starts = [f"{word[:end]}*" for end in range(len(word) + 1)]
        ends = [f"*{word[start:]}" for start in range(len(word))]
        return frozenset().union(*(listed.get(form, ()) for form in (word, *starts, *ends)))

    return find_keys


# A word, including what follows its apostrophe or a mark that nobody sees, or a mark that separates clauses.
_WITHIN = re.escape("'" + "".join(VOCABULARY["marks"]))
TOKEN = re.compile(rf"[^\W_]+(?:[{_WITHIN}]+[^\W_]+)*\+*|[,;:()]")
MARKS = frozenset(",;:()")
_LETTERS = str.maketrans(VOCABULARY["letters"] | VOCABULARY["marks"])


@lru_cache(CACHE_SIZE)
def fold_word(word: str) -> str:
    """Return the word in lower case and American spelling, without accents and possessive."""
    folded = word.casefold()
    if not folded.isascii():
        folded = unicodedata.normalize("NFKD", folded.translate(_LETTERS)).translate(_LETTERS)
        folded = "".join(c for c in folded if not unicodedata.combining(c))
    folded = folded.removesuffix("'s").removesuffix("s'")
    if len(folded) > 5:
        folded = PATTERNS["digraph"].sub("e", folded)
        if not PATTERNS["not_british"].match(folded):
            for pattern, american in _AMERICAN:
                folded = pattern.sub(american, folded)
    return folded


@lru_cache(CACHE_SIZE)
def make_singular(word: str) -> str:
    """Return the singular of a folded English or Latin noun; other words come back unchanged."""
    pair = next((pair for pair in VOCABULARY["singulars"].items() if word.endswith(pair[0])), ("", ""))
    return word.removesuffix(pair[0]) + pair[1] if len(word) > 3 else word


@lru_cache(CACHE_SIZE)
def stem_word(word: str) -> str:
    """Return the stem that related words share: "cornea" and "corneal", "binds" and "binding"."""
    stem = f"{word[:-3]}y" if word.endswith("ied") else make_singular(word)
    for name, n_letters in (("verbal", 4), ("short_verbal", 3 if len(stem) > 5 else 4), ("endings", 4)):
        if (shorter := PATTERNS[name].sub("", stem)) != stem and len(shorter) >= n_letters:
            stem = shorter
            break
    return stem[:-1] if len(stem) > 4 and (stem[-1] == "e" or stem[-1] == stem[-2] != "s") else stem


def split_words(text: str) -> list[str]:
    """Return the folded words and marks of the text, in order; "n't" and "cannot" give a separate "not"."""
    return find_tokens(text)[0]


def find_tokens(text: str) -> tuple[list[str], list[tuple[int, int]]]:
    """Return the words and marks as `split_words` does, and the place of each in the text."""
    words: list[str] = []
    places: list[tuple[int, int]] = []
    for match in TOKEN.finditer(text):
        parts = _split_contraction(match[0])
        words += parts
        places += [match.span()] * len(parts)
    return words, places


@lru_cache(CACHE_SIZE)
def _split_contraction(token: str) -> tuple[str, ...]:
    """Return the words of one token: two if a negation is joined to its verb."""
    word = token.casefold().translate(_LETTERS)
    if word == "cannot":
        return ("can", "not")
    if word.endswith("n't") or word in VOCABULARY["contracted"]:
        return (VOCABULARY["contracted"].get(word) or word.removesuffix("n't"), "not")
    return (token if token in MARKS else fold_word(token),)


_find_tags = compile_lists("tags")


@lru_cache(CACHE_SIZE)
def tag_word(word: str) -> frozenset[str]:
    """Return the tags of a folded word; most words have none."""
    tags = _find_tags(word)
    if tags & {"neg", "rare", "unlike", "doubt", "must"}:
        return tags
    is_prefixed = PATTERNS["prefixed"].fullmatch(word) is not None and word not in WORDS["unprefixed"]
    return tags | {"neg"} if is_prefixed or PATTERNS["endless"].fullmatch(word) else tags


def _index_phrases() -> dict[str, list[tuple[tuple[str, ...], list[str]]]]:
    """Return first word -> [(the words of an idiom, its meaning)], the longest idiom first."""
    index: dict[str, list[tuple[tuple[str, ...], list[str]]]] = {}
    for meaning, idioms in VOCABULARY["phrases"].items():
        for idiom in idioms.split("; "):
            for words in product(*(part.split("/") for part in idiom.split())):
                read = [words[0] if part == "+" else part for part in meaning.split() if part != "_"]
                index.setdefault(words[0], []).append((words, read))
    for entries in index.values():
        entries.sort(key=lambda entry: -len(entry[0]))
    return index


_INDEX = _index_phrases()


def join_phrases(tokens: Sequence[str]) -> tuple[str, ...]:
    """Return the tokens with every idiom of the vocabulary replaced by its meaning."""
    joined: list[str] = []
    at = 0
    while at < len(tokens):
        token = tokens[at]
        found = (
            entry for entry in _INDEX.get(token, ()) if tuple(tokens[at : at + len(entry[0])]) == entry[0]
        )
        words, read = next(found, ((token,), [token]))
        joined += read
        at += len(words)
    return tuple(joined)
