"""Write and read the sheet that a doctor fills in: a CSV file that any spreadsheet program opens.

Spreadsheets must not turn a cell into a formula, a number or a date. The filled sheet may have any
delimiter and encoding in which a spreadsheet saves it.
"""

import codecs
import csv
import io
import re
from collections import Counter
from collections.abc import Iterable, Mapping, Sequence
from dataclasses import dataclass, replace
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order
from pretexeval.primitives.untrusted_text import escape_cell

# These names are valid for files on every system, and they do not make hidden files.
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
GRADES = ("reliability", "lexical_diversity", "structural_diversity")
COMMON = ("edition", "row_id")
"""The columns that every sheet has."""
VERDICT = "verdict"
"""The column of a sheet on which labels or rewordings are judged."""
REWORDING = "rewording"
"""The column that only a sheet of rewordings has."""
DELIMITERS = (",", ";", "\t")
# The first bytes of xlsx and ods, which are zip files, and of xls.
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
    """(text, label) of each sample."""

    def shuffle_samples(self, salt: str) -> "ReviewItem":
        """Return the item with its samples in an order that does not show their transformations."""
        order = draw_order(map(str, range(len(self.samples))), salt)
        return replace(self, samples=tuple(self.samples[int(i)] for i in order))


@dataclass(frozen=True)
class SheetRow:
    """A row of a filled sheet: its number, as a spreadsheet shows it, and its cells by column."""

    number: int
    cells: Mapping[str, str]
    has_extra_cells: bool
    """Whether there is text beyond the last column."""


def render_sheet(edition_id: str, rows: Mapping[str, ReviewItem]) -> bytes:
    """Return the sheet of the items, with empty grades.

    Args:
        rows: row id -> the item to show, in the order of the sheet.
    """
    n_samples = max((len(item.samples) for item in rows.values()), default=0)
    shown = []
    for row_id, item in rows.items():
        texts = [f"({'true' if label else 'false'}) {text}" for text, label in item.samples]
        shown.append((row_id, (item.head, item.relation, item.tail), texts))
    columns = [*(f"sample_{i}" for i in range(1, n_samples + 1)), *GRADES]
    return render_rows(edition_id, columns, shown)


def render_rows(
    edition_id: str, columns: Sequence[str], rows: Iterable[tuple[str, tuple[str, str, str], Sequence[str]]]
) -> bytes:
    """Return a sheet as CSV in UTF-8 with a byte-order mark, by which spreadsheets recognise UTF-8.

    Args:
        columns: those of the sheet besides `edition`, `row_id`, `triplet` and `comment`.
        rows: row id, triplet (head, relation, tail), and the first cells of these columns; the others are
            empty.
    """
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow([*COMMON, "triplet", *columns, "comment"])
    for row_id, (head, relation, tail), shown in rows:
        # The triplet is one cell: in a cell of its own, the gene MARCH1 would become a date.
        triplet = " | ".join((head, relation.replace("_", " "), tail))
        empty = [""] * (len(columns) - len(shown) + 1)
        writer.writerow([escape_cell(cell) for cell in (edition_id, row_id, triplet, *shown, *empty)])
    return codecs.BOM_UTF8 + text.getvalue().encode()


def read_sheet(path: Path) -> list[SheetRow]:
    """Return the rows that are not empty, in order: of a sheet with grades, or of one with verdicts.

    Raises:
        InputError: if the file is not CSV, or a column is missing or occurs twice.
    """
    text = _read_text(path)
    split = [_split_records(path, text, delimiter) for delimiter in DELIMITERS]
    known = {*COMMON, *GRADES, VERDICT}
    records = max(split, key=lambda each: len(known & set(_read_header(each))))
    header = _read_header(records)
    for name in (*COMMON, *((VERDICT,) if VERDICT in header else GRADES)):
        if header.count(name) != 1:
            raise InputError(
                f"{path} has {header.count(name) or 'no'} columns named {name}; it begins with "
                f"{', '.join(header[:4]) or 'nothing'}: use the exported sheet with its first row unchanged"
            )
    return [_read_row(header, *record) for record in records[1:]]


def find_edition(path: Path, rows: Sequence[SheetRow]) -> str:
    """Return the edition that most rows of a sheet name."""
    named = Counter(row.cells["edition"] for row in rows if row.cells["edition"])
    found = named.most_common(1)[0][0] if named else ""
    if not FILE_NAME.fullmatch(found):
        raise InputError(f"{path} names no edition ({found!r}): use the exported sheet, filled in")
    return found


def require_correct(path: Path, problems: Iterable[str]) -> None:
    """Raise InputError with all problems of a sheet, if there are any."""
    if listed := list(problems):
        lines = "\n  ".join(listed)
        raise InputError(f"{path}: nothing was imported, correct {len(listed)} places:\n  {lines}")


def _read_row(header: Sequence[str], number: int, fields: Sequence[str]) -> SheetRow:
    padded = [*fields, *[""] * (len(header) - len(fields))]
    cells = dict(zip(header, padded, strict=False))
    return SheetRow(number, cells, has_extra_cells=any(padded[len(header) :]))


def _split_records(path: Path, text: str, delimiter: str) -> Records:
    """Return (row number, stripped cells) of every row that is not empty."""
    try:
        rows = list(csv.reader(io.StringIO(text, newline=""), delimiter=delimiter))
    except csv.Error as error:
        raise InputError(f"{path} is not a CSV file ({error}): save the sheet as CSV") from error
    stripped = [[cell.strip() for cell in row] for row in rows]
    return [(number, row) for number, row in enumerate(stripped, start=1) if any(row)]


def _read_header(records: Records) -> list[str]:
    return [name.lower() for name in records[0][1]] if records else []


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
