"""Row rules: what must hold within a row, or among the rows of a group.

Great Expectations has no words for most of them, so each is computed as a boolean column, which is
then expected to be true. Where a value that a rule needs is null the rule is silent: that is for
the expectation that it is not null to report.
"""

from dataclasses import dataclass

import polars as pl


@dataclass(frozen=True)
class Rule:
    """A boolean expression that must be true of every row."""

    name: str
    meaning: str
    columns: tuple[str, ...]
    """What is shown, beside the key, of a row that breaks it."""
    holds: pl.Expr
    is_warning: bool = False
    """Reported, but real data can break it, so it stops nothing."""


def is_same(columns: tuple[str, ...], group: tuple[str, ...]) -> pl.Expr:
    """Whether all rows of the group have one value of each column; null is a value."""
    return pl.all_horizontal(pl.col(c).n_unique().over(group) == 1 for c in columns)


def is_as_most(truth: pl.Expr, group: tuple[str, ...]) -> pl.Expr:
    """Whether a boolean is what it is for most rows of the group; in a tie, whether it is true."""
    return (truth.mean().over(group) >= 0.5) == truth
