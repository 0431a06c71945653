"""The hierarchy of a base: pairs of a concept and a more general one, such as "Focal seizure" and "Seizure".

It is a table, or the result of a query, with the columns child_id and parent_id, or child and parent for
names.
"""

from collections.abc import Iterator, Sequence
from pathlib import Path
from typing import Literal

import polars as pl

from pretexeval.knowledge.base import HIERARCHY, UNUSED, LeftOut
from pretexeval.knowledge.names import key_ids, key_names, list_keys
from pretexeval.knowledge.query import is_ontology, read_links, select_columns
from pretexeval.knowledge.rows import list_filled
from pretexeval.knowledge.tables import read_name_table
from pretexeval.primitives.errors import InputError, count_noun

CIRCULAR = "each of these concepts is above all the others"
MIN_KNOWN = 0.2
"""A hierarchy that has a smaller share of the names at each end of each relation is probably useless."""
_IDS = ("child_id", "parent_id")
_NAMES = tuple(HIERARCHY)


def read_hierarchy(
    file: Path, path: Path | None, ends: Sequence[pl.DataFrame]
) -> tuple[pl.DataFrame, tuple[LeftOut, ...], tuple[LeftOut, ...]]:
    """Return the edges above the names of a base, the circles in them, and a note if it has few of the names.

    The edges are distinct pairs of the keys child and parent, sorted. Those within a circle are left out.

    Args:
        file: a table, an ontology, or a query if its extension is .sql.
        path: what the query may read; a table does not need it.
        ends: the columns name and name_id, for each end of each relation.

    Raises:
        InputError: the file cannot be read, or a row lacks an end.
    """
    edges = _read_edges(file, path)
    kept = [edges.clear()]
    keys = [list_keys(names, "name") for names in ends]
    unused = tuple(_describe_unused(file.name, edges, keys))
    reached = pl.concat(keys).select(child="key").unique()
    while not reached.is_empty():
        kept.append(edges.join(reached, on="child", how="semi"))
        edges = edges.join(reached, on="child", how="anti")
        reached = kept[-1].select(child="parent").unique()
    above = pl.concat(kept).sort(pl.all())
    circles = list_groups(above, "strong")
    members = pl.Series([key for circle in circles for key in circle], dtype=pl.String)
    is_circular = pl.all_horizontal(pl.col(name).is_in(members.implode()) for name in _NAMES)
    found = (
        LeftOut(file.name, ", ".join(key.partition(":")[2] for key in circle), CIRCULAR) for circle in circles
    )
    return above.filter(~is_circular), tuple(found), unused


def _describe_unused(where: str, edges: pl.DataFrame, keys: Sequence[pl.DataFrame]) -> Iterator[LeftOut]:
    """Yield a note with an example of both sides if the edges have few of the names at each end.

    Args:
        keys: name and key of the names at each end.
    """
    known = pl.concat([edges["child"], edges["parent"]]).unique().sort()
    is_known = pl.col("key").is_in(known.implode())
    shares = (of_end.filter(is_known)["name"].n_unique() / of_end["name"].n_unique() for of_end in keys)
    if known.is_empty() or any(share >= MIN_KNOWN for share in shares):
        return
    found = pl.concat(keys).unique().sort("name", "key")
    kind, _, example = known[0].partition(":")
    unknown = found.filter(~is_known, pl.col("key").str.starts_with(f"{kind}:"))["key"]
    if len(unknown):
        of_base, remedy = f"'{unknown[0].partition(':')[2]}'", f"write the {kind}s of both alike"
    else:
        columns = "head_id and tail_id, or the hierarchy the columns child and parent with names"
        of_base, remedy = f"no {kind}s", f"give the base the columns {columns}"
    n, n_known = found["name"].n_unique(), found.filter(is_known)["name"].n_unique()
    counts = f"{n_known:,} of {n:,} heads and tails are in it"
    what = f"{counts}; it has {kind}s such as '{example}', and the base has {of_base}: {remedy}"
    yield LeftOut(where, what, UNUSED)


def turn_edges(edges: pl.DataFrame) -> pl.DataFrame:
    """Return the edges from the parent to the child."""
    return edges.select(child="parent", parent="child")


def are_inverse(one: pl.DataFrame, other: pl.DataFrame) -> bool:
    """Return whether most edges of the smaller table are those of the other one turned round."""
    n_turned, n_same = (
        one.join(edges, on=list(HIERARCHY), how="semi").height for edges in (turn_edges(other), other)
    )
    return n_turned > n_same and 2 * n_turned >= min(one.height, other.height)


