"""Load what the validation of stages found.

The reports on the stages of editions and on reviews are in the folder `checks` of the root. The reports on
measurements and evaluations are in the records of these.
"""

from collections.abc import Iterable, Iterator, Sequence
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.layout import checks_record, diversity_record, guesses_record
from pretexeval.storage.records import find_record, key_content, read_manifest_files, read_reports, set_aside
from schemas.stages import EDITION_STAGES, HUMAN_VERDICTS
from warehouse.sources import list_reviews

Report = dict[str, Any]
NEEDED = {"stage", "content", "n_rows", "checks"}
REMEDY = "the next build validates the stage again"
COLUMNS = {
    "edition_id": pl.String,
    "model_id": pl.String,
    "setting": pl.String,
    "stage": pl.String,
    "expectation": pl.String,
    "checked_columns": pl.String,
    "requirement": pl.String,
    "is_passed": pl.Boolean,
    "n_rows": pl.Int64,
    "n_unexpected": pl.Int64,
    "checked_at": pl.String,
}
INSERT = """
insert into checks by name
select found.* replace (checked_at::timestamptz at time zone 'UTC' as checked_at), models.name as model
from found
left join models using (model_id)
order by edition_id, stage, expectation, checked_columns, requirement
"""


def load_checks(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert one row per expectation of the stages of an edition, and of what was measured on it."""
    reports = [*_read_reports(root, edition_id)]
    for record in (diversity_record(edition_id), guesses_record(edition_id)):
        reports += read_reports(root / record)
    insert_reports(connection, (edition_id, None, None), reports)


def insert_reports(
    connection: duckdb.DuckDBPyConnection, ids: tuple[str, str | None, str | None], reports: Iterable[Report]
) -> None:
    """Insert one row per expectation.

    Args:
        ids: the edition; the model and the setting for the stages of an evaluation.
    """
    rows = [(*ids, *row) for report in reports for row in _list_rows(report)]
    connection.register("found", pl.DataFrame(rows, COLUMNS, orient="row").to_arrow())
    connection.execute(INSERT)
    connection.unregister("found")


def _read_reports(root: Path, edition_id: str) -> Iterator[Report]:
    """Yield the reports on the stages of an edition and on its reviews; damaged ones are set aside."""
    listed = read_manifest_files(root, edition_id)
    for stage in EDITION_STAGES:
        files = [ref.sha256 for path, ref in listed.items() if f"/{stage.name}/" in path]
        yield from _read_report(root / checks_record(edition_id, stage.name), stage.name, files)
    for path in list_reviews(root, edition_id):
        name = f"{HUMAN_VERDICTS.name}-{path.stem}"
        files = [checksum_file(path)]
        yield from _read_report(root / checks_record(edition_id, name), HUMAN_VERDICTS.name, files)


def _read_report(path: Path, stage: str, checksums: Sequence[str]) -> Iterator[Report]:
    """Yield the report of a record if it is about files with these checksums."""
    report = find_record(path, REMEDY)
    if report is None:
        return
    if not report.keys() >= NEEDED:
        set_aside(path, "it is no report of a validation", REMEDY)
    elif report["content"] == key_content(stage, checksums):
        yield report


def _list_rows(report: Report) -> list[tuple[Any, ...]]:
    return [
        (
            report["stage"],
            check["expectation"],
            check["column"],
            check["meaning"],
            check["success"],
            report["n_rows"],
            check["n_unexpected"],
            report["checked_at"],
        )
        for check in report["checks"]
    ]
