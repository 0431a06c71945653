"""Knowledge bases, and other tables, whose rows a test writes."""

import json
from pathlib import Path
from typing import Any
from zipfile import ZipFile

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError


def write(path: Path, text: str) -> Path:
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(text, encoding="utf-8", newline="")
    return path


def write_rows(path: Path, rows: list[dict[str, Any]]) -> Path:
    """Write the rows in the format that the extension names; CSV and TSV join lists."""
    frame = pl.DataFrame(rows, infer_schema_length=None)
    if path.suffix == ".parquet":
        frame.write_parquet(path)
    elif path.suffix == ".jsonl":
        write(path, "\n".join(json.dumps(row) for row in rows) + "\n\n")
    else:
        separator, between = (",", "||") if path.suffix == ".csv" else ("\t", " || ")
        lists = [name for name, dtype in frame.schema.items() if dtype == pl.List]
        frame.with_columns(pl.col(lists).list.join(between)).write_csv(path, separator=separator)
    return path


def write_workbook(path: Path, sheets: dict[str, list[list[object]]], merged: str = "") -> Path:
    """Write a workbook of texts, numbers and booleans.

    Args:
        sheets: rows by the name of the sheet; a sheet whose name begins with "hidden" is hidden.
        merged: ranges of merged cells of every sheet, such as "A2:A4 B2:B4".
    """
    xml, relations = "http://schemas.openxmlformats.org", "officeDocument/2006/relationships"
    linked = f'<Relationships xmlns="{xml}/package/2006/relationships">{{}}</Relationships>'
    link = f'<Relationship Id="{{}}" Type="{xml}/{relations}/{{}}" Target="{{}}"/>'
    entries, links = "", ""
    with ZipFile(path, "w") as file:
        for n, (name, rows) in enumerate(sheets.items(), start=1):
            cells = (f"<row>{''.join(map(_write_cell, row))}</row>" for row in rows)
            ranges = "".join(f'<mergeCell ref="{each}"/>' for each in merged.split())
            body = f"<sheetData>{''.join(cells)}</sheetData><mergeCells>{ranges}</mergeCells>"
            sheet = f'<worksheet xmlns="{xml}/spreadsheetml/2006/main">{body}</worksheet>'
            file.writestr(f"xl/worksheets/sheet{n}.xml", sheet)
            state = 'state="hidden"' if name.startswith("hidden") else ""
            entries += f'<sheet name="{name}" sheetId="{n}" r:id="r{n}" {state}/>'
            links += link.format(f"r{n}", "worksheet", f"worksheets/sheet{n}.xml")
        book = f'<workbook xmlns="{xml}/spreadsheetml/2006/main" xmlns:r="{xml}/{relations}">'
        file.writestr("xl/workbook.xml", f"{book}<sheets>{entries}</sheets></workbook>")
        file.writestr("xl/_rels/workbook.xml.rels", linked.format(links))
        file.writestr("_rels/.rels", linked.format(link.format("r", "officeDocument", "xl/workbook.xml")))
    return path


def _write_cell(value: object) -> str:
    if isinstance(value, bool):
        return f'<c t="b"><v>{int(value)}</v></c>'
    is_text = isinstance(value, str)
    return (
        f'<c t="inlineStr"><is><t>{value}</t></is></c>'
        if is_text
        else f"<c><v>{'' if value is None else value}</v></c>"
    )


def read_own(path: Path, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    """Return the base of a table; the settings are further keys of [knowledge]."""
    table = {"name": "own", "format": "table", "path": path}
    return read_knowledge_base(KnowledgeConfig.model_validate(table | settings))


def read_error(path: Path, **settings: Any) -> str:  # noqa: ANN401
    with pytest.raises(InputError) as caught:
        read_own(path, **settings)
    return str(caught.value)


def list_tested(base: KnowledgeBase) -> list[tuple[str, str]]:
    """Return head and tail of the triplets that are tested."""
    return base.triplets.filter(~pl.col("also_true")).select("head", "tail").rows()
