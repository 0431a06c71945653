"""How many facts remain to be tested, and how old they are, if older releases of the base are given."""

from collections.abc import Sequence
from dataclasses import dataclass

import polars as pl

from config.tables import NEW
from report.console import align
from tasks.edition.edition import Edition


@dataclass(frozen=True)
class FactAge:
    """The facts of one age that may be tested."""

    first_release: str
    """The oldest release that holds them, or `new`."""
    n_facts: int


def count_new_facts(edition: Edition) -> int | None:
    """Return how many facts the older release lacks; None if no release is given."""
    if edition.base.n_known is None:
        return None
    return _select_tested(edition).height


def count_ages(edition: Edition) -> tuple[FactAge, ...]:
    """Return the number of facts of every age, the oldest first; empty if no releases are given."""
    names = edition.base.releases
    if not names:
        return ()
    counts = dict(_select_tested(edition).group_by("first_release").len().iter_rows())
    return tuple(FactAge(name, counts.get(name, 0)) for name in (*names, NEW))


def _select_tested(edition: Edition) -> pl.DataFrame:
    tested = edition.base.triplets.filter(~pl.col("also_true"))
    return tested.unique(("relation", "head", "tail"))


def render_new_facts(n_new: int, n_known: int) -> str:
    """Return a sentence with both numbers."""
    return (
        f"facts that the older release lacks, which may be tested: {n_new:,}; facts that it holds, which are "
        f"not tested: {n_known:,}"
    )


def render_ages(ages: Sequence[FactAge]) -> str:
    """Return a table of the facts by age."""
    return align(["oldest release", "facts"], [[each.first_release, f"{each.n_facts:,}"] for each in ages])
