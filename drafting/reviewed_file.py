"""Replace the table of a draft in a TOML pool by what a review left of it."""

import re
import tomllib
from collections.abc import Mapping, Sequence
from pathlib import Path
from typing import Any

from drafting.cells import Draft
from drafting.draft_file import COMMENT, render_marked
from primitives.errors import InputError
from primitives.toml_files import parse_toml, render_toml
from primitives.untrusted_text import escape_line
from prototypes.toml_pool import DRAFT, REVIEWER
from storage.files import write_bytes

_HEADER = re.compile(r"^\[[^\[\]\n]+\][ \t]*(?:#.*)?$", re.MULTILINE)


def read_draft(path: Path, relation: str) -> dict[str, Any]:
    """Return the table of a draft.

    Raises:
        InputError: the file has no such table, or the table is no draft.
    """
    table = parse_toml(path).get(relation)
    if not isinstance(table, dict):
        raise InputError(f"{path} has no table [{relation}]: name the file that holds the draft")
    if table.get("status") != DRAFT:
        raise InputError(f'{path}: [{relation}] has no status = "{DRAFT}", so it was reviewed already')
    return table


def write_reviewed(
    path: Path, draft: Draft, texts: Mapping[str, Sequence[str]], instance: object, reviewer: str
) -> None:
    """Write the table anew; it stays a draft if a cell is marked. The rest of the file stays as it is.

    Args:
        texts: transformation -> the prototype and its further wordings, of the cells that pass.

    Raises:
        InputError: the table cannot be found as lines of their own. Nothing is written then.
    """
    status = f'status = "{DRAFT}"' if draft.marked else f"{REVIEWER} = {render_toml(reviewer)}"
    lines = [f"[{draft.relation}]", status, f"instance = {render_toml(instance)}"]
    for name, cell in draft.cells.items():
        written = f"{name} = {render_toml(list(texts.get(name, ())))}  # {escape_line(cell.origin)}"
        lines.append(written if cell.is_passing else render_marked(cell))
    table = "\n".join(lines) + "\n"
    before = path.read_text(encoding="utf-8-sig")
    after = _splice(before, draft.relation, COMMENT + table if draft.marked else table)
    if after is None or tomllib.loads(after) != tomllib.loads(before) | tomllib.loads(table):
        raise InputError(
            f"{path}: the lines of [{draft.relation}] cannot be told from the others: write the header "
            "of each table on a line of its own"
        )
    write_bytes(path, after.encode())


def _splice(text: str, relation: str, table: str) -> str | None:
    """Return the text with the relation's table replaced, or None if its header is not found."""
    headers = list(_HEADER.finditer(text))
    names = [header[0].partition("]")[0].strip("[ \t\"'") for header in headers]
    if relation not in names:
        return None
    place = names.index(relation)
    start = headers[place].start()
    end = headers[place + 1].start() if place + 1 < len(headers) else len(text)
    # The comment above the next draft belongs to that one.
    if (comment := text.find(COMMENT, start, end)) != -1:
        end = comment
    rest = text[end:]
    return text[:start].removesuffix(COMMENT) + table + ("\n" + rest if rest else "")
