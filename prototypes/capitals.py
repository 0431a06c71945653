"""The capitals of names within a sentence: "Nerve Tissue" becomes "nerve tissue" in a text."""

import re
from functools import lru_cache
from pathlib import Path

from pretexeval.primitives.toml_files import parse_toml

_WORD = re.compile(r"(?<![^\W_])[^\W\d_]{2,}(?![^\W_])")
_FILE = parse_toml(Path(__file__).with_suffix(".toml"))
_WORDS = {kind: frozenset(words.split()) for kind, words in _FILE.items()}
_ENDING = re.compile(rf".*(?:{'|'.join(sorted(_WORDS['endings']))})s?")


@lru_cache(maxsize=100_000)
def write_within_sentence(name: str) -> str:
    """Return a name without the capitals of a title, which only common words of `capitals.toml` lose.

    A name stays as it is if a word behind its first one is neither common nor proper, so that no name mixes
    both styles.
    """
    rest = _WORD.findall(name)[1:]
    if any(word.istitle() and not _is_common(word) and word not in _WORDS["proper"] for word in rest):
        return name
    return _WORD.sub(lambda found: found[0].lower() if _is_common(found[0]) else found[0], name)


def _is_common(word: str) -> bool:
    """Return whether a word has the capital of a title. A plural follows its singular."""
    small = word.lower()
    forms = {small, small.removesuffix("s"), small.removesuffix("es"), re.sub("ies$", "y", small)}
    is_listed = not forms.isdisjoint(_WORDS["common"]) or _ENDING.fullmatch(small) is not None
    return word.istitle() and word not in _WORDS["proper"] and is_listed
