"""Texts, sheets and columns of files that users give, with the next step for those that cannot be read."""

import codecs
import datetime
import gzip
import io
import json
import re
import zlib
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from types import MappingProxyType
from typing import Any

from python_calamine import CalamineError, CalamineSheet, SheetVisibleEnum, load_workbook

from pretexeval.primitives.errors import InputError

TRIPLET = ("head", "relation", "tail")
WORKBOOKS = (".xlsx", ".xlsm", ".xlsb", ".xls", ".ods")
Rows = list[tuple[int, list[str]]]
"""The number of each row that is not blank, from 1, and its cells."""
NO_HEADER = "if the first line is a fact, write a header above it"
ENCODINGS = ("cp1252", "cp1250", "cp1251", "mac_roman", "gb18030", "shift_jis", "euc_kr")
"""Encodings that a message shows for a file that is not UTF-8."""
_NO_NAMES = re.compile(r"(?i)^unnamed|\b(?:id|index|source|reference|notes?|count|score|weight|url)\b|_id$")
_IDS = re.compile(r"\d{4}")
MAX_COLUMNS = 8
"""In a table with more columns that are not read, each of them may be a tail."""
RDF = (
    "convert it into OBO, for example with `robot convert`, or, if it is no ontology, export its triples as "
    "a table of labels, for example with a SPARQL SELECT"
)
_SIGNS = {
    re.compile(r"\s*<[^<>]+> <[^<>]+> .*"): RDF,
    re.compile(r'\s+".*"'): "delete the blanks before the quotation marks",
    re.compile(r"\s*'.*'"): "write double quotation marks in place of single ones",
}
"""The next step by the pattern of a column's name."""
_RELATION = re.compile(r"(?i)^(?:relation|predicate|property|aspect)")


def read_bytes(path: Path) -> bytes:
    """Return the bytes of a file, which gzip may compress, or raise InputError if it cannot be read."""
    try:
        content = path.read_bytes()
        return gzip.decompress(content) if content.startswith(b"\x1f\x8b") else content
    except (OSError, EOFError, zlib.error) as error:
        raise InputError(f"{path} cannot be read: {getattr(error, 'strerror', None) or error}") from error


def read_text(path: Path, encoding: str = "utf-8") -> str:
    """Return the text of a file without its byte-order mark, which shows UTF-16 as well.

    Raises:
        InputError: the file has another encoding; the message names the line, and how others read it.
    """
    content = read_bytes(path)
    if content.startswith((codecs.BOM_UTF16_LE, codecs.BOM_UTF16_BE)):
        encoding = "utf-16"
    order = "be" if content.startswith(b"\0") else "le"
    no_text = InputError(
        f"{path} is no text: give a workbook the extension .xlsx, unpack an archive, save a text as UTF-8, "
        f'or set layout = {{ encoding = "utf-16-{order}" }} in [knowledge]'
    )
    try:
        text = content.decode(encoding).removeprefix("\ufeff")
    except UnicodeDecodeError as error:
        if b"\0" in content:
            raise no_text from error
        line = content.count(b"\n", 0, error.start) + 1
        byte = content[error.start]
        raise InputError(
            f"{path}, line {line}: byte 0x{byte:02x} is not {encoding.upper()}: save the file as UTF-8, or, "
            'with format "table", name what reads it rightly in layout of [knowledge]:'
            + "".join(_show_readings(content, error.start))
        ) from error
    if "\0" in text:
        raise no_text
    return text


def _show_readings(content: bytes, start: int) -> Iterator[str]:
    """Yield each usual encoding that the whole text can have, with the words that it gives at this place."""
    before = content[content.rfind(b"\n", 0, start) + 1 : start]
    line = before + content[start:].partition(b"\n")[0]
    for encoding in ENCODINGS:
        try:
            content.decode(encoding)
        except UnicodeDecodeError:
            continue
        place = len(before.decode(encoding, errors="ignore"))
        shown = line.decode(encoding, errors="ignore")[max(place - 12, 0) : place + 12]
        yield f"\n  encoding = {json.dumps(encoding)} reads {shown.strip()!r}"


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
            f"{path} cannot be read as a workbook ({error}): open it in a spreadsheet program and save it as "
            ".xlsx without a password; if it is text, name it .csv"
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


