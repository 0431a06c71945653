"""Editions of which only the facts are tested that an older release of the base lacks."""

from dataclasses import replace

import polars as pl

from knowledge.left_out import LeftOut
from primitives.errors import InputError
from tasks.edition.edition import Edition
from tasks.edition.triplets import sample_triplets

# The draw of such a relation takes a fraction of a second. With more heads, some pair can be drawn.
MAX_HEADS = 200
TOO_FEW = "too few heads have a fact that the older release lacks"


def leave_out_small_relations(edition: Edition) -> Edition:
    """Return the edition without the relations whose new facts do not suffice for a pair, which are listed.

    An edition without an older release stays as it is: such a relation is then an error of the base.

    Raises:
        InputError: no relation is left.
    """
    base = edition.base
    if base.n_known is None:
        return edition
    tested = base.triplets.filter(~pl.col("also_true"))
    counts = tested.group_by("relation").agg(pl.col("head").n_unique()).sort("relation")
    small = {relation: n for relation, n in counts.iter_rows() if not _has_pair(edition, relation, n)}
    if len(small) == len(base.relations):
        raise InputError(
            f"no relation of {base.name!r} has enough facts that the older release lacks ("
            + ", ".join(f"{relation}: {n} heads" for relation, n in small.items())
            + "): set since of [knowledge] to an earlier release"
        )
    left_out = [LeftOut(relation, "the relation", f"{TOO_FEW} ({n})") for relation, n in small.items()]
    is_kept = ~pl.col("relation").is_in(list(small))
    kept = replace(
        base,
        triplets=base.triplets.filter(is_kept),
        also_false=base.also_false.filter(is_kept),
        left_out=(*base.left_out, *left_out),
    )
    return replace(edition, base=kept)


def _has_pair(edition: Edition, relation: str, n_heads: int) -> bool:
    if n_heads > MAX_HEADS:
        return True
    rows, also_false = edition.base.select_relation(relation), edition.base.select_false(relation)
    try:
        sample_triplets(relation, rows, edition.sampling, also_false)
    except InputError:
        return False
    return True
