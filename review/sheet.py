"""The sheet that a doctor fills: a CSV file that any spreadsheet opens.

Safe both ways: no cell is taken for a formula, a number or a date, and what comes back is read in any
delimiter and encoding that a spreadsheet saves.
"""

import codecs
import csv
import io
from collections.abc import Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from primitives.errors import InputError
from primitives.hashing import draw_order

GRADES = ("reliability", "lexical_diversity", "structural_diversity")
REQUIRED = ("edition", "row_id", *GRADES)
# A spreadsheet runs what stands in a cell that begins so.
FORMULA_STARTS = ("=", "+", "-", "@")
DELIMITERS = (",", ";", "\t")
# xlsx and ods, which are zip files, and xls.
WORKBOOK_STARTS = (b"PK\x03\x04", b"\xd0\xcf\x11\xe0")
Records = list[tuple[int, list[str]]]


@dataclass(frozen=True)
class ReviewItem:
    """The samples of one triplet by one method."""

    triplet_id: str
    method: str
    relation: str
    head: str
    tail: str
    samples: tuple[tuple[str, bool], ...]
    """Each text with its label."""

    def shuffle(self, salt: str) -> "ReviewItem":
        """The same with its samples in an order that tells nothing of how they were made."""
        order = draw_order(map(str, range(len(self.samples))), salt)
        return replace(self, samples=tuple(self.samples[int(i)] for i in order))


@dataclass(frozen=True)
class SheetRow:
    """A row that came back: its number, as a spreadsheet shows it, and its cells by column."""

    number: int
    cells: Mapping[str, str]
    has_too_many: bool
    """Whether something stands beyond the last column."""


def render_sheet(edition_id: str, rows: Mapping[str, ReviewItem]) -> bytes:
    """The sheet as CSV in UTF-8 with a byte-order mark, by which spreadsheets know it; grades empty.

    Args:
        rows: row id -> what it shows, in the order of the sheet.
    """
    n_samples = max((len(item.samples) for item in rows.values()), default=0)
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    shown = [f"sample_{i}" for i in range(1, n_samples + 1)]
    writer.writerow(["edition", "row_id", "triplet", *shown, *GRADES, "comment"])
    for row_id, item in rows.items():
        # The triplet in one cell: alone in its own, the gene MARCH1 becomes a day of the year.
        triplet = " | ".join((item.head, item.relation.replace("_", " "), item.tail))
        texts = [f"({'true' if label else 'false'}) {text}" for text, label in item.samples]
        texts += [""] * (n_samples - len(texts))
        cells = [edition_id, row_id, triplet, *texts, *[""] * len(GRADES), ""]
        writer.writerow([disarm_cell(cell) for cell in cells])
    return codecs.BOM_UTF8 + text.getvalue().encode()


def disarm_cell(cell: str) -> str:
    """The text on one line; with an apostrophe before it where a spreadsheet would compute it."""
    line = " ".join(cell.split())
    return f"'{line}" if line.startswith(FORMULA_STARTS) else line


def read_sheet(path: Path) -> list[SheetRow]:
    """The rows that hold anything, in order.

    Raises:
        InputError: if the file is no CSV, or a column that is needed is missing or there twice.
    """
    text = _read_text(path)
    records = max((_split_records(path, text, d) for d in DELIMITERS), key=_count_columns)
    header = _name_columns(records)
    for name in REQUIRED:
        if header.count(name) != 1:
            raise InputError(
                f"{path} has {header.count(name) or 'no'} columns named {name}; it begins with "
                f"{', '.join(header[:4]) or 'nothing'}: give the sheet as exported, its first row unchanged"
            )
    return [_read_row(header, *record) for record in records[1:]]


def _read_row(header: Sequence[str], number: int, fields: Sequence[str]) -> SheetRow:
    padded = [*fields, *[""] * (len(header) - len(fields))]
    cells = dict(zip(header, padded, strict=False))
    return SheetRow(number, cells, has_too_many=any(padded[len(header) :]))


def _split_records(path: Path, text: str, delimiter: str) -> Records:
    """(row number, stripped cells) of every row that holds anything."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{path} is no CSV file ({error}): save the sheet as CSV") from error
    stripped = [[cell.strip() for cell in row] for row in rows]
    return [(number, row) for number, row in enumerate(stripped, start=1) if any(row)]


def _name_columns(records: Records) -> list[str]:
    return [name.lower() for name in records[0][1]] if records else []


def _count_columns(records: Records) -> int:
    return len(set(REQUIRED) & set(_name_columns(records)))


def _read_text(path: Path) -> str:
    """The text of the file: UTF-8, UTF-16 with its mark, or else Windows' cp1252."""
    try:
        content = path.read_bytes()
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    if content.startswith(WORKBOOK_STARTS):
        raise InputError(f"{path} is a workbook: open it in the spreadsheet and save the sheet as CSV")
    is_utf16 = content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE))
    for encoding in ("utf-16",) if is_utf16 else ("utf-8-sig", "cp1252"):
        try:
            return content.decode(encoding)
        except UnicodeDecodeError:
            continue
    raise InputError(f"{path} is in an encoding that nobody knows here: save the sheet as CSV in UTF-8")
