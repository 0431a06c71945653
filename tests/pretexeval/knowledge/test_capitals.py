"""Names of a base without the capitals of titles."""

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.capitals import lower_titles
from pretexeval.knowledge.reader import read_knowledge_base

OTHERS = [
    "infection of burns",
    "chronic kidney failure",
    "a tumor and a disease",
    "T-cell leukemia",
    "lymphoma",
]


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("Burns", "burns"),
        ("Kidney Failure", "kidney failure"),
        ("Addison's Disease", "Addison's disease"),
        ("Hodgkin Lymphoma", "Hodgkin lymphoma"),
        # "Wilms" has no small letter anywhere, so that the name would mix two styles.
        ("Kidney Wilms Tumor", "Kidney Wilms Tumor"),
        ("T-Cell Leukemia", "T-cell leukemia"),
        ("BRCA1 Tumor", "BRCA1 tumor"),
        ("BURNS", "BURNS"),
    ],
)
def test_a_word_loses_its_capital_if_another_name_has_it_in_small_letters(name: str, expected: str) -> None:
    rows = pl.DataFrame({"head": [name, *OTHERS, None], "tail": [f" {name}", *OTHERS, None]})
    written = lower_titles(rows)
    assert written.row(0) == (expected, f" {expected}")
    assert written[1:].equals(rows[1:])


def test_the_starter_base_is_written_so() -> None:
    triplets = read_knowledge_base(KnowledgeConfig()).triplets
    assert lower_titles(triplets).equals(triplets)
