"""What a prototype pool must hold: every cell, each slot once, true negations, wordings that differ.

Run on files being written: ``python -m prototypes.check FILE.toml ...``.
"""

import re
import sys
import tomllib
from collections import Counter
from collections.abc import Iterator
from pathlib import Path

from schemas.transformations import NAMES, POSITIVE_OF

SLOTS = ("[X]", "[Y]")
MIN_WORDINGS = 4
MAX_SHARED_WORDS = 0.70
# A dn form keeps at least this share of its partner's words: it denies the same claim, not another one.
MIN_KEPT_BY_NEGATION = 0.5
NEGATIONS = re.compile(
    r"\b(?:not|no|never|cannot|neither|nor|none|nothing|nobody|without|lacks?|lacking|absent|unable|incapable"
    r"|fails?|excluded?|excludes|untrue|false|incorrect|wrong|impossible|unrelated|outside|rather than"
    r"|free of|free from|ruled out|rules out)\b|n't\b"
)


def read_words(text: str) -> list[str]:
    """The words of a template, lower case, slots left out."""
    for slot in SLOTS:
        text = text.replace(slot, " ")
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


def count_negations(text: str) -> int:
    """How many negations a template holds; an odd difference separates a statement from its denial."""
    return len(NEGATIONS.findall(text.lower()))


def share_words(left: str, right: str) -> float:
    """Share of the shorter template's words, counted with repeats, that the other one also uses."""
    a, b = Counter(read_words(left)), Counter(read_words(right))
    shorter = min(a.total(), b.total())
    return (a & b).total() / shorter if shorter else 1.0


def check_text(text: str) -> Iterator[str]:
    """What is wrong with one template on its own."""
    for slot in SLOTS:
        if (count := text.count(slot)) != 1:
            yield f"holds {slot} {count} times instead of once"
    if not text.endswith(".") or text.endswith(".."):
        yield "does not end in one full stop"
    if text != " ".join(text.split()) or re.search(r" [.,;]", text):
        yield "has stray white space"
    if re.search(r"\. ", text):
        yield "is more than one sentence"


def check_wordings(cell: list[str]) -> Iterator[str]:
    """Pairs of templates of one cell that say it in nearly the same words."""
    if len(cell) < 1 + MIN_WORDINGS:
        yield f"has {len(cell) - 1} further wordings, {MIN_WORDINGS} are needed"
    for i, left in enumerate(cell):
        for j in range(i + 1, len(cell)):
            if (shared := share_words(left, cell[j])) > MAX_SHARED_WORDS:
                yield f"entries {i} and {j} share {shared:.0%} of their words (at most {MAX_SHARED_WORDS:.0%}): {left!r} | {cell[j]!r}"


def check_negation(positive: str, negated: str) -> Iterator[str]:
    """Whether ``negated`` denies ``positive`` and nothing else."""
    if (count_negations(positive) - count_negations(negated)) % 2 == 0:
        yield f"does not deny its positive form: {negated!r} against {positive!r}"
    elif (shared := share_words(positive, negated)) < MIN_KEPT_BY_NEGATION:
        yield f"shares only {shared:.0%} of the words of the form it denies: {negated!r} against {positive!r}"
