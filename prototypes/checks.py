"""Checks of templates: each slot once, one sentence, true negations, and wordings that differ."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from schemas.transformations import POSITIVE_OF

SLOTS = ("[X]", "[Y]")
MIN_WORDINGS = 4
MAX_SHARED_WORDS = 0.70
# A dn form must keep at least this share of its partner's words, so that it denies the same claim.
MIN_KEPT_BY_NEGATION = 0.5
NEGATIONS = re.compile(
    r"\b(?:not|no|never|cannot|neither|nor|none|nothing|nobody|without|lacks?|lacking|absent|unable"
    r"|incapable|fails?|excluded?|excludes|untrue|false|incorrect|wrong|impossible|unrelated|outside"
    r"|rather than|free of|free from|ruled out|rules out)\b|n't\b"
)
# A stop after three letters or a slot, then a capital or a slot. "E. coli" and "St. [X]" do not match.
_SENTENCE_BREAK = re.compile(r"(?:[a-z]{3}|[\])])[.!?] +[A-Z\[]")


def read_words(text: str) -> list[str]:
    """Return the words of a template in lower case, without its slots."""
    for slot in SLOTS:
        text = text.replace(slot, " ")
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


def count_negations(text: str) -> int:
    """Return the number of negations in a template. A statement and its denial differ by an odd number."""
    return len(NEGATIONS.findall(text.lower()))


def measure_shared_words(left: str, right: str) -> float:
    """Return the share of the shorter template's words, counted with repeats, that the other one also has."""
    a, b = Counter(read_words(left)), Counter(read_words(right))
    shorter = min(a.total(), b.total())
    return (a & b).total() / shorter if shorter else 1.0


def check_slots(text: str) -> Iterator[str]:
    """Yield a problem for each slot that is not exactly once in the template."""
    for slot in SLOTS:
        if (count := text.count(slot)) != 1:
            yield f"holds {slot} {count} times instead of once: {text!r}"


def check_text(text: str) -> Iterator[str]:
    """Yield the problems of a single template."""
    yield from check_slots(text)
    if not text.endswith(".") or text.endswith(".."):
        yield f"does not end in one full stop: {text!r}"
    if text != " ".join(text.split()) or re.search(r" [.,;]", text):
        yield f"has stray white space: {text!r}"
    if _SENTENCE_BREAK.search(text):
        yield f"is more than one sentence: {text!r}"


def check_wordings(cell: Sequence[str]) -> Iterator[str]:
    """Yield a problem for too few wordings for the rephraser `reviewed`, and for each two that are similar.

    Args:
        cell: the prototype and its further wordings.
    """
    if len(cell) < 1 + MIN_WORDINGS:
        yield f"has {len(cell) - 1} further wordings, {MIN_WORDINGS} are needed"
    for (i, left), (j, right) in combinations(enumerate(cell), 2):
        if (shared := measure_shared_words(left, right)) > MAX_SHARED_WORDS:
            yield (
                f"entries {i} and {j} share {shared:.0%} of their words (at most "
                f"{MAX_SHARED_WORDS:.0%}): {left!r} | {right!r}"
            )


def check_negation(positive: str, negated: str) -> Iterator[str]:
    """Yield a problem unless ``negated`` denies ``positive`` and nothing else."""
    if (count_negations(positive) - count_negations(negated)) % 2 == 0:
        yield f"does not deny its positive form: {negated!r} against {positive!r}"
    elif (shared := measure_shared_words(positive, negated)) < MIN_KEPT_BY_NEGATION:
        yield (
            f"shares only {shared:.0%} of the words of the form it denies (at least "
            f"{MIN_KEPT_BY_NEGATION:.0%}): {negated!r} against {positive!r}"
        )


def check_cells(cells: dict[str, list[str]]) -> Iterator[str]:
    """Yield the problems of a relation's cells: of each text, and of each dn form compared to its partner.

    Args:
        cells: transformation -> the prototype and its further wordings. Cells may be missing.
    """
    for name, texts in cells.items():
        for i, text in enumerate(texts):
            yield from (f"{name} entry {i} {problem}" for problem in check_text(text))
    for name, partner in POSITIVE_OF.items():
        if name in cells and partner in cells:
            yield from _check_denials(name, cells[name], partner, cells[partner])


def _check_denials(name: str, negated: list[str], partner: str, positive: list[str]) -> Iterator[str]:
    if len(negated) != len(positive):
        yield (
            f"{name} has {len(negated)} entries and {partner} {len(positive)}: "
            f"entry i of {name} denies entry i of {partner}"
        )
    for i, (affirmed, denied) in enumerate(zip(positive, negated, strict=False)):
        yield from (f"{name} entry {i} {problem}" for problem in check_negation(affirmed, denied))
