"""Measure how well the gate separates correct from wrong rephrasings, against labels given by people.

No parameter of the gate is fitted to labelled data, so leaving a relation out does not change the
gate: its result on that relation alone is the result of leave-one-relation-out. However, the authors
of the word lists knew the nine relations of the project's labelled set.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.gate.check import check_rewordings
from pretexeval.primitives.errors import InputError
from report.console import align

COLUMNS = ("relation", "head", "tail", "negative_tail", "polarity", "prototype", "rephrased", "error")
ALIASES = ("head_aliases", "tail_aliases")
"""Optional columns, lists of further names that count as the head or the tail of the statement."""
POLARITIES = ("positive", "negative")


@dataclass(frozen=True)
class Confusion:
    """Counts of the wrong rephrasings that the gate caught and of the sound ones that it rejected."""

    kinds: Mapping[str, tuple[int, int]]
    """Kind of error -> (number of rephrasings, number of those that the gate caught)."""
    n_sound: int
    n_rejected: int

    @property
    def n_wrong(self) -> int:
        """Return the number of wrong rephrasings of all kinds."""
        return sum(n for n, _ in self.kinds.values())

    @property
    def n_caught(self) -> int:
        """Return the number of wrong rephrasings that the gate caught."""
        return sum(n for _, n in self.kinds.values())


@dataclass(frozen=True)
class GateMeasurement:
    """The result of the gate on the labelled rephrasings of one file."""

    overall: Confusion
    relations: Mapping[str, Confusion]
    """Relation -> counts on that relation alone, which equal those of leave-one-relation-out."""
    others: Mapping[str, Confusion]
    """Relation -> counts on all other relations together."""
    reasons: Mapping[str, tuple[int, int]]
    """Reason -> (number of wrong, number of sound rephrasings) rejected for this reason."""


@dataclass(frozen=True)
class _Verdict:
    relation: str
    kind: str | None
    reasons: tuple[str, ...]


def measure_gate(path: Path | str) -> GateMeasurement:
    """Compare the gate's verdicts with the labels of the rephrasings in a Parquet file.

    Raises:
        InputError: if the file cannot be read, lacks a column, has no rows or has an invalid value.
    """
    rows = read_labelled(Path(path))
    return count_verdicts(rows, check_rewordings(rows))


def count_verdicts(rows: pl.DataFrame, reasons: Iterable[tuple[str, ...]]) -> GateMeasurement:
    """Compare the reasons against rewordings with their labels; rows as `read_labelled` returns them."""
    verdicts = [
        _Verdict(relation, error.split(":")[0].strip() if error else None, each)
        for relation, error, each in zip(rows["relation"], rows["error"], reasons, strict=True)
    ]
    names = sorted({verdict.relation for verdict in verdicts})
    return GateMeasurement(
        overall=_count(verdicts),
        relations={name: _count(v for v in verdicts if v.relation == name) for name in names},
        others={name: _count(v for v in verdicts if v.relation != name) for name in names},
        reasons=_count_reasons(verdicts),
    )


def read_labelled(path: Path) -> pl.DataFrame:
    """Return columns relation, error, statement, text, head, tail, and the aliases if the file has them.

    The tail is the one in the statement.

    Raises:
        InputError: if the file cannot be read, lacks a column, has no rows or has an invalid value.
    """
    try:
        rows = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} is not a readable Parquet file of rephrasings: {error}") from error
    if missing := [name for name in COLUMNS if name not in rows.columns]:
        raise InputError(f"{path} lacks {', '.join(missing)}; the columns are {', '.join(COLUMNS)}")
    if rows.is_empty():
        raise InputError(f"{path} contains no rephrasings: give a file with at least one row")
    if problem := _find_bad_row(rows):
        raise InputError(f"{path} {problem}")
    is_positive = pl.col("polarity") == "positive"
    return rows.select(
        "relation",
        pl.col("error").cast(pl.String),
        pl.col("prototype").alias("statement"),
        pl.col("rephrased").alias("text"),
        "head",
        pl.when(is_positive).then("tail").otherwise("negative_tail").alias("tail"),
        *(name for name in ALIASES if name in rows.columns),
    )


def list_names(row: Mapping[str, Any]) -> tuple[Sequence[str], Sequence[str]]:
    """Return the names of the head and of the tail; the first is the one in the statement."""
    heads, tails = ((row[side], *(row.get(f"{side}_aliases") or ())) for side in ("head", "tail"))
    return heads, tails


def _find_bad_row(rows: pl.DataFrame) -> str | None:
    """Return what is wrong with the first invalid column or row; None if all are valid."""
    for name in COLUMNS:
        if name != "error" and rows[name].dtype != pl.String:
            return f"has {rows[name].dtype} in column {name}: give text"
        if name not in ("error", "negative_tail", "tail") and rows[name].null_count():
            return f"has no {name} in row {rows[name].is_null().arg_max()}: every rephrasing needs one"
    for name in ALIASES:
        if name in rows.columns and rows[name].dtype not in (pl.List(pl.String), pl.List(pl.Null)):
            return f"has {rows[name].dtype} in column {name}: give lists of text"
    unknown = rows.filter(~pl.col("polarity").is_in(POLARITIES))
    if len(unknown):
        return f"has the polarity {unknown['polarity'][0]!r}; allowed: {', '.join(POLARITIES)}"
    return None


def _count(verdicts: Iterable[_Verdict]) -> Confusion:
    kinds: Counter[str] = Counter()
    caught: Counter[str] = Counter()
    n_sound = n_rejected = 0
    for verdict in verdicts:
        if verdict.kind is None:
            n_sound += 1
            n_rejected += bool(verdict.reasons)
        else:
            kinds[verdict.kind] += 1
            caught[verdict.kind] += bool(verdict.reasons)
    return Confusion({kind: (kinds[kind], caught[kind]) for kind in sorted(kinds)}, n_sound, n_rejected)


def _count_reasons(verdicts: Iterable[_Verdict]) -> dict[str, tuple[int, int]]:
    counts: dict[str, list[int]] = {}
    for verdict in verdicts:
        for reason in verdict.reasons:
            counts.setdefault(reason, [0, 0])[verdict.kind is None] += 1
    return {reason: (wrong, sound) for reason, (wrong, sound) in sorted(counts.items())}


def render_measurement(measurement: GateMeasurement) -> str:
    """Return the measurement as plain text: by kind of error, by reason, and with each relation left out."""
    overall = measurement.overall
    kinds = [[kind, str(n), render_share(found, n)] for kind, (n, found) in overall.kinds.items()]
    reasons = [[reason, str(wrong), str(sound)] for reason, (wrong, sound) in measurement.reasons.items()]
    left_out = ("left out", "wrong", "caught", "sound", "rejected", "caught in the others", "rejected there")
    lines = [
        align(("kind of error", "n", "caught"), kinds),
        f"sound: {overall.n_sound}, rejected {render_share(overall.n_rejected, overall.n_sound)}",
        "",
        align(("reason", "wrong ones", "sound ones"), reasons),
        "",
        "One relation left out in turn (nothing in the gate is fitted to labelled data):",
        align(left_out, list(_list_left_out(measurement))),
    ]
    return "\n".join(lines) + "\n"


def _list_left_out(measurement: GateMeasurement) -> Iterator[list[str]]:
    for relation, own in measurement.relations.items():
        rest = measurement.others[relation]
        yield [
            relation,
            str(own.n_wrong),
            render_share(own.n_caught, own.n_wrong),
            str(own.n_sound),
            render_share(own.n_rejected, own.n_sound),
            render_share(rest.n_caught, rest.n_wrong),
            render_share(rest.n_rejected, rest.n_sound),
        ]


def render_share(part: int, whole: int) -> str:
    """Return a count with its share, or `none` of nothing."""
    return f"{part} ({part / whole:.1%})" if whole else "none"
