"""How many facts remain to be tested if an older release of the base is given."""

import polars as pl

from tasks.edition.edition import Edition


def count_new_facts(edition: Edition) -> int | None:
    """Return how many facts the older release lacks; None if no release is given."""
    if edition.base.n_known is None:
        return None
    tested = edition.base.triplets.filter(~pl.col("also_true"))
    return tested.select("relation", "head", "tail").n_unique()


def render_new_facts(n_new: int, n_known: int) -> str:
    """Return a sentence with both numbers."""
    return (
        f"facts that the older release lacks, which may be tested: {n_new:,}; facts that it holds, which are "
        f"not tested: {n_known:,}"
    )
