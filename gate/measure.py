"""How well the gate tells sound rephrasings from wrong ones that somebody has read and labelled.

The gate has no parameter that is fitted to labelled data, so leaving a relation out changes nothing
in it: what the gate does on that relation alone is what leave-one-relation-out would report. The
word lists were, however, written with the nine relations of the project's labelled set in view.
"""

from collections import Counter
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from gate.check import check_rewordings
from primitives.errors import InputError

COLUMNS = ("relation", "head", "tail", "negative_tail", "polarity", "prototype", "rephrased", "error")
POLARITIES = ("positive", "negative")


@dataclass(frozen=True)
class Confusion:
    """How many rephrasings of each kind of error the gate caught, and how many sound ones it rejected."""

    kinds: Mapping[str, tuple[int, int]]
    """Kind of error -> (how many there are, how many were caught)."""
    n_sound: int
    n_rejected: int

    @property
    def n_wrong(self) -> int:
        """How many are wrong, of whatever kind."""
        return sum(n for n, _ in self.kinds.values())

    @property
    def n_caught(self) -> int:
        """How many of the wrong ones were caught."""
        return sum(n for _, n in self.kinds.values())


@dataclass(frozen=True)
class GateMeasurement:
    """The gate against the labels of one file."""

    overall: Confusion
    relations: Mapping[str, Confusion]
    """Each relation alone: what leaving it out of everything that is fitted would give."""
    others: Mapping[str, Confusion]
    """Relation -> all the others together."""
    reasons: Mapping[str, tuple[int, int]]
    """Reason -> (wrong rephrasings, sound ones) that it was given for."""


@dataclass(frozen=True)
class _Verdict:
    relation: str
    kind: str | None
    reasons: tuple[str, ...]


def measure_gate(path: Path | str) -> GateMeasurement:
    """The gate's verdicts on the labelled rephrasings of a Parquet file, beside what their reader found.

    Raises:
        InputError: if the file cannot be read, lacks a column or holds no row.
    """
    rows = _read_labelled(Path(path))
    verdicts = [
        _Verdict(relation, error.split(":")[0].strip() if error else None, reasons)
        for relation, error, reasons in zip(
            rows["relation"], rows["error"], check_rewordings(rows), strict=True
        )
    ]
    names = sorted({verdict.relation for verdict in verdicts})
    return GateMeasurement(
        overall=_count(verdicts),
        relations={name: _count(v for v in verdicts if v.relation == name) for name in names},
        others={name: _count(v for v in verdicts if v.relation != name) for name in names},
        reasons=_count_reasons(verdicts),
    )


def _read_labelled(path: Path) -> pl.DataFrame:
    """Columns relation, error, statement, text, head, tail: the tail is the one that the statement holds."""
    try:
        rows = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path} is no readable Parquet file of labelled rephrasings: {error}") from error
    if missing := [name for name in COLUMNS if name not in rows.columns]:
        raise InputError(f"{path} lacks {', '.join(missing)}; the columns are {', '.join(COLUMNS)}")
    if rows.is_empty():
        raise InputError(f"{path} holds no rephrasing: give a file with at least one row")
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
    )


def _find_bad_row(rows: pl.DataFrame) -> str | None:
    """What is wrong with the first row that cannot be measured."""
    for name in COLUMNS:
        if name != "error" and rows[name].dtype != pl.String:
            return f"has {rows[name].dtype} in column {name}: give text"
        if name not in ("error", "negative_tail", "tail") and rows[name].null_count():
            return f"has no {name} in row {rows[name].is_null().arg_max()}: every rephrasing needs one"
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
    """The measurement as plain text: by kind of error, by reason, and with one relation left out in turn."""
    overall = measurement.overall
    kinds = [(kind, n, found) for kind, (n, found) in overall.kinds.items()]
    lines = [
        *_render_table(("kind of error", "n", "caught"), [(k, n, _share(f, n)) for k, n, f in kinds]),
        f"sound: {overall.n_sound}, rejected {_share(overall.n_rejected, overall.n_sound)}",
        "",
        *_render_table(
            ("reason", "wrong ones", "sound ones"),
            [(reason, wrong, sound) for reason, (wrong, sound) in measurement.reasons.items()],
        ),
        "",
        "One relation left out in turn (nothing in the gate is fitted to labelled data):",
        *_render_table(
            ("left out", "wrong", "caught", "sound", "rejected", "caught in the others", "rejected there"),
            list(_list_left_out(measurement)),
        ),
    ]
    return "\n".join(lines) + "\n"


def _list_left_out(measurement: GateMeasurement) -> Iterator[tuple[object, ...]]:
    for relation, own in measurement.relations.items():
        rest = measurement.others[relation]
        yield (
            relation,
            own.n_wrong,
            _share(own.n_caught, own.n_wrong),
            own.n_sound,
            _share(own.n_rejected, own.n_sound),
            _share(rest.n_caught, rest.n_wrong),
            _share(rest.n_rejected, rest.n_sound),
        )


def _share(part: int, whole: int) -> str:
    return f"{part} ({part / whole:.1%})" if whole else "none"


def _render_table(header: tuple[str, ...], rows: Iterable[tuple[object, ...]]) -> list[str]:
    table = [header, *(tuple(str(value) for value in row) for row in rows)]
    widths = [max(len(row[i]) for row in table) for i in range(len(header))]
    return [
        "  ".join(f"{cell:<{width}}" for cell, width in zip(row, widths, strict=True)).rstrip()
        for row in table
    ]
