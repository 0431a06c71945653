"""Read the filled sheet of a draft: what the reviewer accepted and rewrote becomes the pool's table."""

from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

from drafting.cells import Draft, DraftedCell
from drafting.reviewed_cells import check_reviewed
from drafting.reviewed_file import read_draft, write_reviewed
from primitives.errors import InputError
from prototypes.checks import check_cells
from review.export import require_grader_name
from review.sheet import SheetRow, read_sheet
from schemas.transformations import NAMES

REQUIRED = ("relation", "row_id", "text", "by", "is_good", "correction")
VERDICTS = ("yes", "no")


def import_draft(sheet: Path, pool: Path, reviewer: str) -> Draft:
    """Write the reviewed texts into the pool, and return them; a rejected cell is marked.

    If all eight are accepted, the table is no draft any more, and says who reviewed it.

    Raises:
        InputError: a cell of the sheet is wrong, or a text fails a check (the message lists all); or the
            pool has no such draft. Nothing is written then.
    """
    require_grader_name(reviewer)
    rows = read_sheet(sheet, REQUIRED)
    relation = next((row.cells["relation"] for row in rows), "")
    table = read_draft(pool, relation)
    found = {name: _list_texts(table.get(name)) for name in NAMES}
    _require(sheet, _check_rows(rows, relation, found))
    accepted = {row.cells["row_id"]: cell for row in rows if (cell := _accept(row, reviewer))}
    draft = check_reviewed(relation, accepted, reviewer)
    texts = {
        name: [cell.text, *found[name][1:]] for name, cell in draft.cells.items() if cell.text is not None
    }
    _require(sheet, _check_texts(draft, texts))
    write_reviewed(pool, draft, texts, table.get("instance"), reviewer)
    return draft


def _require(sheet: Path, problems: Iterator[str]) -> None:
    if listed := list(problems):
        lines = "\n  ".join(listed)
        raise InputError(f"{sheet}: nothing was written, correct {len(listed)} places:\n  {lines}")


def _list_texts(value: object) -> list[str]:
    return [value] if isinstance(value, str) else list(value) if isinstance(value, list) else []


def _check_rows(rows: Sequence[SheetRow], relation: str, found: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield the problems of the sheet, with the row numbers of the spreadsheet."""
    seen: set[str] = set()
    for row in rows:
        name = row.cells["row_id"]
        if row.cells["relation"] != relation:
            yield f"row {row.number}, relation: {row.cells['relation']!r} is not {relation!r}"
        if row.has_extra_cells:
            yield f"row {row.number}: there is text beyond the last column: move it to the column comment"
        if name in seen or name not in NAMES:
            yield f"row {row.number}, row_id: {name!r} is {'repeated' if name in seen else 'no cell'}"
        else:
            seen.add(name)
            yield from _check_verdict(row, found[name])
    for name in NAMES:
        if name not in seen:
            yield f"row_id {name} is missing: copy its row from the first sheet"


def _check_verdict(row: SheetRow, found: Sequence[str]) -> Iterator[str]:
    name, verdict = row.cells["row_id"], row.cells["is_good"].lower()
    text, correction = row.cells["text"], row.cells["correction"]
    if verdict not in VERDICTS:
        yield f"row {row.number}, is_good: {verdict!r} is not one of {', '.join(VERDICTS)}"
    elif verdict == "yes" and not (text or correction):
        yield f"row {row.number}, correction: is missing, and there is no text to accept"
    elif name == "none" and verdict == "no" and not correction:
        yield f"row {row.number}, correction: is missing: the other texts are compared with this one"
    if found and found[0] not in (text, correction):
        yield f"row {row.number}, text: the pool now says {found[0]!r}: write what is right into correction"


def _accept(row: SheetRow, reviewer: str) -> DraftedCell | None:
    """Return the text that the reviewer wrote or called right; null if the cell is rejected."""
    name = row.cells["row_id"]
    if correction := row.cells["correction"]:
        return DraftedCell(name, correction, reviewer)
    is_good = row.cells["is_good"].lower() == "yes"
    return DraftedCell(name, row.cells["text"], row.cells["by"]) if is_good else None


def _check_texts(draft: Draft, texts: Mapping[str, list[str]]) -> Iterator[str]:
    """Yield what the checks of drafts and of the pool say against the accepted texts."""
    failed = {name: cell.marks for name, cell in draft.cells.items() if cell.text is not None and cell.marks}
    for name, marks in failed.items():
        yield f"row_id {name}: {'; '.join(marks)}: correct it, or write no into is_good"
    if not failed:
        yield from check_cells(dict(texts))
