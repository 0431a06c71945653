"""How many pairs of each relation a model is asked about within its budget.

The budget is divided in equal numbers of pairs, and the answers so far do not change that (docs/budget.md).
Within a relation, the pairs are the first ones in the order of hashes, as with `pairs_per_relation`. So a
larger budget asks about the same pairs and some more, and no prompt is asked twice.
"""

from collections.abc import Mapping
from dataclasses import dataclass

import polars as pl

from primitives.errors import InputError


@dataclass(frozen=True)
class RelationSize:
    """How many test pairs a relation has, and how many samples the largest of them has."""

    n_pairs: int
    n_samples_of_pair: int


def measure_relations(samples: pl.DataFrame) -> dict[str, RelationSize]:
    """Return relation -> its size, from the columns relation, pair_id and split of samples."""
    groups = samples.partition_by("relation", as_dict=True, maintain_order=True)
    return {str(relation): measure_relation(rows) for (relation,), rows in groups.items()}


def measure_relation(samples: pl.DataFrame) -> RelationSize:
    """Return the size of a relation from its samples, of which the columns pair_id and split are read."""
    counts = samples.filter(pl.col("split") == "test").group_by("pair_id").len()["len"].to_list()
    return RelationSize(len(counts), max(counts, default=0))


def divide_budget(budget: int, sizes: Mapping[str, RelationSize], n_repeats: int) -> dict[str, int]:
    """Return relation -> how many of its pairs are asked.

    A relation with fewer pairs than its share leaves the rest to the others. The pairs that remain go to the
    first relations by name, one to each. A larger budget gives no relation fewer pairs.

    Args:
        budget: the number of prompts; every pair counts with as many as the largest one has.

    Raises:
        InputError: the budget does not pay for one pair of each relation.
    """
    n_prompts = n_repeats * max((size.n_samples_of_pair for size in sizes.values()), default=0)
    open_pairs = {relation: sizes[relation].n_pairs for relation in sorted(sizes) if sizes[relation].n_pairs}
    if budget < n_prompts * len(open_pairs):
        raise InputError(
            f"budget = {budget} is too small: one pair of each of the {len(open_pairs)} relations takes "
            f"{n_prompts} prompts each, so give {n_prompts * len(open_pairs)} or more"
        )
    asked = dict.fromkeys(sizes, 0)
    n_left = min(budget // n_prompts, sum(open_pairs.values())) if n_prompts else 0
    while n_left:
        share = max(min(n_left // len(open_pairs), *open_pairs.values()), 1)
        for relation in list(open_pairs)[:n_left]:
            asked[relation] += share
            open_pairs[relation] -= share
        n_left -= share * min(len(open_pairs), n_left)
        open_pairs = {relation: n for relation, n in open_pairs.items() if n}
    return asked
