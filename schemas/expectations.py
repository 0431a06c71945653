"""The expectations of every stage, for Great Expectations.

Most of them follow from the declarations of the columns. Conditions on several columns or rows are in
`edition_rules` and `answer_rules`.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass, field
from itertools import zip_longest
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.answer_rules import ANSWER_RULES
from schemas.columns import Column, Stage
from schemas.edition_rules import EDITION_RULES, Rule
from schemas.question_rules import QUESTION_RULES

RULES = {**EDITION_RULES, **ANSWER_RULES, **QUESTION_RULES}
# Further sets of columns, beside the key, whose values are unique per row.
UNIQUE: dict[str, tuple[tuple[str, ...], ...]] = {
    "triplets": (("relation", "head", "is_positive"),),
    "samples": (("method", "triplet_id", "sample_index"),),
}
# Column -> (least, greatest) value; None means no bound. A log-probability is the rounded difference of two
# floats, so it may be slightly above 0.
BOUNDS: dict[str, tuple[float | None, float | None]] = {
    "sample_index": (0, None),
    "attempts": (0, None),
    "attempt": (1, None),
    "lexical_distance": (0, 1),
    "structural_distance": (0, 1),
    "lexical_spread": (0, 1),
    "structural_spread": (0, 1),
    "reliability": (0, 5),
    "lexical_diversity": (0, 5),
    "structural_diversity": (0, 5),
    "repeat": (0, None),
    "n_demonstrations_dropped": (0, None),
    "n_answers": (0, None),
    "n_agreeing": (0, None),
    "n_prompt_tokens": (0, None),
    "n_completion_tokens": (0, None),
    "logprob_true": (None, 1e-3),
    "logprob_false": (None, 1e-3),
}


@dataclass(frozen=True)
class Expectation:
    """One condition on the rows of a stage."""

    name: str
    kind: str
    """Name of the class in `great_expectations.expectations`."""
    columns: tuple[str, ...]
    """The columns that it is about. Their values are shown of a row that breaks it."""
    arguments: dict[str, Any]
    meaning: str
    is_warning: bool = False
    holds: pl.Expr | None = field(default=None, compare=False)
    """True of the rows that meet it, null of those that it does not concern. None: it is not about rows."""


STRUCTURE = (
    Expectation(
        "columns_match",
        "ExpectColumnPairValuesToBeEqual",
        ("column", "declared_column"),
        {"column_A": "column", "column_B": "declared_column"},
        "the columns are the declared ones, in their order",
    ),
    # A column that is not declared has no declared type. `columns_match` reports such a column.
    Expectation(
        "types_match",
        "ExpectColumnPairValuesToBeEqual",
        ("column", "type", "declared_type"),
        {
            "column_A": "type",
            "column_B": "declared_type",
            "ignore_row_if": "either_value_is_missing",
        },
        "the types are the declared ones",
    ),
)


def describe_structure(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """One row per column position: found and declared column and type. `STRUCTURE` is about this frame."""
    declared = {n: str(t) for n, t in stage.empty.schema.items()}
    found = {n: str(t) for n, t in frame.schema.items()}
    rows = [
        (column, wanted, found.get(column), declared.get(column))
        for column, wanted in zip_longest(found, declared, fillvalue="nothing")
    ]
    names = ("column", "declared_column", "type", "declared_type")
    return pl.DataFrame(rows, schema=dict.fromkeys(names, pl.String), orient="row")


def list_value_expectations(stage: Stage) -> list[Expectation]:
    """Return the expectations of the frame that `evaluate_rules` returns. The columns must be as declared."""
    rows = f"there is {stage.row}"
    unread = _list_unread_columns(stage)
    return [
        Expectation("has_rows", "ExpectTableRowCountToBeBetween", (), {"min_value": 1}, rows),
        *(e for column in stage.columns if column not in unread for e in _expect_column(column)),
        *(_expect_unique(columns) for columns in _list_keys(stage)),
        *(_expect_rule(rule) for rule in _list_rules(stage)),
    ]


def evaluate_rules(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """Return the frame with one boolean column per rule, and without its free texts and lists.

    Great Expectations computes a fingerprint of the whole frame, twice if the frame has lists. The texts
    would take most of that time.
    """
    judged = [rule.holds.alias(_name_rule_column(rule)) for rule in _list_rules(stage)]
    return frame.with_columns(judged).drop(column.name for column in _list_unread_columns(stage))


SUMMARY = (
    Expectation(
        "no_row_breaks_it",
        "ExpectColumnValuesToBeInSet",
        ("expectation", "n_unexpected"),
        {"column": "n_unexpected", "value_set": [0]},
        "no row breaks the expectation",
    ),
)


def count_violations(stage: Stage, frame: pl.DataFrame) -> pl.DataFrame:
    """One row per expectation of values: its name, columns and is_warning, and n_unexpected.

    `SUMMARY` is about this frame. n_unexpected is the number of rows that break the expectation. It is the
    number that Great Expectations finds in the rows, with one difference: rows whose key is null in every
    column count as repeated here, and Great Expectations ignores them.

    Args:
        frame: rows whose columns are as declared.
    """
    known = list_value_expectations(stage)
    counts = [pl.lit(int(frame.is_empty())) if e.holds is None else find_breaking([e]).sum() for e in known]
    counted = frame.select(count.cast(pl.Int64).alias(str(n)) for n, count in enumerate(counts)).row(0)
    names = ("expectation", "columns", "is_warning", "n_unexpected")
    rows = [(e.name, ", ".join(e.columns), e.is_warning, n) for e, n in zip(known, counted, strict=True)]
    types = (pl.String, pl.String, pl.Boolean, pl.Int64)
    return pl.DataFrame(rows, schema=dict(zip(names, types, strict=True)), orient="row")


def find_breaking(expectations: Sequence[Expectation]) -> pl.Expr:
    """Return an expression that is true of the rows that break one of the expectations."""
    breaks = [(~e.holds).fill_null(value=False) for e in expectations if e.holds is not None]
    return pl.any_horizontal(pl.lit(False), *breaks)


def may_break_rules(stage: Stage, frame: pl.DataFrame) -> bool:
    """Return whether the rows break an expectation of the stage that is no mere warning."""
    broken = count_violations(stage, frame).filter(pl.col("n_unexpected") > 0)
    return not broken["is_warning"].all()


def _list_keys(stage: Stage) -> tuple[tuple[str, ...], ...]:
    return (stage.key, *UNIQUE.get(stage.name, ()))


def _list_unread_columns(stage: Stage) -> list[Column]:
    """Return the text and list columns that have no expectation except, perhaps, that they are not null."""
    keys = {name for columns in _list_keys(stage) for name in columns}
    return [
        column
        for column in stage.columns
        if (pa.types.is_nested(column.type) or pa.types.is_string(column.type))
        and column.pattern is None
        and column.values is None
        and column.name not in keys
    ]


def _list_rules(stage: Stage) -> list[Rule]:
    """Return the rules of the stage, after checks that would be slow as native expectations."""
    unread = _list_unread_columns(stage)
    return [
        *(_build_not_null_rule(column) for column in unread if not column.is_nullable),
        *(_build_bounds_rule(name, *BOUNDS[name]) for name in stage.names if name in BOUNDS),
        *RULES.get(stage.name, ()),
    ]


def _name_rule_column(rule: Rule) -> str:
    return f"{rule.columns[0]} {rule.name}"


def _build_not_null_rule(column: Column) -> Rule:
    holds = pl.col(column.name).is_not_null()
    return Rule("is_not_null", column.meaning, (column.name,), holds)


def _build_bounds_rule(column: str, low: float | None, high: float | None) -> Rule:
    value = pl.col(column)
    holds = value.cast(pl.Float64).is_not_nan()
    words = ["a number"]
    if low is not None:
        holds, words = holds & (value >= low), [*words, f"at least {low}"]
    if high is not None:
        holds, words = holds & (value <= high), [*words, f"at most {high}"]
    return Rule("is_in_bounds", ", ".join(words), (column,), holds)


def _expect_column(column: Column) -> Iterator[Expectation]:
    name, value = column.name, pl.col(column.name)
    if not column.is_nullable:
        yield Expectation(
            "is_not_null",
            "ExpectColumnValuesToNotBeNull",
            (name,),
            {"column": name},
            column.meaning,
            holds=value.is_not_null(),
        )
    if column.pattern is not None:
        arguments = {"column": name, "regex": column.pattern}
        kind = "ExpectColumnValuesToMatchRegex"
        holds = value.str.contains(column.pattern)
        yield Expectation("matches_pattern", kind, (name,), arguments, column.pattern, holds=holds)
    if column.values is not None:
        values = {"column": name, "value_set": list(column.values)}
        kind = "ExpectColumnValuesToBeInSet"
        holds = value.is_in(list(column.values))
        yield Expectation("is_one_of", kind, (name,), values, ", ".join(column.values), holds=holds)


def _expect_unique(columns: tuple[str, ...]) -> Expectation:
    kind = "ExpectCompoundColumnsToBeUnique"
    arguments: dict[str, Any] = {"column_list": list(columns)}
    if len(columns) == 1:
        kind, arguments = "ExpectColumnValuesToBeUnique", {"column": columns[0]}
    holds = ~pl.struct(columns).is_duplicated()
    return Expectation("is_unique", kind, columns, arguments, "no two rows have the same", holds=holds)


def _expect_rule(rule: Rule) -> Expectation:
    arguments = {"column": _name_rule_column(rule), "value_set": [True]}
    kind = "ExpectColumnValuesToBeInSet"
    return Expectation(
        rule.name, kind, rule.columns, arguments, rule.meaning, rule.is_warning, holds=rule.holds
    )