def fold_column(name: str) -> str:
    """Return a column's name as it is compared. Many public tables have their header in a comment line."""
    return name.strip().lstrip("#").strip().casefold()


def find_columns(
    path: Path,
    found: Sequence[str],
    required: Sequence[str],
    optional: Sequence[str] = (),
    named: Mapping[str, str] = MappingProxyType({}),
) -> dict[str, str]:
    """Return the name in the file of each column that it has: its own one, or else one in other capitals.

    Args:
        named: names in the file that differ from those of the columns. Without such a column, the name of
            relation is the relation itself.

    Raises:
        InputError: there is no column, or a required or named one is missing or appears twice.
    """
    if not found:
        raise InputError(f"{path} is empty: fill it or remove it")
    needed = {*required, *named} - ({"relation"} & named.keys())
    columns: dict[str, str] = {}
    for column in (*required, *optional):
        name = named.get(column, column)
        same = [each for each in found if each == name]
        same = same or [each for each in found if fold_column(each) == fold_column(name)]
        if len(same) > 1 and column in needed:
            raise InputError(f"{path} has the column {same[0]} twice: keep one")
        if same:
            columns[column] = same[0]
    if missing := [name for name in (*required, *named) if name in needed - columns.keys()]:
        listed = ", ".join(dict.fromkeys(named.get(name, name) for name in missing))
        advice = f"name the columns {', '.join(required)}"
        if tuple(required) == ("alias",):
            advice += ", and name or id"
        if len(found) == 1:
            advice += ", separated by a comma, semicolon, | or tab"
        if path.suffix == ".sql":
            advice += " in the SELECT (for a single relation: 'has_symptom' as relation)"
        elif required == TRIPLET:
            has_lines = {".json", ".jsonl", ".ndjson", ".parquet"}.isdisjoint(path.suffixes)
            place = f"in the first line ({NO_HEADER})" if has_lines else "in the file"
            if has_lines and not columns and any(map(_IDS.search, found)):
                advice = (
                    f"the first line looks like a fact: write a header above it, with {', '.join(required)}"
                )
            else:
                advice += _suggest_names(found, columns, named, place)
        if repeated := [name for name, n in Counter(found).items() if n > 1 and name.strip()]:
            advice = f"{', '.join(repeated)} stands above several columns: give each its own name"
        if named.keys() & set(missing):
            advice = "correct layout in [knowledge]"
        advice = next((said for sign, said in _SIGNS.items() if any(map(sign.fullmatch, found))), advice)
        raise InputError(f"{path} has no column {listed}; it has {', '.join(found)}: {advice}")
    return columns


def _suggest_names(
    found: Sequence[str], columns: Mapping[str, str], named: Mapping[str, str], place: str
) -> str:
    """Return a place and a setting that name the missing columns of triplets, with an invented relation."""
    missing = [name for name in TRIPLET if name not in columns and (name != "relation" or name not in named)]
    others: dict[str, list[str]] = {}
    for name in found:
        if name.strip() and name not in columns.values() and not _NO_NAMES.search(name):
            # Symptom_1, Symptom_2, ... are one column in several.
            others.setdefault(re.sub(r"[ _.-]*\d+$", "", name), []).append(name)
    relation = next((name for name in others if _RELATION.search(name)), None)
    values = [names[0] if len(names) == 1 else names for name, names in others.items() if name != relation]
    if "relation" in missing:
        values.insert(missing.index("relation"), relation or "has_symptom")
    named_values = zip(missing, (json.dumps(value, ensure_ascii=False) for value in values), strict=False)
    pairs = ", ".join(f"{name} = {value}" for name, value in named_values)
    setting = f'{place}, or, with format "table", in [knowledge]: layout = {{ {pairs} }}'
    if len(others) > MAX_COLUMNS:
        setting += "; if each column is a tail, read the file with the query of docs/knowledge-bases.md"
    return f" {setting}" if missing and len(values) >= len(missing) else ""