def join_hierarchies(tables: Sequence[pl.DataFrame]) -> pl.DataFrame:
    """Return the distinct edges of all hierarchies. Of two that are the inverse of each other, one is turned.

    A table is turned, rather than its inverse, if a name in it has more names above it than any has below it.
    """
    ordered = sorted(tables, key=_leads_down)
    found, overlapping = [pl.DataFrame(schema=HIERARCHY)], _list_overlapping(ordered)
    for number, edges in enumerate(ordered):
        before = (other for n, other in enumerate(found[1:]) if (number, n) in overlapping)
        found.append(turn_edges(edges) if any(are_inverse(edges, other) for other in before) else edges)
    return pl.concat(found).unique()


def _list_overlapping(tables: Sequence[pl.DataFrame]) -> set[tuple[int, int]]:
    """Return the pairs of tables, by their numbers, in which edges link the same two names."""
    ends = {"one": pl.min_horizontal(*HIERARCHY), "other": pl.max_horizontal(*HIERARCHY)}
    numbered = [edges.select(**ends, number=pl.lit(n)).unique() for n, edges in enumerate(tables)]
    edges = pl.concat([pl.DataFrame(schema=dict.fromkeys(ends, pl.String) | {"number": pl.Int32}), *numbered])
    return set(edges.join(edges, on=list(ends)).select("number", "number_right").unique().iter_rows())


def _leads_down(edges: pl.DataFrame) -> bool:
    """Return whether a name has more names above it than any has below it."""
    n_parents, n_children = (max(edges[end].value_counts()["count"], default=0) for end in HIERARCHY)
    return bool(n_parents > n_children)


def climb(rows: pl.DataFrame, hierarchy: pl.DataFrame) -> pl.DataFrame:
    """Return the distinct rows, and for each of them a row per concept above its key.

    Args:
        rows: the column key, and others, whose values the further rows repeat; none is null.
        hierarchy: edges, also in circles.
    """
    others = [name for name in rows.columns if name != "key"]
    reached = found = rows.unique()
    while not reached.is_empty():
        parents = reached.join(hierarchy, left_on="key", right_on="child")
        reached = parents.select(*others, key="parent").unique().join(found, on=[*others, "key"], how="anti")
        found = pl.concat([found, reached.select(found.columns)])
    return found


def _read_edges(file: Path, path: Path | None) -> pl.DataFrame:
    """Return all distinct edges as keys, without those from a concept to itself."""
    if file.suffix.lower() == ".sql":
        if path is None:
            raise InputError(f"{file} needs a path of [knowledge], from which the query reads")
        rows = select_columns(file, path, (), (*_IDS, *_NAMES))
    elif is_ontology(file):
        # Terms without a name connect others.
        rows = read_links(file).filter(relation="is_a").select(child_id="head_id", parent_id="tail_id")
    else:
        rows = read_name_table(file, (), (*_IDS, *_NAMES))
    filled = list_filled(rows)
    ends = next((ends for ends in (_IDS, _NAMES) if all(name in filled for name in ends)), None)
    if ends is None:
        raise InputError(f"{file} has no pairs in child_id and parent_id, or in child and parent: add them")
    edges = rows.select(ends).unique()
    is_empty = pl.any_horizontal(pl.col(ends).fill_null("").str.strip_chars() == "")
    if n_empty := edges.filter(is_empty).height:
        raise InputError(
            f"{file}: {count_noun(n_empty, 'row')} without {' or '.join(ends)}: fill them or delete the rows"
        )
    for end, name in zip(ends, _NAMES, strict=True):
        values = edges[end].unique()
        keys = (key_ids(values) if ends == _IDS else key_names(values)).select(pl.nth(0).alias(end), "key")
        edges = edges.join(keys, on=end).rename({"key": f"{name}_key"})
    keyed = edges.select(pl.col(f"{name}_key").alias(name) for name in _NAMES)
    return keyed.filter(pl.col("child") != pl.col("parent")).unique()


def list_groups(edges: pl.DataFrame, connection: Literal["weak", "strong"]) -> list[list[str]]:
    """Return the keys, sorted, of each group of several: those that are connected, or above each other.

    Args:
        edges: the columns child and parent.
        connection: `weak` groups what any edges connect, and `strong` what is above each other.
    """
    # Their import takes 0.2 s, and most bases have no hierarchy.
    from scipy.sparse import coo_array
    from scipy.sparse.csgraph import connected_components

    numbered = pl.concat([edges["child"], edges["parent"]]).unique().sort()
    ends = [edges[name].replace_strict(numbered, range(len(numbered))).to_numpy() for name in _NAMES]
    graph = coo_array(([True] * edges.height, ends), shape=(len(numbered), len(numbered)))
    _, labels = connected_components(graph, directed=True, connection=connection)
    members = pl.DataFrame({"key": numbered, "group": labels}).filter(pl.col("group").is_duplicated())
    return members.group_by("group").agg("key").sort("key")["key"].to_list()
