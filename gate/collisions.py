"""Texts that read the same to a model though their labels differ."""

import re
import unicodedata
from collections.abc import Mapping, Sequence

_NO_WORD = re.compile(r"[\W_]+")


def fold_text(text: str) -> str:
    """What texts that collide share: the words, in order, without case, punctuation or spaces."""
    return _NO_WORD.sub(" ", unicodedata.normalize("NFKC", text).casefold()).strip()


def find_collisions(texts: Sequence[str], labels: Sequence[bool], taken: Mapping[str, bool]) -> list[bool]:
    """True where a text's fold is that of a text with the opposite label, in ``taken`` or in ``texts``.

    Args:
        labels: one for each text.
        taken: fold -> label of the texts that are already there.
    """
    folds = [fold_text(text) for text in texts]
    said: dict[str, set[bool]] = {}
    for fold, label in zip(folds, labels, strict=True):
        said.setdefault(fold, set()).add(label)
    return [
        taken.get(fold, label) != label or label not in said[fold] or len(said[fold]) == 2
        for fold, label in zip(folds, labels, strict=True)
    ]
