"""Write the data of the sample browser in pieces: scripts that a page loads as it needs them.

`fetch` does not work for pages that are opened from a file, but scripts do. A piece is a script that hands
rows to the page; a series is a list of rows in consecutive pieces. A piece is named after its content. So a
piece that has not changed is not written again, and a page that was opened before a publication still finds
its pieces.
"""

import hashlib
import re
from collections.abc import Iterable
from pathlib import Path

from storage.files import write_bytes

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
