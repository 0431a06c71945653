"""What must hold of every stage, as expectations of Great Expectations.

Most follow from the declarations of the columns; what concerns several columns or rows is in `rules`.
"""

from collections.abc import Iterator
from dataclasses import dataclass
from itertools import zip_longest
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.rules import RULES, Rule
from schemas.stages import Column, Stage

RULE_PREFIX = "rule:"
# Sets of columns, beside the key, of which no two rows may have the same values.
UNIQUE: dict[str, tuple[tuple[str, ...], ...]] = {
    "triplets": (("relation", "head", "is_positive"),),
    "samples": (("method", "triplet_id", "sample_index"),),
}
# Column -> least or greatest value; None: no bound. A log-probability is a rounded difference of two
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
    arguments: dict[str, Any]
    meaning: str
    is_warning: bool = False


STRUCTURE = (
    Expectation(
        "columns_match",
        "ExpectColumnPairValuesToBeEqual",
        ("column", "declared_column"),
        {"column_A": "column", "column_B": "declared_column"},
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
    found = {n: str(t) for n, t in frame.schema.items()}
    rows = [
        (column, wanted, found.get(column), declared.get(column))
        for column, wanted in zip_longest(found, declared, fillvalue="nothing")
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
        *(_expect_rule(rule) for rule in _list_rules(stage)),
    ]


def judge_rows(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """The frame with one boolean column per rule, `rule:` and its name, and without its lists.

    Great Expectations takes a fingerprint of every frame: with lists in it, at twice the price.
    """
    judged = [rule.holds.alias(RULE_PREFIX + rule.name) for rule in _list_rules(stage)]
    lists = [column.name for column in stage.columns if pa.types.is_nested(column.type)]
    return frame.with_columns(judged).drop(lists)


def _list_rules(stage: Stage) -> list[Rule]:
    """The stage's own rules, after those for what Great Expectations would do row by row in Python."""
    return [
        *(_fill_list(column) for column in stage.columns if pa.types.is_nested(column.type)),
        *(_bound(name, *BOUNDS[name]) for name in stage.names if name in BOUNDS),
        *RULES[stage.name],
    ]


def _fill_list(column: Column) -> Rule:
    holds = pl.col(column.name).is_not_null()
    return Rule(f"{column.name}_is_not_null", column.meaning, (column.name,), holds)


def _bound(column: str, low: float | None, high: float | None) -> Rule:
    value = pl.col(column)
    if low is not None:
        return Rule(f"{column}_is_in_bounds", f"at least {low}", (column,), value >= low)
    holds = (value <= high) & value.is_not_nan()
    return Rule(f"{column}_is_in_bounds", f"a number, at most {high}", (column,), holds)


def _expect_column(column: Column) -> Iterator[Expectation]:
    name = column.name
    if not column.is_nullable and not pa.types.is_nested(column.type):
        yield Expectation(
            "is_not_null",
            "ExpectColumnValuesToNotBeNull",
            (name,),
            {"column": name},
            column.meaning,
        )
    if column.pattern is not None:
        arguments = {"column": name, "regex": column.pattern}
        kind = "ExpectColumnValuesToMatchRegex"
        yield Expectation("matches_pattern", kind, (name,), arguments, column.pattern)
    if column.values is not None:
        values = {"column": name, "value_set": list(column.values)}
        kind = "ExpectColumnValuesToBeInSet"
        yield Expectation("is_one_of", kind, (name,), values, ", ".join(column.values))


def _expect_unique(columns: tuple[str, ...]) -> Expectation:
    kind, arguments = "ExpectCompoundColumnsToBeUnique", {"column_list": list(columns)}
    if len(columns) == 1:
        kind, arguments = "ExpectColumnValuesToBeUnique", {"column": columns[0]}
    return Expectation("is_unique", kind, columns, arguments, "no two rows have the same")


def _expect_rule(rule: Rule) -> Expectation:
    arguments = {"column": RULE_PREFIX + rule.name, "value_set": [True]}
    kind = "ExpectColumnValuesToBeInSet"
    return Expectation(rule.name, kind, rule.columns, arguments, rule.meaning, rule.is_warning)
