"""What the sample browser of the earlier publication holds: unchanged answers are not written again."""

import json
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from primitives.hashing import hash_text
from report.browser.pieces import Series, find_names

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
    """Return a hash of the code and of the SQL that make the pieces."""
    files = [path for path in sorted(FOLDER.iterdir()) if path.suffix in (".py", ".sql")]
    return hash_text(*(path.read_text(encoding="utf-8") for path in files))
