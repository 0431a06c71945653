"""Search for a key after a run: in all files, also inside tables, and in all records of Prefect's server."""

import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl

PAGE = 200
# The API paths that list what the server keeps about runs.
LISTS = ("flow_runs", "task_runs", "logs", "artifacts", "deployments", "block_documents", "variables")


def find_in_files(folder: Path, parts: list[str]) -> list[str]:
    """Return the files under the folder that contain one of the parts, in their bytes or in their tables."""
    found = []
    for path in (path for path in sorted(folder.rglob("*")) if path.is_file()):
        content = path.read_bytes()
        in_tables = (part in text for text in _read_tables(path, content) for part in parts)
        if any(part.encode() in content for part in parts) or any(in_tables):
            found.append(str(path.relative_to(folder)))
    return found


def _read_tables(path: Path, content: bytes) -> Iterator[str]:
    """Yield the tables of a Parquet, DuckDB or SQLite file as text, because their bytes may be compressed."""
    if content[:4] == b"PAR1":
        yield json.dumps(pl.read_parquet(path).rows(), default=str, ensure_ascii=False)
        yield str(pl.read_parquet_metadata(path))
    elif content[8:12] == b"DUCK":
        with duckdb.connect(path, read_only=True) as connection:
            for name in connection.execute("select schema_name, table_name from duckdb_tables()").fetchall():
                yield str(connection.execute('select * from "{}"."{}"'.format(*name)).fetchall())
    elif content[:15] == b"SQLite format 3":
        store = sqlite3.connect(path)
        store.text_factory = lambda stored: stored.decode(errors="replace")
        for (name,) in store.execute("select name from sqlite_master where type = 'table'").fetchall():
            yield str(store.execute(f'select * from "{name}"').fetchall())
        store.close()


def read_records(api_url: str) -> dict[str, str]:
    """Return kind -> all records of the server as JSON; those of runs include their states and parameters."""
    records = {name: "".join(_list_all(f"{api_url}/{name}/filter")) for name in LISTS}
    records["events"] = _post(f"{api_url}/events/filter", {"limit": 50})
    return records


def _list_all(address: str) -> Iterator[str]:
    offset, page = 0, ""
    while page != "[]":
        page = _post(address, {"limit": PAGE, "offset": offset})
        offset += PAGE
        yield page


def _post(address: str, body: object) -> str:
    request = urllib.request.Request(address, json.dumps(body).encode(), {"Content-Type": "application/json"})
    with urllib.request.urlopen(request, timeout=60) as answer:
        return str(answer.read().decode())
