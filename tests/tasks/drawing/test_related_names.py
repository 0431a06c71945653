import time

import pytest

from tasks.drawing.candidates import collect_candidates
from tasks.drawing.related_names import RelatedNames, exclude_related
from tests.support.small_bases import as_facts, as_rows


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
        ("Lymphoma", "Non-Hodgkin Lymphoma"),
        ("Lung", "Lung Carcinoma"),
    ],
)
def test_related_names_are_found_from_both_sides(one: str, other: str) -> None:
    related = RelatedNames([one, other, "Gout"])
    assert related.find(one) == related.find(other) == {one, other}


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
    assert RelatedNames([other]).find(one) == frozenset()


def test_negatives_that_generalise_or_specialise_a_true_tail_are_excluded() -> None:
    facts = {
        "h": ["Squamous Cell Carcinoma"],
        "i": ["Carcinoma", "Skin Squamous Cell Carcinoma"],
        "j": ["Gout"],
    }
    found = exclude_related(collect_candidates("r", as_facts(facts)))
    excluded = {head.name: head.excluded for head in found.heads}
    assert excluded["h"] == {"Squamous Cell Carcinoma", *facts["i"]}
    assert excluded["j"] == {"Gout"}


def test_tails_that_are_true_but_never_tested_count_as_true() -> None:
    rows: list[dict[str, object]] = [
        {"head": "h", "tail": "Gout"},
        {"head": "h", "tail": "Acute Pain", "also_true": True},
        {"head": "i", "tail": "Pain"},
    ]
    found = exclude_related(collect_candidates("r", as_rows(rows)))
    assert found.heads[0].excluded == {"Gout", "Pain"}


def test_many_names_with_a_word_in_common_are_not_compared_with_each_other() -> None:
    names = [f"disease {i}" for i in range(20_000)]
    started = time.monotonic()
    related = RelatedNames(["disease", *names])
    assert all(related.find(name) == {"disease", name} for name in names)
    assert related.find("disease") == {"disease", *names}
    # All comparisons take 60 s.
    assert time.monotonic() - started < 10
