"""What pages were made of, so that pages of which nothing can have changed are not written again.

Writing the pages of an edition with many models takes half a minute of processor time. A record beside them
names the warehouse file, the code and the arguments that made them, and every file that was written. The
warehouse file is replaced by every publication that changes anything, so its inode, size and time stand for
its rows.
"""

import json
from functools import cache
from importlib.metadata import version
from pathlib import Path

from primitives.hashing import hash_json, hash_text
from storage.files import write_bytes
from storage.layout import WAREHOUSE

FOLDER = Path(__file__).parent
KINDS = (".py", ".html", ".css", ".sql", ".js")
"""The files of this folder that pages are made with."""
LIBRARIES = ("altair", "vl-convert-python", "jinja2", "duckdb", "polars", "pyarrow")


def describe_inputs(root: Path, *arguments: object) -> str:
    """Return a hash of everything that pages of the warehouse depend on.

    Raises:
        FileNotFoundError: there is no warehouse.
    """
    status = (root / WAREHOUSE).stat()
    return hash_json([status.st_ino, status.st_size, status.st_mtime_ns, _hash_code(), *arguments])


def is_made_of(record: Path, inputs: str) -> bool:
    """Return whether the files beside the record were made of the inputs, and nobody changed them since."""
    try:
        content = json.loads(record.read_bytes())
        return bool(content["inputs"] == inputs and content["files"] == _list_files(record, content["files"]))
    except (OSError, ValueError, KeyError, TypeError):
        return False


def write_record(record: Path, inputs: str, pattern: str) -> None:
    """Write what the files beside the record that match the pattern were made of."""
    names = sorted(str(path.relative_to(record.parent)) for path in record.parent.glob(pattern))
    files = _list_files(record, [name for name in names if name != record.name])
    write_bytes(record, json.dumps({"inputs": inputs, "files": files}).encode())


def _list_files(record: Path, names: list[str]) -> dict[str, list[int]]:
    """Return the size and the time of each of the files; raise OSError if one is missing."""
    found = {name: (record.parent / name).stat() for name in names if not (record.parent / name).is_dir()}
    return {name: [status.st_size, status.st_mtime_ns] for name, status in found.items()}


@cache
def _hash_code() -> str:
    """Return a hash of the files of this folder and of the libraries."""
    files = [path for path in sorted(FOLDER.rglob("*")) if path.suffix in KINDS]
    texts = [path.read_text(encoding="utf-8") for path in files]
    return hash_text(*texts, *map(version, LIBRARIES))
