"""Distinct triplets of clean rows: their order, which of equal rows is kept, and what is under test."""

import polars as pl

from knowledge.sorting import mark_tested, sort_triplets

ROWS = [
    ("may_treat", "b", "y", None, False),
    ("may_treat", "b", "x", None, True),
    ("causes", "c", "z", None, True),
    ("may_treat", "b", "x", "C1", False),
    ("may_treat", "a", "x", None, False),
    ("may_treat", "b", "x", None, False),
    ("causes", "c", "z", None, True),
]


def test_triplets_are_sorted_and_distinct() -> None:
    schema = ["relation", "head", "tail", "head_id", "also_true"]
    rows = pl.DataFrame(ROWS, schema=schema, orient="row").with_columns(
        pl.lit(None, pl.String).alias("tail_id"), row=pl.int_range(pl.len())
    )
    triplets, repeated = sort_triplets(mark_tested(rows))
    assert triplets.drop("tail_id").rows() == [
        ("causes", "c", "z", None, True),
        ("may_treat", "a", "x", None, False),
        ("may_treat", "b", "x", "C1", False),
        ("may_treat", "b", "x", None, False),
        ("may_treat", "b", "y", None, False),
    ]
    assert repeated["row"].to_list() == [1, 6]
    assert repeated["is_tested"].to_list() == [True, False]
