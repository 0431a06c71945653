"""Files of recorded responses for import: tables with one row per response, and logs of other tools.

docs/models.md describes the tables, docs/other-tools.md the logs.
"""

import json
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from primitives.errors import InputError
from storage.responses import replace_surrogates
from tasks.evaluation.inspect_logs import ID_COLUMNS, SUFFIXES, read_inspect_log
from tasks.evaluation.lm_eval_logs import convert_lm_eval_row, is_lm_eval_row, read_prompt_style

TEXT_COLUMNS = ("response", "error", "finish_reason", "reasoning")
COLUMNS = (*ID_COLUMNS, "repeat", *TEXT_COLUMNS)
MAX_REPEAT = 999
MAX_SHOWN = 20
NO_RESPONSE = "the imported file has no response"


@dataclass(frozen=True)
class RecordedRow:
    """One response to a question or sample, or the reason why there is none."""

    row_id: str
    repeat: int = 0
    response: str | None = None
    error: str | None = None
    finish_reason: str | None = None
    reasoning: str | None = None


@dataclass(frozen=True)
class RecordedFile:
    """The rows of a file, and the column that holds their ids: question_id or sample_id."""

    path: Path
    id_column: str
    rows: list[RecordedRow]
    prompt_style: str | None = None
    """How the model was asked, chat or completion; null if the file does not say it."""


def read_recorded_file(path: Path) -> RecordedFile:
    """Return the rows of a Parquet file, of a file of JSON lines, or of a log of inspect_ai or lm-eval.

    Raises:
        InputError: the file cannot be read, it has no column of ids or both, or a row is broken; the message
            names the first broken rows.
    """
    values, prompt_style = _read_values(path)
    found = {name for row in values for name in row}
    named = [name for name in ID_COLUMNS if name in found]
    if len(named) != 1 or "response" not in found:
        raise InputError(
            f"{path}: the rows need the column response, and either question_id or sample_id; found: "
            f"{', '.join(sorted(found)) or 'no rows'}"
        )
    problems, rows = [], []
    for number, row in enumerate(values, 1):
        problem = _find_problem(row, named[0])
        if problem is None:
            rows.append(_build_row(row, named[0]))
        else:
            problems.append(f"row {number}: {problem}")
    if problems:
        raise InputError(f"{path}: {list_some(problems, 'broken rows')}; correct them and import again")
    return RecordedFile(path, named[0], rows, prompt_style)


def list_some(items: list[str], noun: str) -> str:
    """Return the number of the items and the first of them, for a message."""
    more = f", and {len(items) - MAX_SHOWN:,} more" if len(items) > MAX_SHOWN else ""
    return f"{len(items):,} {noun}: {', '.join(items[:MAX_SHOWN])}{more}"


def _read_values(path: Path) -> tuple[list[dict[str, Any]], str | None]:
    """Return the rows of the file with the columns that count, and the prompt style if the file says it."""
    if path.suffix == ".parquet":
        return list(_read_parquet(path)), None
    if path.suffix in SUFFIXES:
        return read_inspect_log(path)
    values: list[dict[str, Any]] = []
    style = None
    for number, row in _read_json_lines(path):
        if is_lm_eval_row(row):
            try:
                values += convert_lm_eval_row(row)
            except ValueError as error:
                raise InputError(f"{path}, line {number}: not a sample of lm-eval ({error})") from error
            style = read_prompt_style(row)
        else:
            values.append({name: row[name] for name in COLUMNS if name in row})
    return values, style


def _read_parquet(path: Path) -> Iterator[dict[str, Any]]:
    try:
        frame = pl.read_parquet(path)
    except (OSError, pl.exceptions.PolarsError) as error:
        raise InputError(f"{path}: not a Parquet file that can be read ({error})") from error
    yield from frame.select([name for name in COLUMNS if name in frame.columns]).iter_rows(named=True)


def _read_json_lines(path: Path) -> Iterator[tuple[int, dict[str, Any]]]:
    """Yield the number of each line that is not blank, and its JSON object."""
    if path.suffix not in (".jsonl", ".ndjson"):
        raise InputError(
            f"{path}: the name of the file must end in .parquet, .jsonl or .ndjson, or in .eval or .json for "
            "a log of inspect_ai"
        )
    try:
        # Only a line feed ends a row: str.splitlines would also split at separators within a response.
        lines = path.read_text(encoding="utf-8").split("\n")
    except (OSError, UnicodeDecodeError) as error:
        raise InputError(f"{path}: cannot be read ({error})") from error
    for number, line in enumerate(lines, 1):
        if not line.strip():
            continue
        try:
            row = json.loads(line)
        except (ValueError, RecursionError) as error:
            raise InputError(f"{path}, line {number}: not JSON ({error})") from error
        if not isinstance(row, dict):
            raise InputError(f"{path}, line {number}: not a JSON object")
        yield number, row


def _find_problem(row: dict[str, Any], id_column: str) -> str | None:
    if not isinstance(row.get(id_column), str) or not row[id_column]:
        return f"{id_column} is {row.get(id_column)!r}, not a text"
    repeat = row.get("repeat", 0)
    is_number = isinstance(repeat, int) and not isinstance(repeat, bool)
    if not is_number or not 0 <= repeat <= MAX_REPEAT:
        return f"repeat is {repeat!r}, not a whole number from 0 to {MAX_REPEAT}"
    for name in TEXT_COLUMNS:
        if not isinstance(row.get(name), str | None):
            return f"{name} is neither a text nor null"
    return None


def _build_row(row: dict[str, Any], id_column: str) -> RecordedRow:
    texts = {name: replace_surrogates(row.get(name)) for name in TEXT_COLUMNS}
    if texts["response"] is None:
        texts = {"error": texts["error"] or NO_RESPONSE}
    elif texts["error"]:
        texts = {"error": texts["error"]}
    return RecordedRow(str(replace_surrogates(row[id_column])), row.get("repeat", 0), **texts)
