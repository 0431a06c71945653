"""The tails that may be tested with each head of a relation, as its positive and as its negative."""

from collections import defaultdict
from collections.abc import Iterable
from dataclasses import dataclass

import polars as pl

from knowledge.spelling import list_name_keys


@dataclass(frozen=True)
class Head:
    """A head of one relation, and the tails that may be drawn for it."""

    name: str
    tails: tuple[str, ...]
    """The true tails that may be its positive, sorted."""
    excluded: frozenset[str]
    """The tails of the relation that may not be its negative: those true of it, and the head itself."""
    true_names: frozenset[str] = frozenset()
    """The names of all tails that are true of it, also of those that are never tested."""
    asserted: frozenset[str] = frozenset()
    """The tails that the base asserts to be false of it. They need not be tails of a true triplet."""


@dataclass(frozen=True)
class Candidates:
    """The heads of one relation, sorted by name, and the tails that can be negatives."""

    relation: str
    heads: tuple[Head, ...]
    pool: tuple[str, ...]


def collect_candidates(
    relation: str, triplets: pl.DataFrame, also_false: pl.DataFrame | None = None
) -> Candidates:
    """Return the heads and tails of one relation. Truth is tested on folded names and on ids.

    Args:
        triplets: the rows of the relation: head, tail, head_id, tail_id, also_true.
        also_false: the triplets of the relation that the base asserts to be false, with the same columns but
            the last. Those that are true by an id of another row are ignored.
    """
    asserted = triplets.head(0) if also_false is None else also_false
    tested = triplets.filter(~pl.col("also_true"))
    pool = tuple(sorted(tested["tail"].unique().to_list()))
    names_of_key = _index_tails(triplets)
    true_keys, false_keys = _collect_tail_keys(triplets), _collect_tail_keys(asserted)
    names_of_false_key = _index_tails(_select_names(triplets, asserted))
    tails_of_head: dict[str, list[str]] = defaultdict(list)
    keys_of_head: dict[str, set[str]] = defaultdict(set)
    for head, head_id in _iterate_distinct(triplets, "head", "head_id"):
        keys_of_head[head].update(list_name_keys(head, head_id))
    for head, tail in tested.select("head", "tail").sort("head", "tail").iter_rows():
        tails_of_head[head].append(tail)
    in_pool = frozenset(pool)
    heads = []
    for name, tails in tails_of_head.items():
        own_keys = keys_of_head[name]
        keys = set().union(*(true_keys[key] for key in own_keys))
        true_names = frozenset().union(*(names_of_key[key] for key in keys))
        excluded = true_names.union(*(names_of_key.get(key, ()) for key in own_keys)) & in_pool
        keys_of_false = set().union(*(false_keys.get(key, ()) for key in own_keys)) - keys - own_keys
        false_names = frozenset().union(*(names_of_false_key[key] for key in keys_of_false))
        # A triplet whose head is its tail tests nothing, so it is used only if the head has no other tail.
        own_names = set(list_name_keys(name, None))
        others = [t for t in tails if own_names.isdisjoint(list_name_keys(t, None))]
        heads.append(
            Head(name, tuple(others or tails), excluded, true_names, false_names - excluded - true_names)
        )
    return Candidates(relation, tuple(heads), pool)


def _index_tails(triplets: pl.DataFrame) -> dict[str, set[str]]:
    """Return key (folded name or id) -> the names of the tails that have it."""
    index: dict[str, set[str]] = defaultdict(set)
    for tail, tail_id in _iterate_distinct(triplets, "tail", "tail_id"):
        for key in list_name_keys(tail, tail_id):
            index[key].add(tail)
    return index


def _select_names(*frames: pl.DataFrame) -> pl.DataFrame:
    return pl.concat([frame.select("head", "tail", "head_id", "tail_id") for frame in frames])


def _collect_tail_keys(triplets: pl.DataFrame) -> dict[str, set[str]]:
    """Return key of a head -> the keys of every tail in a row with a head that has that key."""
    index: dict[str, set[str]] = defaultdict(set)
    for head, head_id, tail, tail_id in _iterate_distinct(triplets, "head", "head_id", "tail", "tail_id"):
        for key in list_name_keys(head, head_id):
            index[key].update(list_name_keys(tail, tail_id))
    return index


def _iterate_distinct(triplets: pl.DataFrame, *columns: str) -> Iterable[tuple[str, ...]]:
    return triplets.select(columns).unique().iter_rows()
