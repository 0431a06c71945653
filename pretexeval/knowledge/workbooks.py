"""Rows of the sheets of a workbook, as Excel and LibreOffice write it, with the values as text."""

import datetime
import io
from pathlib import Path

from python_calamine import CalamineError, CalamineSheet, SheetVisibleEnum, load_workbook

from pretexeval.knowledge.files import read_bytes
from pretexeval.primitives.errors import InputError

EXTENSIONS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
Rows = list[tuple[int, list[str]]]
"""The number of each row that is not blank, from 1, and its cells."""


def read_sheets(path: Path) -> dict[str, Rows]:
    """Return the rows of each sheet by its name: those that are visible first, in their order.

    A merged cell has its value in every row of its range. A formula has the value that was stored with it.

    Raises:
        InputError: the file is no workbook, or needs a password.
    """
    content = read_bytes(path)
    try:
        workbook = load_workbook(io.BytesIO(content))
        sheets = sorted(workbook.sheets_metadata, key=lambda each: each.visible != SheetVisibleEnum.Visible)
        return {sheet.name: _read_rows(workbook.get_sheet_by_name(sheet.name)) for sheet in sheets}
    except CalamineError as error:
        raise InputError(
            f"{path} cannot be read as a workbook ({error}): save it as .xlsx without a password; if it is "
            "text, name it .csv"
        ) from error


def _read_rows(sheet: CalamineSheet) -> Rows:
    rows = [[_write_cell(value) for value in row] for row in sheet.to_python(skip_empty_area=False)]
    filled = [number for number, row in enumerate(rows) if any(map(str.strip, row))]
    for (top, left), (bottom, _) in sheet.merged_cell_ranges or ():
        for row in rows[top : bottom + 1]:
            row[left] = rows[top][left]
    return [(number + 1, rows[number]) for number in filled]


def _write_cell(value: float | str | datetime.date | datetime.time | datetime.timedelta) -> str:
    """Return a value as text: numbers without a needless `.0`, and `true` or `false`."""
    if isinstance(value, bool):
        return str(value).lower()
    return str(int(value)) if isinstance(value, float) and value.is_integer() else str(value)
