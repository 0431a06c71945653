"""Validation of a stage that is read in parts, because its rows may not fit into memory."""

from collections.abc import Iterable
from functools import partial

import polars as pl

from pretexeval.primitives.process import map_in_threads
from schemas.columns import Stage
from schemas.expectations import count_violations
from tasks.quality.validation import (
    ValidationReport,
    accepts_counts,
    merge_reports,
    require_valid,
    validate_stage,
)

VALIDATION_VERSION = 1
"""Count it up when an expectation of a stage or the report on it changes."""


def validate_parts(stage: Stage, parts: Iterable[pl.DataFrame], context: str) -> ValidationReport:
    """Return one report of a stage; its n_rows leaves out parts that were judged by their counts.

    Great Expectations judges the first part, and every further part in which a row breaks an expectation. Of
    the others, which have the columns of the first one, it judges the counts of all parts at once: judging
    each part by itself took a third of the time of the validation.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    all_rows = iter(parts)
    first = next(all_rows)
    reports = [_require_valid_part(stage, first, context)]
    counts: list[pl.DataFrame] = []
    for rows, counted in map_in_threads(partial(_count_part, stage, first.schema), all_rows):
        if counted is not None and counted["n_unexpected"].sum() == 0:
            counts.append(counted)
        else:
            reports.append(_require_valid_part(stage, rows, context))
    if counts and not accepts_counts(pl.concat(counts)):
        raise RuntimeError(f"Great Expectations refuses counts of zero in stage {stage.name} of {context}")
    return merge_reports(reports)


def _count_part(
    stage: Stage, schema: pl.Schema, rows: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the rows, and how many of them break each expectation; null if they have another schema."""
    return rows, count_violations(stage, rows) if rows.schema == schema else None


def _require_valid_part(stage: Stage, rows: pl.DataFrame, context: str) -> ValidationReport:
    report = validate_stage(stage, rows, context)
    require_valid(report)
    return report
