"""Write and read the sheet that a reviewer fills in: a CSV file that any spreadsheet program opens.

Spreadsheets must not turn a cell into a formula, a number or a date. The filled sheet may have any
delimiter and encoding in which a spreadsheet saves it.
"""

import codecs
import csv
import io
import re
from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.untrusted_text import escape_cell

COLUMNS = ("edition", "reviewer", "question", "row_id", "triplet", "text", "note", "verdict", "comment")
NEEDED = ("edition", "reviewer", "question", "row_id", "verdict")
GRADES = ("reliability", "lexical_diversity", "structural_diversity")
LABEL_IS_RIGHT = "label is right"
WRONG = "wrong"
VERDICTS = {
    **dict.fromkeys(GRADES, ("0", "1", "2", "3", "4", "5")),
    "label": (LABEL_IS_RIGHT, "also_true", "also_false", "undecided"),
    "rewording": ("same", WRONG),
}
"""Question -> what a reviewer may answer to it."""
DELIMITERS = ",;\t"
# The first bytes of xlsx and ods, which are zip files, and of xls.
WORKBOOK_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
# Spreadsheets may save 4 as 4.0, or as 4,0 where the decimal point is a comma.
DECIMALS = re.compile(r"[.,]0*$")


@dataclass(frozen=True)
class SheetRow:
    """A row of a filled sheet: its number, as a spreadsheet shows it, and its cells by column."""

    number: int
    cells: Mapping[str, str]

    @property
    def verdict(self) -> str:
        """The verdict as VERDICTS spells it; empty if there is none."""
        return DECIMALS.sub("", self.cells["verdict"]).casefold()


def render_sheet(rows: Iterable[Mapping[str, str]]) -> bytes:
    """Return a sheet as CSV in UTF-8 with a byte-order mark, by which spreadsheets recognise UTF-8."""
    text = io.StringIO(newline="")
    writer = csv.DictWriter(text, COLUMNS, restval="")
    writer.writeheader()
    for row in rows:
        # A text may have several lines. A triplet is one cell: alone, the gene MARCH1 would become a date.
        writer.writerow({name: "\n".join(map(escape_cell, cell.split("\n"))) for name, cell in row.items()})
    return codecs.BOM_UTF8 + text.getvalue().encode()


def read_sheet(path: Path) -> list[SheetRow]:
    """Return the rows that are not empty, in order.

    Raises:
        InputError: the file is not CSV, has no rows, or a column is missing or occurs twice.
    """
    text = _read_text(path)
    first = text.partition("\n")[0]
    try:
        records = list(csv.reader(io.StringIO(text, newline=""), delimiter=max(DELIMITERS, key=first.count)))
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file ({error}): save the sheet as CSV") from error
    header = [name.strip().lower() for name in records[0]] if records else []
    for name in NEEDED:
        if header.count(name) != 1:
            raise InputError(
                f"{path} has {header.count(name) or 'no'} columns named {name}; it begins with "
                f"{', '.join(header[:4]) or 'nothing'}: use the exported sheet with its first row unchanged"
            )
    rows = []
    for number, record in enumerate(records[1:], 2):
        cells = [cell.strip() for cell in record]
        if any(cells):
            padded = [*cells, *[""] * (len(header) - len(cells))]
            rows.append(SheetRow(number, dict(zip(header, padded, strict=False))))
    if not rows:
        raise InputError(f"{path} has no rows: use the exported sheet, filled in")
    return rows


def find_problems(rows: Iterable[SheetRow], known: Iterable[str]) -> Iterator[str]:
    """Yield what is wrong with the rows of a sheet, with their numbers.

    Args:
        known: the row ids that a sheet of this edition and reviewer may have.
    """
    unseen, seen = set(known), dict[str, int]()
    edition = reviewer = ""
    for row in rows:
        edition, reviewer = edition or row.cells["edition"], reviewer or row.cells["reviewer"]
        row_id, question, place = row.cells["row_id"], row.cells["question"], f"row {row.number}"
        if row.cells["edition"] != edition:
            yield f"{place}, edition: {row.cells['edition']!r} is not {edition!r}"
        elif row.cells["reviewer"] != reviewer:
            yield f"{place}, reviewer: {row.cells['reviewer']!r} is not {reviewer!r}"
        elif row_id in seen:
            yield f"{place}, row_id: {row_id!r} repeats row {seen[row_id]}"
        elif row_id not in unseen:
            yield f"{place}, row_id: {row_id!r} is no row of a sheet of {reviewer!r} about {edition!r}"
        seen.setdefault(row_id, row.number)
        allowed = VERDICTS.get(question, ())
        if row.verdict and row.verdict not in allowed:
            yield f"{place}, verdict: {row.cells['verdict']!r} is none of {', '.join(allowed)}"


def _read_text(path: Path) -> str:
    """Return the text of the file: UTF-8, UTF-16 with a byte-order mark, or else cp1252 of Windows."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if content.startswith(WORKBOOK_STARTS):
        raise InputError(f"{path} is a workbook: open it in a spreadsheet program and save the sheet as CSV")
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_utf16 else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError(f"{path} has an unknown encoding: save the sheet as CSV in UTF-8")
