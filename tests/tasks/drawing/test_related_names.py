import numpy as np
import polars as pl
import pytest

from tasks.drawing.heads import list_uncertain
from tasks.drawing.related_names import RelatedNames
from tests.support.small_bases import as_facts


def is_related(one: str, other: str) -> bool:
    found = RelatedNames(pl.Series([one, other])).find(np.arange(2), np.arange(2))
    assert found[0, 1] == found[1, 0]
    return bool(found[0, 1])


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Carcinoma", "Squamous Cell Carcinoma"),
        ("Carcinoma", "Carcinomas of the Lung"),
        ("T-Lymphocyte", "t lymphocytes"),
        ("T-Lymphocyte", "TLymphocyte"),
        ("Pain, Back", "back pain"),
        ("Lymphoma", "Lymphoma, Not Otherwise Specified"),
        ("Allergies", "Food Allergy"),
        ("Biopsies of the Lungs", "Lung biopsy"),
        ("Lymphoma", "Non-Hodgkin Lymphoma"),
        ("Non-small cell carcinomas", "Non-Small Cell Carcinoma, NOS"),
        ("Lung", "Lung Carcinoma"),
        ("β-catenins", "Β Catenin"),
    ],
)
def test_names_that_generalise_or_equal_each_other_are_related(one: str, other: str) -> None:
    assert is_related(one, other)


@pytest.mark.parametrize(
    ("one", "other"),
    [
        ("Hodgkin Lymphoma", "Non-Hodgkin Lymphoma"),
        ("Small Cell Carcinoma", "Non-Small Cell Carcinoma"),
        ("Type 1 Diabetes", "Type 2 Diabetes"),
        ("Adenocarcinoma", "Carcinoma"),
        ("Disease of the Lung", "Disease of the Heart"),
        ("of", "the"),
    ],
)
def test_other_names_are_not_related(one: str, other: str) -> None:
    assert not is_related(one, other)


def test_tails_that_generalise_or_specialise_a_true_tail_are_uncertain() -> None:
    true = as_facts({"h": ["Squamous Cell Carcinoma"], "j": ["Gout"]}).select("head", "tail")
    tails = pl.Series(["Carcinoma", "Gout", "Skin Squamous Cell Carcinoma", "Pain"])
    assert sorted(list_uncertain(true, tails).rows()) == [
        ("h", "Carcinoma"),
        ("h", "Skin Squamous Cell Carcinoma"),
        ("j", "Gout"),
    ]
