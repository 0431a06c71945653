"""Reader of the authors' pool, with which users can reproduce the papers' figures.

The pool has two forms:

- The authors' CSV, one row per relation: pid, default_prompt, human_prompt, prompt2 … prompt8. The columns
  human_prompt to prompt8 are none, dn, inv, inv_dn, ins, ins_dn, inv_ins, inv_ins_dn. default_prompt is
  MedLAMA's own template, which the method origin uses; the CSV may lack it.
- A Parquet table, one row per cell: relation, transformation (None, DN, Inv, Inv+DN, Ins, Ins+DN, Inv+Ins,
  Inv+Ins+DN) and the template, which is in pretex_csv or, if that is null, in table_002.

Faults of the templates are kept. Only the white space around a template and before its full stop is removed.
There are no further wordings.
"""

import csv
import io
import re
from collections.abc import Iterator
from pathlib import Path

from primitives.errors import InputError
from prototypes.checks import check_slots
from prototypes.templates import RelationPrototypes, build_prototypes
from schemas.transformations import NAMES

# Column of the CSV -> transformation.
CSV_COLUMNS = {
    "human_prompt": "none",
    "prompt2": "dn",
    "prompt3": "inv",
    "prompt4": "inv_dn",
    "prompt5": "ins",
    "prompt6": "ins_dn",
    "prompt7": "inv_ins",
    "prompt8": "inv_ins_dn",
}
ORIGIN = "default_prompt"
TABLE_COLUMNS = ("pretex_csv", "table_002")
# The authors' files do not name the predicates of the instantiated form.
INSTANCE = ("P", "Q")


def read_authors_pool(path: Path) -> dict[str, RelationPrototypes]:
    """Return the relations of the authors' pool, by their names in MedLAMA (lower case, underscores).

    Raises:
        InputError: a column or a cell is missing, or a template does not contain each slot once.
    """
    entries = _iterate_csv(path) if path.suffix.lower() == ".csv" else _iterate_parquet(path)
    cells: dict[str, dict[str, str]] = {}
    for written, transformation, template in entries:
        relation = _name_relation(written)
        texts = cells.setdefault(relation, {})
        if transformation in texts:
            raise InputError(f"{path} holds {relation} {transformation} twice: keep one")
        texts[transformation] = _trim_template(template)
    if not cells:
        raise InputError(f"prototype pool {path} holds no relation")
    if problems := list(_find_problems(cells)):
        raise InputError("\n  ".join([f"prototype pool {path} is incomplete:", *problems]))
    return {
        relation: build_prototypes(relation, INSTANCE, {n: [texts[n]] for n in NAMES}, texts.get(ORIGIN))
        for relation, texts in cells.items()
    }


def _name_relation(name: str) -> str:
    return re.sub(r"\s+", "_", name.strip().lower())


def _trim_template(template: str) -> str:
    return re.sub(r"\s+\.$", ".", template.strip())


def _find_problems(cells: dict[str, dict[str, str]]) -> Iterator[str]:
    for relation, texts in cells.items():
        if missing := [name for name in NAMES if not texts.get(name)]:
            yield f"{relation} lacks {', '.join(missing)}"
        for name, text in texts.items():
            yield from (f"{relation} {name} {problem}" for problem in check_slots(text) if text)


def _iterate_csv(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield relation, transformation and template of every cell of the CSV."""
    try:
        text = path.read_bytes().decode("utf-8-sig")
    except UnicodeDecodeError as error:
        raise InputError(f"{path} is not UTF-8: {error}") from error
    except OSError as error:
        raise InputError(f"{path} cannot be read: {error.strerror}") from error
    try:
        yield from _iterate_cells(path, csv.DictReader(io.StringIO(text, newline="")))
    except csv.Error as error:
        raise InputError(f"{path} cannot be read as CSV: {error}") from error


def _iterate_cells(path: Path, reader: "csv.DictReader[str]") -> Iterator[tuple[str, str, str]]:
    found = reader.fieldnames or ()
    if missing := [name for name in ("pid", *CSV_COLUMNS) if name not in found]:
        raise InputError(
            f"{path} has no column {', '.join(missing)}; the authors' pool has pid, {', '.join(CSV_COLUMNS)}"
        )
    for record in reader:
        for column, transformation in CSV_COLUMNS.items():
            yield record["pid"], transformation, record[column] or ""
        if template := (record.get(ORIGIN) or "").strip():
            yield record["pid"], ORIGIN, template


def _iterate_parquet(path: Path) -> Iterator[tuple[str, str, str]]:
    """Yield relation, transformation and template of every row of the table."""
    import polars as pl

    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        cause = str(error).splitlines()[0]
        raise InputError(f"{path} cannot be read as Parquet: {cause}") from error
    templates = [name for name in TABLE_COLUMNS if name in frame.columns]
    if not templates or not {"relation", "transformation"} <= set(frame.columns):
        raise InputError(
            f"{path} is not a table of prototypes: it needs relation, transformation and one of "
            f"{', '.join(TABLE_COLUMNS)}; it has {', '.join(frame.columns)}"
        )
    rows = frame.select("relation", "transformation", pl.coalesce(templates).fill_null(""))
    for relation, written, template in rows.iter_rows():
        transformation = str(written).lower().replace("+", "_")
        if transformation not in NAMES:
            raise InputError(f"{path}: unknown transformation {written!r} of {relation!r}")
        yield relation, transformation, template
