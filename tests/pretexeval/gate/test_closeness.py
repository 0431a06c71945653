"""What a rewording may change when the number of changed words is limited."""

import polars as pl
import pytest

from pretexeval.gate import Rewording, check_rewording, check_rewordings
from tests.support.pool_texts import list_pool_texts

STATEMENT = "If a patient has the finding fever, then the drug aspirin may treat this disease."
HEAD, TAIL = "aspirin", "fever"


def check(text: str, max_new_words: int, statement: str = STATEMENT) -> tuple[str, ...]:
    return check_rewording(Rewording(statement, text, HEAD, TAIL, tail_aliases=("pyrexia",)), max_new_words)


@pytest.mark.parametrize(
    "text",
    [
        "If the patient has a finding of fever, aspirin may treat this disease.",
        "When a person has pyrexia, then the medicine aspirin can treat this condition.",
        "If patients have fever, the medication aspirin might treat this illness.",
    ],
)
def test_harmless_changes_are_free(text: str) -> None:
    assert check(text, 0) == ()


@pytest.mark.parametrize(
    ("text", "n_changed"),
    [
        ("If a patient has the finding fever, then the drug aspirin may relieve this disease.", 1),
        ("If a patient now has the finding fever, then the drug aspirin may treat this disease.", 1),
        ("If a patient has the finding fever, then aspirin may treat disease.", 1),
        ("If a patient has fever, then the drug aspirin may treat fever.", 2),
    ],
)
def test_other_changes_are_counted(text: str, n_changed: int) -> None:
    assert "new words" not in check(text, n_changed)
    assert "new words" in check(text, n_changed - 1)


@pytest.mark.parametrize(
    ("statement", "text"),
    [
        ("Aspirin is among the drugs for fever.", "Aspirin is among the fever."),
        ("Aspirin is a gene product of the gene fever.", "Aspirin is a gene of the gene fever."),
        ("The drug aspirin reduces the symptoms of fever.", "The drug aspirin reduces fever."),
        ("The drug aspirin treats fever.", "The drug aspirine treats fevers."),
        ("The drug aspirin treats fever.", "The drug aspirin (APN) treats fever."),
    ],
)
def test_what_an_entity_is_called_may_be_left_out_and_nothing_else(statement: str, text: str) -> None:
    assert check(text, 0, statement)


def test_no_prototype_passes_as_another_one() -> None:
    """Prototypes with exchanged names, contradictory ones, and those of other relations."""
    rows = list_pool_texts().filter(pl.col("kind") != "reviewed")
    assert all(check_rewordings(rows, max_new_words=0))
