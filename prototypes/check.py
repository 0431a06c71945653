"""What a pool must hold: every cell, each slot once, true negations, wordings that differ."""

import re
from collections import Counter
from collections.abc import Iterator, Sequence
from itertools import combinations

from schemas.transformations import POSITIVE_OF

SLOTS = ("[X]", "[Y]")
MIN_WORDINGS = 4
MAX_SHARED_WORDS = 0.70
# A dn form keeps at least this share of its partner's words: it denies the same claim, not another.
MIN_KEPT_BY_NEGATION = 0.5
NEGATIONS = re.compile(
    r"\b(?:not|no|never|cannot|neither|nor|none|nothing|nobody|without|lacks?|lacking|absent|unable"
    r"|incapable|fails?|excluded?|excludes|untrue|false|incorrect|wrong|impossible|unrelated|outside"
    r"|rather than|free of|free from|ruled out|rules out)\b|n't\b"
)
# A stop after a real word or a slot, and a new beginning; "E. coli" and "St. [X]" are none.
_SENTENCE_BREAK = re.compile(r"(?:[a-z]{3}|[\])])[.!?] +[A-Z\[]")


def read_words(text: str) -> list[str]:
    """The words of a template, lower case, slots left out."""
    for slot in SLOTS:
        text = text.replace(slot, " ")
    return re.findall(r"[a-z]+(?:'[a-z]+)?", text.lower())


def count_negations(text: str) -> int:
    """How many negations a template holds; an odd difference tells a statement from its denial."""
    return len(NEGATIONS.findall(text.lower()))


def share_words(left: str, right: str) -> float:
    """Share of the shorter template's words, counted with repeats, that the other one also uses."""
    a, b = Counter(read_words(left)), Counter(read_words(right))
    shorter = min(a.total(), b.total())
    return (a & b).total() / shorter if shorter else 1.0


def check_slots(text: str) -> Iterator[str]:
    """Slots of a template that it does not hold exactly once."""
    for slot in SLOTS:
        if (count := text.count(slot)) != 1:
            yield f"holds {slot} {count} times instead of once: {text!r}"


def check_text(text: str) -> Iterator[str]:
    """What is wrong with one template on its own."""
    yield from check_slots(text)
    if not text.endswith(".") or text.endswith(".."):
        yield f"does not end in one full stop: {text!r}"
    if text != " ".join(text.split()) or re.search(r" [.,;]", text):
        yield f"has stray white space: {text!r}"
    if _SENTENCE_BREAK.search(text):
        yield f"is more than one sentence: {text!r}"


def check_wordings(cell: Sequence[str]) -> Iterator[str]:
    """Too few wordings for the rephraser `reviewed`, or two that say it in nearly the same words.

    Args:
        cell: the prototype and its further wordings.
    """
    if len(cell) < 1 + MIN_WORDINGS:
        yield f"has {len(cell) - 1} further wordings, {MIN_WORDINGS} are needed"
    for (i, left), (j, right) in combinations(enumerate(cell), 2):
        if (shared := share_words(left, right)) > MAX_SHARED_WORDS:
            yield (
                f"entries {i} and {j} share {shared:.0%} of their words (at most "
                f"{MAX_SHARED_WORDS:.0%}): {left!r} | {right!r}"
            )


def check_negation(positive: str, negated: str) -> Iterator[str]:
    """Whether ``negated`` denies ``positive`` and nothing else."""
    if (count_negations(positive) - count_negations(negated)) % 2 == 0:
        yield f"does not deny its positive form: {negated!r} against {positive!r}"
    elif (shared := share_words(positive, negated)) < MIN_KEPT_BY_NEGATION:
        yield (
            f"shares only {shared:.0%} of the words of the form it denies (at least "
            f"{MIN_KEPT_BY_NEGATION:.0%}): {negated!r} against {positive!r}"
        )


def check_cells(cells: dict[str, list[str]]) -> Iterator[str]:
    """What is wrong with the cells of a relation: their texts, and each dn form beside its partner.

    Args:
        cells: transformation -> the prototype and its further wordings; any may be missing.
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
