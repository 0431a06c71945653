"""Row rules: conditions on one row, or on the rows of a group.

Great Expectations cannot express most of them. Each rule is therefore computed as a boolean column, which is
expected to be true. A rule is null, and reports nothing, if a value that it needs is null; the `is_not_null`
expectation of that column reports the null.
"""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Rule:
    """A boolean expression that must be true of every row."""

    name: str
    meaning: str
    columns: tuple[str, ...]
    """The columns to show, beside the key, of a row that breaks the rule."""
    holds: pl.Expr
    is_warning: bool = False
    """Whether a broken rule is only reported. Real data can break such a rule, so the run goes on."""


SAMPLING_IS_JSON = Rule(
    "sampling_is_json",
    "the sampling parameters are a JSON object",
    ("sampling",),
    pl.col("sampling").str.starts_with("{") & pl.col("sampling").str.json_path_match("$").is_not_null(),
)


def is_constant_within(columns: tuple[str, ...], group: tuple[str, ...]) -> pl.Expr:
    """Return whether each column has a single value in the group. Null counts as a value."""
    return pl.all_horizontal(pl.col(c).n_unique().over(group) == 1 for c in columns)


def is_majority_value(truth: pl.Expr, group: tuple[str, ...]) -> pl.Expr:
    """Return whether a boolean has the value of most rows of its group. In a tie, that value is true."""
    return (truth.mean().over(group) >= 0.5) == truth
