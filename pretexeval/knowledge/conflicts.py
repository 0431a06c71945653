"""Rows that say different things about a triplet: which of them count, and which contradict each other.

The verdict of a person outweighs the rows of the base, and a row marked undecided outweighs the other rows
of its triplet. Two rows contradict each other if one of them is marked also_false and the other one is not.
Names are compared folded and by their aliases; heads or tails with the same id are the same.
"""

from collections import Counter
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.names import CELLS, SIDES, AliasTable, list_keys, pair_same_triplets
from pretexeval.knowledge.rows import (
    LEFT_OUT_ROWS,
    MARKS,
    N_SHOWN,
    PLACE,
    SHORT_PLACE,
    Source,
    build_source_rows,
    clean_rows,
)
from pretexeval.knowledge.tables import read_table
from pretexeval.primitives.errors import InputError, count_noun

BY_VERDICT = "a verdict says something else"
BY_UNDECIDED = "another row marks the triplet as undecided"
NOT_NAMED = "a verdict on a relation, head or tail that the base does not have"
CONTRADICTED = "true, and marked also_false"


@dataclass(frozen=True)
class SettledRows:
    """Rows without contradictions. Undecided triplets are marked also_true, so that they are never asked."""

    rows: pl.DataFrame
    outweighed: pl.DataFrame
    """Rows that do not count, with the columns of ``LEFT_OUT_ROWS``."""
    conflicts: tuple[LeftOut, ...]
    """Pairs of rows that contradict each other, sorted. Their triplets are undecided."""


def read_verdicts(path: Path) -> pl.DataFrame:
    """Return the verdicts of a table as clean rows of a base, each of which has one of the marks.

    Raises:
        InputError: the table cannot be read, a row is wrong, or two verdicts differ; the message names them.
    """
    table = read_table(path, ("relation", "head", "tail", "verdict"), ("head_id", "tail_id"))
    verdict = pl.col("verdict").fill_null("").str.strip_chars()
    wrong = pl.when(~verdict.is_in(MARKS)).then(
        pl.format("the verdict is '{}': write " + ", ".join(MARKS[:-1]) + f" or {MARKS[-1]}", verdict)
    )
    marked = [pl.when(verdict == mark).then(pl.lit("true")).alias(mark) for mark in MARKS]
    rows = table.with_columns(*marked, problem=pl.coalesce("problem", wrong)).drop("verdict")
    verdicts = clean_rows(Source(build_source_rows(path, rows))).rows
    pairs = pair_same_triplets(verdicts, verdicts)
    others = verdicts.select(MARKS)[pairs["other_row"]]
    is_other = (
        (verdicts.select(MARKS)[pairs["row"]] != others).select(pl.any_horizontal(pl.all())).to_series()
    )
    if is_other.any():
        places = verdicts[pairs.filter(is_other)["row"].unique().sort()].select(PLACE).to_series()
        raise InputError(f"{', '.join(places[:N_SHOWN])}: the verdicts on a triplet differ: keep one of them")
    return verdicts


def settle_rows(rows: pl.DataFrame, aliases: AliasTable, verdicts: pl.DataFrame | None) -> SettledRows:
    """Return the clean rows and the verdicts that count, without contradictions."""
    outweighed = [rows.clear().with_columns(reason=pl.lit("")).select(LEFT_OUT_ROWS)]
    if verdicts is not None:
        is_named = _list_named(verdicts, rows)
        outweighed.append(_name_reason(verdicts.filter(~is_named), NOT_NAMED))
        verdicts = verdicts.filter(is_named)
        pairs = pair_same_triplets(rows, verdicts, aliases)
        own, other = rows[pairs["row"]], verdicts[pairs["other_row"]]
        # A fact that a person finds to be true agrees with its row, and stays under test.
        is_outweighed = (own["also_false"] != other["also_false"]) | (own["undecided"] != other["undecided"])
        kept, lost = _split(rows, pairs.filter(is_outweighed)["row"])
        outweighed.append(_name_reason(lost, BY_VERDICT))
        rows = pl.concat([kept, verdicts.select(rows.columns)])
    if rows["undecided"].any():
        undecided, others = rows.filter("undecided"), rows.filter(~pl.col("undecided"))
        kept, lost = _split(others, pair_same_triplets(others, undecided, aliases)["row"])
        outweighed.append(_name_reason(lost, BY_UNDECIDED))
        rows = pl.concat([kept, undecided.with_columns(also_true=True)])
    rows, conflicts = _settle_contradictions(rows.drop("undecided"), aliases)
    return SettledRows(rows, pl.concat(outweighed), conflicts)