def describe_query(source: str = "read_csv($path)") -> str:
    """Return how a query reads a file that is no table, as the end of a message."""
    return (
        'format = "sql" and query = "facts.sql" in [knowledge], where facts.sql is, with your columns: '
        f"select disease as head, 'has_symptom' as relation, symptom as tail from {source}"
    )


def unnest(source: str, column: str) -> str:
    """Return the source from which a query reads a row for each object of a list in this column."""
    return f"(select *, unnest({quote_column(column)}, max_depth := 2) from {source})"


def quote_name(name: str) -> str:
    """Return the name of a column in the quotation marks of SQL."""
    return f'"{name.replace(chr(34), 2 * chr(34))}"'


def quote_column(name: str) -> str:
    """Return the name of a column as a query that is shown writes it: only unusual names are quoted."""
    return name if re.fullmatch(r"[A-Za-z]\w*", name) else quote_name(name)


def read_records(
    path: Path, encoding: str = "utf-8", is_header: Callable[[Sequence[str]], bool] = lambda _: False
) -> Iterable[tuple[int, dict[str, Any], str | None]]:
    """Return line, object and problem of each line that is not blank; of .json, the index and not the line.

    Args:
        is_header: whether the keys of an object of lists are names of columns, and no heads.

    Raises:
        InputError: a file named .json is one value without a list of objects, and no object of lists.
    """
    text = read_text(path, encoding)
    lines = [(number, line) for number, line in enumerate(text.split("\n"), start=1) if line.strip()]
    if not path.name.lower().removesuffix(".gz").endswith(".json"):
        return [(number, *_parse_line(line)) for number, line in lines]
    try:
        whole = parse_json(text)
    except (ValueError, RecursionError):
        return [(index, *_parse_line(line)) for index, (_, line) in enumerate(lines)]
    if isinstance(whole, dict) and is_header(list(whole)) and (records := _turn_columns(whole)):
        return [(index, record, None) for index, record in enumerate(records)]
    values = list(whole.values()) if isinstance(whole, dict) else [whole]
    lists = [value for value in values if isinstance(value, list)]
    if len(lists) == 1 and all(isinstance(record, dict) for record in lists[0]):
        records = lists[0]
    elif not isinstance(whole, dict) or not (records := _list_facts(whole)):
        query = describe_query("read_json($path)")
        raise InputError(f"{path} is not one list of objects: read it with {query}")
    return [(index, record, None) for index, record in enumerate(records)]


def _turn_columns(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the rows of an object whose values are columns: lists, or objects by the number of the row."""
    columns = [list(value.values()) if isinstance(value, dict) else value for value in whole.values()]
    if not all(isinstance(column, list) for column in columns) or len(set(map(len, columns))) != 1:
        return []
    return [dict(zip(whole, row, strict=True)) for row in zip(*columns, strict=True)]


def _list_facts(whole: dict[str, Any]) -> list[dict[str, Any]]:
    """Return the facts of an object from heads to tails, or to relations and tails; none of another one."""
    records: list[dict[str, Any]] = []
    for head, value in whole.items():
        if isinstance(value, dict):
            records += [{"head": head, "relation": name, "tail": tails} for name, tails in value.items()]
        else:
            records.append({"head": head, "tail": value})
    tails = (record["tail"] for record in records)
    are_texts = all(isinstance(tail, list) and all(isinstance(each, str) for each in tail) for tail in tails)
    return records if are_texts else []


def _parse_line(line: str) -> tuple[dict[str, Any], str | None]:
    try:
        record = parse_json(line)
    except (ValueError, RecursionError) as error:
        return {}, f"is not JSON ({error}): write one object per line, or one list of objects"
    if not isinstance(record, dict):
        return {}, "is not a JSON object: write one object per line"
    return record, None


def parse_json(text: str) -> object:
    """Return the value of one line of JSON.

    Raises:
        ValueError: it is not JSON, or a text in it holds half of a surrogate pair, which no file can store.
    """
    value: object = json.loads(text)
    # Only escapes can write halves: the line itself is UTF-8.
    if "\\u" in text and any("\ud800" <= c <= "\udfff" for c in json.dumps(value, ensure_ascii=False)):
        raise ValueError("a text holds half of a surrogate pair")
    return value
