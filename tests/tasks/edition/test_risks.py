"""The two risks of negatives, counted by hand on small relations."""

from collections.abc import Mapping

import polars as pl
import pytest

from tasks.drawing.heads import TripletSampling
from tasks.edition.risks import describe_balance, estimate_wrong_twins
from tests.support.small_bases import Facts, as_facts, index_facts

BOTH = {f"head {i}": ["rash", "itch"] for i in range(50)}
ONE = {f"head {i}": [f"tail {i}"] for i in range(50)}
SAME = {f"head {i}": ["rash"] for i in range(50)}


@pytest.mark.parametrize(
    ("facts", "expected"),
    [
        # 30 heads lose one of their two tails, which is then the only one that can be false of them. Five of
        # these heads are held out. The other 20 heads have no false tail.
        (BOTH, {"n_hidden": 30, "n_tried": 25, "n_wrong": 25, "wrong_rate": 1.0}),
        # Every head keeps its only fact.
        (ONE, {"n_hidden": 0, "n_tried": 45, "n_wrong": 0, "wrong_rate": 0.0}),
        (SAME, {"n_hidden": 0, "n_tried": 0, "n_wrong": 0, "wrong_rate": None}),
    ],
)
def test_hidden_facts_among_the_false_twins_are_counted(
    facts: Facts, expected: Mapping[str, float | None]
) -> None:
    found = index_facts(as_facts(facts), evidence=())
    assert estimate_wrong_twins(found, TripletSampling(1, "uniform")) == expected


def test_labels_are_guessable_as_far_as_resemblance_differs() -> None:
    rates = {
        # Each true pair has a false one of the same tail that shares as many words.
        ("lung cancer", "rash", "lung tumor", "fever"): (0.5, 0.5),
        # Of the two pairs with "skin", the true one shares no word, and the false one shares one.
        ("lung cancer", "rash", "lung tumor", "skin ache"): (0.5, 0.75),
        ("lung cancer", "skin rash", "tumor", "ache"): (0.5, 1.0),
    }
    columns = {"tail": ["lung", "skin"] * 2, "is_positive": [True, True, False, False]}
    frame = pl.DataFrame(columns).with_columns(split=pl.lit("test"), is_asserted=pl.lit(None, pl.Boolean))
    found = {heads: describe_balance([frame.with_columns(head=pl.Series(heads))]) for heads in rates}
    assert {heads: (each["tail_rate"], each["guessable_rate"]) for heads, each in found.items()} == rates
    lopsided = frame.with_columns(
        head=pl.Series(next(iter(rates))), tail=pl.Series(["lung", "lung", "lung", "skin"])
    )
    assert describe_balance([lopsided])["tail_rate"] == 0.75


def test_counts_of_the_manifest() -> None:
    triplets = [
        ("lung cancer", "lung", True, "test", None),
        ("lung cancer", "skin", False, "test", True),
        ("skin rash", "skin", True, "test", None),
        ("skin rash", "lung", False, "test", None),
        ("lung tumor", "lung", True, "demonstration", None),
    ]
    columns = ["head", "tail", "is_positive", "split", "is_asserted"]
    frame = pl.DataFrame(triplets, schema=columns, orient="row")
    assert describe_balance([frame, frame.with_columns(is_positive=~pl.col("is_positive"))]) == {
        "n_pairs": 4,
        "n_true_sharing": 2,
        "n_false_sharing": 2,
        "n_unmatched": 4,
        "n_asserted": 2,
        "tail_rate": 0.5,
        "guessable_rate": 1.0,
        "is_balanced": False,
    }
