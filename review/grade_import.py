"""Import the grades of one grader from a filled sheet, after a check of every cell."""

import re
from collections import Counter
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from primitives.errors import InputError
from review.export import FILE_NAME, ReviewKey, locate_review_folder, read_key, require_grader_name
from review.sheet import GRADES, SheetRow, read_sheet
from schemas.stages import HUMAN_GRADES
from storage.files import write_stage_file
from storage.layout import checks_record
from storage.manifests import key_content
from storage.records import write_record
from tasks.quality.validation import check_stage

HIGHEST_GRADE = 5
# Spreadsheets may save 4 as 4.0, or as 4,0 where the decimal point is a comma.
_WHOLE = re.compile(r"([+-]?[0-9]{1,9})(?:[.,]0*)?")


def import_review(root: Path, path: Path, grader: str, edition_id: str | None = None) -> Path:
    """Check a filled sheet, write `reviews/<edition_id>/<grader>.parquet` and return its path.

    Earlier grades of the same grader are replaced.

    Args:
        edition_id: the edition that the sheet must belong to; by default the one that the sheet names.

    Raises:
        InputError: if a cell is missing, repeated or wrong; the message lists all of them, and nothing
            is written.
    """
    require_grader_name(grader)
    rows = read_sheet(path)
    edition_id = _require_edition(path, rows, edition_id)
    key = read_key(root, edition_id)
    if grader not in key.graders:
        raise InputError(
            f"no sheet of {edition_id} was exported for {grader!r}, only for "
            f"{', '.join(sorted(key.graders))}: name the grader whose sheet this is"
        )
    if problems := list(find_problems(rows, key, grader)):
        listed = "\n  ".join(problems)
        raise InputError(f"{path}: nothing was imported, correct {len(problems)} places:\n  {listed}")
    target = locate_review_folder(root, edition_id).relative_to(root) / f"{grader}.parquet"
    grades = _build_grades(rows, key, grader)
    check = check_stage(HUMAN_GRADES, grades, f"{grader} on {edition_id}")
    file = write_stage_file(root, str(target), grades, HUMAN_GRADES, has_page_checksums=True)
    content = key_content(HUMAN_GRADES.name, [file.sha256])
    record = checks_record(edition_id, f"{HUMAN_GRADES.name}-{grader}")
    write_record(root / record, {**check, "content": content})
    return root / target


def _require_edition(path: Path, rows: Sequence[SheetRow], edition_id: str | None) -> str:
    """Return the edition that most rows name; `find_problems` reports rows of another edition."""
    named = Counter(row.cells["edition"] for row in rows if row.cells["edition"])
    if not named:
        raise InputError(f"{path} names no edition in its rows: use the exported sheet, filled in")
    found = named.most_common(1)[0][0]
    if not FILE_NAME.fullmatch(found):
        raise InputError(
            f"{path} names the edition {found!r}, which is not a valid id: use the exported sheet"
        )
    if edition_id not in (None, found):
        raise InputError(
            f"{path} is a sheet of edition {found!r}, not of {edition_id!r}: use a sheet that was "
            f"exported from {edition_id!r}"
        )
    return found


def find_problems(rows: Sequence[SheetRow], key: ReviewKey, grader: str) -> Iterator[str]:
    """Yield one message per problem, with the row number of the spreadsheet and the column."""
    expected = key.graders[grader]
    first: dict[str, int] = {}
    for row in rows:
        row_id = row.cells["row_id"]
        if row.cells["edition"] != key.edition_id:
            yield f"row {row.number}, edition: {row.cells['edition']!r} is not {key.edition_id!r}"
        if row.has_extra_cells:
            yield f"row {row.number}: there is text beyond the last column: move it to the column comment"
        if row_id in expected and row_id not in first:
            first[row_id] = row.number
            yield from _check_grades(row)
        else:
            yield f"row {row.number}, row_id: {_describe_unexpected_id(row_id, first, key)}"
    for row_id in expected:
        if row_id not in first:
            yield f"row_id {row_id} is missing: copy its row from the exported sheet, and grade it"


def _describe_unexpected_id(row_id: str, first: Mapping[str, int], key: ReviewKey) -> str:
    if not row_id:
        return "is missing"
    if row_id in first:
        return f"{row_id!r} repeats row {first[row_id]}"
    if owners := [name for name, rows in key.graders.items() if row_id in rows]:
        return f"{row_id!r} belongs to the sheet of {owners[0]!r}"
    return f"{row_id!r} is not a row of this sheet"


def _check_grades(row: SheetRow) -> Iterator[str]:
    for name in GRADES:
        if problem := _check_grade(row.cells[name]):
            yield f"row {row.number}, {name}: {problem}"


def _check_grade(cell: str) -> str | None:
    if not cell:
        return "is missing"
    whole = _WHOLE.fullmatch(cell)
    if whole is None:
        return f"{cell!r} is not a whole number"
    return None if 0 <= int(whole[1]) <= HIGHEST_GRADE else f"{cell} is not between 0 and {HIGHEST_GRADE}"


def _build_grades(rows: Sequence[SheetRow], key: ReviewKey, grader: str) -> pl.DataFrame:
    hidden = key.graders[grader]
    graded = [
        {
            "edition_id": key.edition_id,
            "triplet_id": hidden[row.cells["row_id"]].triplet_id,
            "method": hidden[row.cells["row_id"]].method,
            "grader": grader,
            **{name: int(float(row.cells[name].replace(",", "."))) for name in GRADES},
            "comment": row.cells.get("comment") or None,
        }
        for row in rows
    ]
    schema = pl.DataFrame(HUMAN_GRADES.schema.empty_table()).schema
    return pl.DataFrame(graded, schema=schema).sort("triplet_id", "method")
