"""The parts of names, and which names generalise others because of their words."""

from itertools import chain

import numpy as np
import polars as pl

from pretexeval.knowledge.names import fold_name
from tasks.drawing.name_features import AFFIX_LENGTHS, GRAM_LENGTHS, NameFeatures
from tasks.drawing.related_names import RelatedNames

# A name, and one that has all its words.
GENERAL = [
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
    ("β-catenins", "Β Catenin"),
]
NOT_GENERAL = [
    ("Hodgkin Lymphoma", "Non-Hodgkin Lymphoma"),
    ("Small Cell Carcinoma", "Non-Small Cell Carcinoma"),
    ("Type 1 Diabetes", "Type 2 Diabetes"),
    ("Adenocarcinoma", "Carcinoma"),
    ("Disease of the Lung", "Disease of the Heart"),
    ("of", "the"),
    ("Squamous Cell Carcinoma", "Carcinoma"),
]


def list_parts(name: str) -> tuple[set[str], set[str], set[str]]:
    """Return the n-grams, the beginnings and the endings of the words of a name."""
    words = fold_name(name).split(" ")
    padded = [f" {word} " for word in words]
    grams = {word[i : i + n] for word in padded for n in GRAM_LENGTHS for i in range(len(word) - n + 1)}
    beginnings = {word[:n] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    endings = {word[-n:] for word in words for n in AFFIX_LENGTHS if len(word) >= n}
    return grams, beginnings, endings


def test_names_share_the_parts_that_both_have() -> None:
    odd = ("+++", "Déjà-vu syndromes", "Not otherwise specified pains", "TLymphocytes of the", "x")
    names = sorted({*odd, *chain(*GENERAL)})
    features = NameFeatures(pl.Series(names))
    parts = [list_parts(name) for name in names]
    for kind, matrix in enumerate((features.grams, features.beginnings, features.endings)):
        shared = [[len(one[kind] & other[kind]) for other in parts] for one in parts]
        assert (matrix @ matrix.T).toarray().tolist() == shared


def is_general(one: str, other: str) -> bool:
    """Return whether the first name generalises or equals the second one."""
    found = RelatedNames(pl.Series([one, other])).list_general(np.array([1]), np.array([0]))
    return len(found[0]) > 0


def test_a_name_generalises_those_that_have_all_its_words() -> None:
    found = {pair: is_general(*pair) for pair in GENERAL + NOT_GENERAL}
    assert found == dict.fromkeys(GENERAL, True) | dict.fromkeys(NOT_GENERAL, False)


def test_pairs_are_positions_in_both_lists() -> None:
    names = pl.Series(["Carcinoma", "Gout", "Lung", "Lung Carcinoma", "gout"])
    pairs = RelatedNames(names).list_general(np.array([3, 1, 2]), np.array([0, 2, 4]))
    assert set(zip(*(each.tolist() for each in pairs), strict=True)) == {(0, 0), (0, 1), (1, 2), (2, 1)}
