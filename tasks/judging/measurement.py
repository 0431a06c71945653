"""Measure how well the gate separates correct from wrong rephrasings, against labels given by people.

No parameter of the gate is fitted to labelled data, so its result on a relation alone is also the result of
leaving that relation out. However, the authors of the word lists knew the nine relations of the project's
labelled set.
"""

from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.gate.check import check_rewordings
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import read_parquet
from report.console import align
from tasks.judging.writer_errors import count_lost_names

COLUMNS = ("relation", "head", "tail", "negative_tail", "polarity", "prototype", "rephrased", "error")
ALIASES = ("head_aliases", "tail_aliases")
"""Optional columns, lists of further names that count as the head or the tail of the statement."""
POLARITIES = ("positive", "negative")


@dataclass(frozen=True)
class GateMeasurement:
    """The wrong rephrasings that the gate caught, and the sound ones that it rejected."""

    kinds: pl.DataFrame
    """One row per kind of error: kind, n_wrong, n_caught."""
    relations: pl.DataFrame
    """One row per relation: relation, n_wrong, n_caught, n_sound, n_rejected."""
    reasons: pl.DataFrame
    """One row per reason: reason, and how many wrong and sound ones it rejects (n_wrong, n_sound)."""
    n_only_name_lost: int
    """Sound ones that were rejected for nothing but a missing name: aliases would save them."""


def measure_gate(path: Path) -> GateMeasurement:
    """Compare the gate's verdicts with the labels of the rephrasings in a Parquet file.

    Raises:
        InputError: if the file cannot be read, lacks a column, has no rows or has an invalid value.
    """
    rows = read_labelled(path)
    reasons = pl.Series(list(map(list, check_rewordings(rows))), dtype=pl.List(pl.String))
    kind = pl.col("error").replace("", None).str.split(":").list.first().str.strip_chars()
    verdicts = rows.select("relation", kind=kind, reason=reasons)
    is_wrong, is_rejected = pl.col("kind").is_not_null(), pl.col("reason").list.len() > 0
    n_wrong, n_sound = is_wrong.sum(), is_wrong.not_().sum()
    n_caught, n_rejected = (is_wrong & is_rejected).sum(), (is_wrong.not_() & is_rejected).sum()
    of_kinds = verdicts.filter(is_wrong).group_by("kind").agg(n_wrong=n_wrong, n_caught=n_caught)
    of_relations = verdicts.group_by("relation").agg(
        n_wrong=n_wrong, n_caught=n_caught, n_sound=n_sound, n_rejected=n_rejected
    )
    each = verdicts.explode("reason").drop_nulls("reason")
    of_reasons = each.group_by("reason").agg(n_wrong=n_wrong, n_sound=n_sound)
    n_lost = count_lost_names(verdicts.filter(~is_wrong)["reason"].to_list())
    return GateMeasurement(
        of_kinds.sort("kind"), of_relations.sort("relation"), of_reasons.sort("reason"), n_lost
    )


def read_labelled(path: Path) -> pl.DataFrame:
    """Return columns relation, error, statement, text, head, tail, and the aliases if the file has them.

    The tail is the one in the statement.

    Raises:
        InputError: if the file cannot be read, lacks a column, has no rows or has an invalid value.
    """
    try:
        rows = read_parquet(path)
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


def render_measurement(measurement: GateMeasurement) -> str:
    """Return the measurement as plain text: by kind of error, by reason, and by relation."""
    n_sound, n_rejected = measurement.relations.select("n_sound", "n_rejected").sum().row(0)
    kinds = [[kind, str(n), render_share(found, n)] for kind, n, found in measurement.kinds.iter_rows()]
    reasons = [[reason, *map(str, counts)] for reason, *counts in measurement.reasons.iter_rows()]
    relations = [
        [name, str(wrong), render_share(caught, wrong), str(sound), render_share(rejected, sound)]
        for name, wrong, caught, sound, rejected in measurement.relations.iter_rows()
    ]
    lines = [
        align(("kind of error", "n", "caught"), kinds),
        f"sound: {n_sound}, rejected {render_share(n_rejected, n_sound)}",
        f"rejected only because a name is missing, which aliases would save: {measurement.n_only_name_lost}",
        "",
        align(("reason", "wrong ones", "sound ones"), reasons),
        "",
        align(("relation", "wrong", "caught", "sound", "rejected"), relations),
    ]
    return "\n".join(lines) + "\n"


def render_share(part: int, whole: int) -> str:
    """Return a count with its share, or `none` of nothing."""
    return f"{part} ({part / whole:.1%})" if whole else "none"
