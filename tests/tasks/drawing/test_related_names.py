import numpy as np
import polars as pl
import pytest

from tasks.drawing.related_names import RelatedNames


def is_general(one: str, other: str) -> bool:
    """Return whether the first name generalises or equals the second one."""
    found = RelatedNames(pl.Series([one, other])).list_general(np.array([1]), np.array([0]))
    return len(found[0]) > 0


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
def test_a_name_generalises_those_that_have_all_its_words(one: str, other: str) -> None:
    assert is_general(one, other)


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
def test_other_names_are_not_general(one: str, other: str) -> None:
    assert not is_general(one, other)


def test_a_name_does_not_generalise_one_with_fewer_words() -> None:
    assert not is_general("Squamous Cell Carcinoma", "Carcinoma")


def test_pairs_are_positions_in_both_lists() -> None:
    names = pl.Series(["Carcinoma", "Gout", "Lung", "Lung Carcinoma", "gout"])
    pairs = RelatedNames(names).list_general(np.array([3, 1, 2]), np.array([0, 2, 4]))
    assert set(zip(*(each.tolist() for each in pairs), strict=True)) == {(0, 0), (0, 1), (1, 2), (2, 1)}
