"""What must hold of every stage, as expectations of Great Expectations.

Most follow from the declarations of the columns; what concerns several columns or rows is in `rules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import polars as pl

from schemas.rules import RULES, Rule
from schemas.stages import Column, Stage

RULE_PREFIX = "rule:"
# Sets of columns, beside the key, of which no two rows may have the same values.
UNIQUE: dict[str, tuple[tuple[str, ...], ...]] = {
    "triplets": (("relation", "head", "is_positive"),),
    "samples": (("method", "triplet_id", "sample_index"),),
}
# Column -> least and greatest value; None: no bound. A log-probability is a rounded difference of two
# floats, so it may end up a hair above 0.
BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "sample_index": (0, None),
    "attempts": (0, None),
    "repeat": (0, None),
    "n_demonstrations_dropped": (0, None),
    "n_prompt_tokens": (0, None),
    "n_completion_tokens": (0, None),
    "logprob_true": (None, 1e-3),
    "logprob_false": (None, 1e-3),
}


@dataclass(frozen=True)
class Expectation:
    """One thing that must hold of a stage."""

    name: str
    kind: str
    """The class in `great_expectations.expectations`."""
    columns: tuple[str, ...]
    """What it is about; the values shown of a row that breaks it."""
    arguments: dict[str, Any] = field(default_factory=dict)
    meaning: str = ""
    is_warning: bool = False


STRUCTURE = (
    Expectation(
        "columns_match",
        "ExpectColumnPairValuesToBeEqual",
        ("column", "declared_column"),
        {
            "column_A": "column",
            "column_B": "declared_column",
            "ignore_row_if": "both_values_are_missing",
        },
        "the declared columns, in their order",
    ),
    # A column that is not declared has no declared type; `columns_match` has told of it.
    Expectation(
        "types_match",
        "ExpectColumnPairValuesToBeEqual",
        ("column", "type", "declared_type"),
        {
            "column_A": "type",
            "column_B": "declared_type",
            "ignore_row_if": "either_value_is_missing",
        },
        "the declared types",
    ),
)


def describe_structure(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """What `STRUCTURE` is about: one row per position, what was found there and what is declared."""
    declared = {n: str(t) for n, t in pl.DataFrame(stage.schema.empty_table()).schema.items()}
    rows = [
        (column, wanted, str(frame.schema[column]) if column else None, declared.get(column))
        for column, wanted in zip_longest(frame.columns, declared)
    ]
    names = ("column", "declared_column", "type", "declared_type")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def expect_values(stage: Stage) -> list[Expectation]:
    """What must hold of `judge_rows`, once the columns are as declared."""
    keys = (stage.key, *UNIQUE.get(stage.name, ()))
    return [
        Expectation("has_rows", "ExpectTableRowCountToBeBetween", (), {"min_value": 1}, stage.row),
        *(expectation for column in stage.columns for expectation in _expect_column(column)),
        *(_expect_unique(columns) for columns in keys),
        *(_expect_rule(rule) for rule in list_rules(stage)),
    ]


def judge_rows(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame, without its lists, with one boolean column per rule: `rule:` and its name.

    Lists are what makes Great Expectations take a frame's fingerprint twice.
    """
    judged = (rule.holds.alias(RULE_PREFIX + rule.name) for rule in list_rules(stage))
    plain = [name for name, dtype in frame.schema.items() if not dtype.is_nested()]
    return frame.lazy().with_columns(judged).select(pl.col(plain), pl.col("^rule:.*$")).collect()


def list_rules(stage: Stage) -> list[Rule]:
    """The rules of the stage, and those that come of bounds and of columns that hold lists."""
    rules = []
    for column in stage.columns:
        if column.name in BOUNDS:
            rules.append(_bound_column(column.name, *BOUNDS[column.name]))
        if not column.is_nullable and pl.DataFrame(
            stage.schema.empty_table()
        ).schema[column.name].is_nested():
            rules.append(_fill_column(column))
    return [*rules, *RULES[stage.name]]
