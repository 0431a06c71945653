"""Capitals of names within a sentence."""

from prototypes.capitals import write_within_sentence
from prototypes.templates import fill_slots

WRITTEN = {
    "Rash": "rash",
    "Nerve Tissue, Neuroepithelial Tissue, and Nerve Sheaths": (
        "nerve tissue, neuroepithelial tissue, and nerve sheaths"
    ),
    "CTNNB1 Gene Mutation": "CTNNB1 gene mutation",
    "Stage IV Breast Carcinoma AJCC v7": "stage IV breast carcinoma AJCC v7",
    "X-Linked Inheritance": "X-linked inheritance",
    "Kidney Wilms Tumor": "kidney Wilms tumor",
    "Non-Hodgkin Lymphoma": "non-Hodgkin lymphoma",
    "Alzheimer's Disease": "Alzheimer's disease",
    "Helicobacter Infections": "Helicobacter infections",
    "ABNORMALITIES, Drug-Induced": "ABNORMALITIES, drug-induced",
    # A later word that is in no list keeps the capitals of the whole name.
    "Foot Drop of Xyz": "Foot Drop of Xyz",
}
KEPT = (
    *("mTOR", "p53", "WAS", "REST", "A", "Prozac", "Trulicity", "Jardiance", "Streptococcus", "Crohn"),
    *("β-catenin", "burns", "[X]", "Éclair", "", "hepatitis A"),
)


def test_a_name_loses_only_the_capitals_of_a_title() -> None:
    expected = WRITTEN | {name: name for name in (*KEPT, *WRITTEN.values())}
    assert {name: write_within_sentence(name) for name in expected} == expected


def test_slots_hold_names_as_they_stand_within_a_sentence() -> None:
    assert fill_slots("The drug [X] may cause [Y].", "mTOR Inhibitor", "Rash") == (
        "The drug mTOR inhibitor may cause rash."
    )