def _list_named(verdicts: pl.DataFrame, rows: pl.DataFrame) -> pl.Series:
    """Return for each verdict whether its head and its tail are names or ids of its relation in the rows."""
    found = pl.Series([True]).new_from_index(0, verdicts.height)
    for relation in verdicts["relation"].unique():
        is_chosen = pl.col("relation") == relation
        for side in SIDES:
            known = list_keys(rows.filter(is_chosen), side)["key"].unique()
            keys = list_keys(verdicts.filter(is_chosen), side)
            named = keys.filter(pl.col("key").is_in(known.implode()))["name"]
            found &= verdicts.select(~is_chosen | pl.col(side).is_in(named.implode())).to_series()
    return found


def _split(rows: pl.DataFrame, positions: pl.Series) -> tuple[pl.DataFrame, pl.DataFrame]:
    """Return the rows that are not at the positions, and those that are."""
    is_chosen = pl.int_range(pl.len()).is_in(positions.unique().implode())
    return rows.filter(~is_chosen), rows.filter(is_chosen)


def _name_reason(rows: pl.DataFrame, reason: str) -> pl.DataFrame:
    return rows.with_columns(reason=pl.lit(reason)).select(LEFT_OUT_ROWS)


def _settle_contradictions(
    rows: pl.DataFrame, aliases: AliasTable
) -> tuple[pl.DataFrame, tuple[LeftOut, ...]]:
    """Return the rows, with those that contradict each other marked also_true, and the conflicts."""
    if not rows["also_false"].any():
        return rows, ()
    false_rows, true_rows = rows.filter("also_false"), rows.filter(~pl.col("also_false"))
    pairs = pair_same_triplets(false_rows, true_rows, aliases)
    kept_false, lost_false = _split(false_rows, pairs["row"])
    kept_true, lost_true = _split(true_rows, pairs["other_row"])
    undecided = pl.concat([lost_true, lost_false]).unique(CELLS, maintain_order=True)
    marked = undecided.with_columns(also_true=True, also_false=False)
    settled = pl.concat([kept_false, kept_true, marked])
    shown = [
        rows.select("relation", triplet=_show_triplet(), place=SHORT_PLACE).with_row_index("row")
        for rows in (false_rows, true_rows)
    ]
    places = pl.concat_list("place", "place_other").list.unique(maintain_order=True).list.join(" and ")
    found = (
        pairs.join(shown[0], on="row")
        .join(shown[1], left_on="other_row", right_on="row", suffix="_other")
        .select(
            "row",
            where=places,
            what=pl.format("{}: {} is false, {} is true", "relation", "triplet", "triplet_other"),
        )
        .sort("what", "where")
        .unique("row", keep="first", maintain_order=True)
        .drop("row")
        .unique(maintain_order=True)
    )
    return settled, tuple(LeftOut(where, what, CONTRADICTED) for where, what in found.iter_rows())


def _show_triplet() -> pl.Expr:
    """Return an expression for a triplet as text, with its ids in brackets."""
    shown = (pl.col(side) + pl.format(" [{}]", f"{side}_id").fill_null("") for side in SIDES)
    return pl.concat_str(*shown, separator=" → ")


def describe_conflicts(conflicts: Sequence[LeftOut]) -> str:
    """Return one message with all kinds of conflicts, their numbers, and the first conflicts of each kind."""
    lines = [
        f"the knowledge base contradicts itself in {count_noun(len(conflicts), 'place')}: correct it, "
        'decide by verdicts of [knowledge], or set conflicts = "leave_out" there'
    ]
    for reason, n in sorted(Counter(conflict.reason for conflict in conflicts).items()):
        shown = [f"{each.where}: {each.what}" for each in conflicts if each.reason == reason][:N_SHOWN]
        rest = [f"and {n - N_SHOWN} more"] if n > N_SHOWN else []
        lines += [f"  {reason}: {n}", *(f"    {line}" for line in (*shown, *rest))]
    return "\n".join(lines)
