"""Write the data of the sample browser in pieces: scripts that a page loads as it needs them.

`fetch` does not work for pages that are opened from a file, but scripts do. A piece is a script that hands
rows to the page; a series is a list of rows in consecutive pieces. A piece is named after its content. So a
piece that has not changed is not written again, and a page that was opened before a publication still finds
its pieces.
"""

import hashlib
import json
import re
from collections.abc import Iterable
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from pretexeval.primitives.hashing import hash_text
from pretexeval.storage.files import write_bytes

PIECE_BYTES = 256 * 1024
"""The size at which a piece ends. A page of 25 samples may need 25 pieces of texts and as many of answers."""
_NAME = re.compile(r"\b[0-9a-f]{20}\b")
# `<` could end the script element of a page that contains the piece. JSON may hold the two separators of
# lines; scripts of before 2019 may not.
_ESCAPES = {"<": "\\u003c", "\u2028": "\\u2028", "\u2029": "\\u2029"}

Series = list[tuple[int, str]]
"""For every piece, the number of its first row and its name."""


class PieceFolder:
    """The folder of the pieces of one edition."""

    def __init__(self, folder: Path) -> None:
        """Write pieces to the folder."""
        self.folder = folder
        self.names: set[str] = set()
        """The pieces that were written, or that were there already."""

    def write(self, value: str) -> str:
        """Write a piece that hands over the value, which is JSON, and return its name."""
        for character, escape in _ESCAPES.items():
            value = value.replace(character, escape)
        content = f"receivePiece({value});\n".encode()
        name = hashlib.sha256(content).hexdigest()[:20]
        path = self.folder / f"{name}.js"
        if name not in self.names and not (path.is_file() and path.stat().st_size == len(content)):
            write_bytes(path, content)
        self.names.add(name)
        return name

    def write_series(self, rows: Iterable[str]) -> Series:
        """Write the rows, each of them JSON, in pieces of about PIECE_BYTES characters."""
        series: Series = []
        waiting: list[str] = []
        n_waiting = first = 0
        for row in rows:
            waiting.append(row)
            n_waiting += len(row)
            if n_waiting >= PIECE_BYTES:
                series.append((first, self.write(f"[{','.join(waiting)}]")))
                first += len(waiting)
                waiting, n_waiting = [], 0
        if waiting:
            series.append((first, self.write(f"[{','.join(waiting)}]")))
        return series

    def remove_others(self, kept: set[str]) -> None:
        """Remove the pieces that were not written and are not kept either."""
        for path in self.folder.glob("*.js"):
            if path.stem not in self.names | kept:
                path.unlink()


def find_names(text: str) -> set[str]:
    """Return the names of pieces that a text contains."""
    return set(_NAME.findall(text))


FOLDER = Path(__file__).parent


@dataclass(frozen=True)
class Earlier:
    """The pieces of the page that is being replaced."""

    names: set[str] = field(default_factory=set)
    """All of its pieces."""
    answers: dict[str, Series] = field(default_factory=dict)
    """The checksum of what a model replied -> the pieces with it."""
    parts: list[list[Any]] = field(default_factory=list)
    """The parts of prompts that these pieces name by their numbers."""


def read_earlier(folder: Path, made_by: str) -> Earlier:
    """Return what the page in the folder consists of; nothing to use again if other code made it.

    Args:
        folder: the folder of the page, with its pieces in `data`.
        made_by: the hash of the code, from `hash_browser`.
    """
    page = folder / "index.html"
    catalogues = find_names(page.read_text(encoding="utf-8")) if page.is_file() else set()
    names = set(catalogues)
    for name in catalogues:
        catalogue = read_piece(folder, name)
        names |= find_names(json.dumps(catalogue))
        if catalogue is None or catalogue.get("madeBy") != made_by:
            continue
        kept = {
            checksum: series
            for checksum, series in catalogue["checksums"].items()
            if all((folder / "data" / f"{name}.js").is_file() for _, name in series)
        }
        parts = [read_piece(folder, name) for _, name in catalogue["parts"]]
        if None not in parts:
            return Earlier(names, kept, [part for piece in parts for part in piece])
    return Earlier(names)


def read_piece(folder: Path, name: str) -> Any:  # noqa: ANN401
    """Return the value of a piece; None if there is no such piece."""
    path = folder / "data" / f"{name}.js"
    if not path.is_file():
        return None
    text = path.read_text(encoding="utf-8").rstrip()
    return json.loads(text.removeprefix("receivePiece(").removesuffix(");"))


def hash_browser() -> str:
    """Return a hash of the code and of the SQL that make the pieces, with the words for forms."""
    files = [path for path in sorted(FOLDER.iterdir()) if path.suffix in (".py", ".sql")]
    files.append(FOLDER.parent / "formats.py")
    return hash_text(*(path.read_text(encoding="utf-8") for path in files))
