"""Denials by rule: the contradictory of a sentence, or none if no rule is sure."""

import pytest

from prototypes.drafting.denials import deny_sentence
from prototypes.drafting.drafts import DraftedCell, check_denial
from prototypes.pool import load_pool
from schemas.transformations import POSITIVE_OF


@pytest.mark.parametrize(
    ("sentence", "denial"),
    [
        ("The agent [X] may cause [Y].", "The agent [X] cannot cause [Y]."),
        ("The condition [Y] is due to [X].", "The condition [Y] is not due to [X]."),
        (
            "If a patient takes [X], then this drug is among those that may cause [Y].",
            "If a patient takes [X], then this drug is not among those that may cause [Y].",
        ),
        ("The drug [X] treats [Y].", "It is not true that the drug [X] treats [Y]."),
        ("[X] treats [Y].", "It is not true that [X] treats [Y]."),
        # A denied auxiliary would leave "is safe", or the patients that are not meant, undenied.
        (
            "The drug [X] may cause [Y] and is safe.",
            "It is not true that the drug [X] may cause [Y] and is safe.",
        ),
        (
            "The drug [X] may cause [Y] in some patients.",
            "It is not true that the drug [X] may cause [Y] in some patients.",
        ),
        (
            "It is known that [X] may cause [Y].",
            "It is not true that it is known that [X] may cause [Y].",
        ),
        # No rule is sure: the verb of a claim after a condition, an unknown first word, a denial.
        ("If a patient takes [X], then this drug causes [Y].", None),
        ("If a patient, or anybody else, takes [X], then this drug may cause [Y].", None),
        ("Parkinson lists [X] for [Y].", None),
        ("The drug [X] lacks the effect [Y].", None),
    ],
)
def test_a_denial_is_the_contradictory_or_nothing(sentence: str, denial: str | None) -> None:
    assert deny_sentence(sentence) == denial


def test_the_rules_deny_every_prototype_of_the_bundled_pool() -> None:
    """The checks find nothing against them, and most are the denials that people wrote."""
    equal = []
    for prototypes in load_pool("revised").relations.values():
        cells = {name: DraftedCell(cell.prototype) for name, cell in prototypes.cells.items()}
        for name, partner in POSITIVE_OF.items():
            denial = deny_sentence(cells[partner].text or "")
            assert denial is not None
            others = {each: cell for each, cell in cells.items() if each in (partner, "dn") and each != name}
            assert check_denial(name, denial, others) == []
            equal.append(denial == cells[name].text)
    assert sum(equal) > 0.75 * len(equal)
