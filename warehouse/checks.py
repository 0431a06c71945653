"""Load what the validation of stages found.

The reports on the stages of editions and on grades are in the cache. They belong to every edition with the
same rows, which may have none. The reports on measurements and evaluations are in the records of these.
"""

from collections.abc import Iterable, Iterator, Mapping
from pathlib import Path
from typing import Any

import duckdb
import polars as pl

from primitives.hashing import checksum_file
from schemas.stages import EDITION_STAGES, HUMAN_GRADES
from storage.layout import VALIDATIONS_FOLDER, diversity_record, freshness_record, guesses_record
from storage.manifests import find_manifest, key_content
from storage.records import find_record, read_reports, set_aside
from warehouse.appraisals import list_grades
from warehouse.catalogue import insert_row
from warehouse.records import parse_time

Report = dict[str, Any]
NEEDED = {"stage", "context", "n_rows", "checks"}
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
insert into {table}
select * replace (checked_at::timestamptz at time zone 'UTC' as checked_at)
from found
order by edition_id, stage, expectation, checked_columns, requirement
"""


def load_checks(connection: duckdb.DuckDBPyConnection, root: Path) -> None:
    """Insert one row per loaded edition, stage and expectation, for the stages with a report.

    Of several reports about the same rows, the first counts: the one that was made with the edition.
    """
    reports = _read_reports(root)
    for (edition_id,) in connection.execute("select edition_id from editions").fetchall():
        of_edition = [*_select_reports(reports, root, edition_id), *_read_measured(reports, root, edition_id)]
        insert_reports(connection, "edition_checks", {"edition_id": edition_id}, of_edition)


def load_freshness_limit(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Insert the least share of new texts of an edition, if it has a record. A damaged one is set aside."""
    path = root / freshness_record(edition_id)
    remedy = "the next publication of the edition writes it again"
    if record := find_record(path, remedy, edition_id=edition_id):
        checked_at = parse_time(path, record, "checked_at")
        insert_row(connection, "storage.freshness_limits", [edition_id, record["min_new_texts"], checked_at])


def insert_reports(
    connection: duckdb.DuckDBPyConnection, table: str, key: Mapping[str, str], reports: Iterable[Report]
) -> None:
    """Insert one row per expectation into a table of the schema `storage`.

    Args:
        key: edition_id; with model_id and setting for the stages of an evaluation.
    """
    ids = [key.get(name) for name in ("edition_id", "model_id", "setting")]
    rows = [(*ids, *row) for report in reports for row in _list_rows(report)]
    connection.register("found", pl.DataFrame(rows, COLUMNS, orient="row").to_arrow())
    connection.execute(INSERT.format(table=f"storage.{table}"))
    connection.unregister("found")


def _read_reports(root: Path) -> dict[tuple[str, str], Report]:
    """Return (stage, key of its content) -> report; older reports are under the edition that they name.

    Damaged reports are set aside.
    """
    reports = []
    for path in sorted((root / VALIDATIONS_FOLDER).glob("*.json")):
        report = find_record(path, REMEDY, key=path.stem)
        if report is not None and not report.keys() >= NEEDED:
            set_aside(path, "it is no report of a validation", REMEDY)
        elif report is not None:
            reports.append(report)
    latest_first = sorted(reports, key=lambda report: report.get("checked_at") or "", reverse=True)
    return {(report["stage"], report.get("content") or report["context"]): report for report in latest_first}


def _select_reports(reports: dict[tuple[str, str], Report], root: Path, edition_id: str) -> list[Report]:
    manifest = find_manifest(root, edition_id) or {}
    selected = []
    for stage in EDITION_STAGES:
        files = [f for path, f in manifest.get("files", {}).items() if path.startswith(f"{stage.name}/")]
        content = key_content(stage.name, [file["sha256"] for file in files])
        report = reports.get((stage.name, content)) or reports.get((stage.name, edition_id))
        if report and report["n_rows"] == sum(file["rows"] for file in files):
            selected.append(report)
    return selected


def _read_measured(
    reports: Mapping[tuple[str, str], Report], root: Path, edition_id: str
) -> Iterator[Report]:
    """Yield the reports on what was measured on an edition, and on its grades."""
    for record in (diversity_record(edition_id), guesses_record(edition_id)):
        yield from read_reports(root / record)
    for path in list_grades(root, edition_id):
        content = key_content(HUMAN_GRADES.name, [checksum_file(path)])
        if report := reports.get((HUMAN_GRADES.name, content)):
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
            report.get("checked_at"),
        )
        for check in report["checks"]
    ]
