"""Find texts that are practically the same although their labels differ."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

_NO_WORD = re.compile(r"[\W_]+")


def fold_text(text: str) -> str:
    """Return the words in order, without case and punctuation; colliding texts have the same result."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def find_collisions(texts: Sequence[str], labels: Sequence[bool], taken: Mapping[str, bool]) -> list[bool]:
    """Return for each text whether ``texts`` or ``taken`` has the same folded text with the opposite label.

    Args:
        labels: one for each text.
        taken: folded text -> label, for the texts that were accepted before.
    """
    folds = [fold_text(text) for text in texts]
    said: dict[str, set[bool]] = {}
    for fold, label in zip(folds, labels, strict=True):
        said.setdefault(fold, set()).add(label)
    return [
        taken.get(fold, label) != label or label not in said[fold] or len(said[fold]) == 2
        for fold, label in zip(folds, labels, strict=True)
    ]
