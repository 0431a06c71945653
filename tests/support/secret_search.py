"""Where a key stands after a run: in every file, as its reader would see it, and in all the server tells."""

import json
import sqlite3
import urllib.request
from collections.abc import Iterator
from pathlib import Path

import duckdb
import polars as pl

PAGE = 200
# What the server keeps of runs; by the path that lists it.
LISTS = ("flow_runs", "task_runs", "logs", "artifacts", "deployments", "block_documents", "variables")


def find_in_files(folder: Path, parts: list[str]) -> list[str]:
    """The files under the folder that hold one of the parts, in their bytes or in their tables."""
    files = [path for path in sorted(folder.rglob("*")) if path.is_file()]
    return [str(path.relative_to(folder)) for path in files if _holds(path, parts)]


def _holds(path: Path, parts: list[str]) -> bool:
    content = path.read_bytes()
    return any(part.encode() in content for part in parts) or any(
        part in text for text in _read_tables(path, content) for part in parts
    )


def _read_tables(path: Path, content: bytes) -> Iterator[str]:
    """What is compressed, or in pages, as text."""
    if content[:4] == b"PAR1":
        yield json.dumps(pl.read_parquet(path).rows(), default=str, ensure_ascii=False)
        yield str(pl.read_parquet_metadata(path))
    elif content[8:12] == b"DUCK":
        with duckdb.connect(path, read_only=True) as connection:
            for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall():
                yield str(connection.execute(f'select * from "{name}"').fetchall())
    elif content[:15] == b"SQLite format 3":
        store = sqlite3.connect(path)
        store.text_factory = lambda stored: stored.decode(errors="replace")
        for (name,) in store.execute("select name from sqlite_master where type = 'table'").fetchall():
            yield str(store.execute(f'select * from "{name}"').fetchall())
        store.close()


def read_server(api_url: str) -> dict[str, str]:
    """All that the server tells of its runs, as JSON, by what it is; states and parameters with the runs."""
    told = {name: "".join(_list_all(f"{api_url}/{name}/filter")) for name in LISTS}
    told["events"] = _post(f"{api_url}/events/filter", {"limit": 50})
    return told


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
