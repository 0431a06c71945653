"""Write drafted prototypes as a TOML pool in which the relation has the status draft."""

import re
from collections.abc import Iterator
from pathlib import Path

from drafting.cells import Draft, DraftedCell
from primitives.errors import InputError
from primitives.toml_files import parse_toml, render_toml
from primitives.untrusted_text import escape_line
from prototypes.toml_pool import DRAFT
from storage.files import write_bytes

# Names of relations in a knowledge base.
NAME = r"[A-Za-z0-9][A-Za-z0-9_-]*"
COMMENT = """\
# Drafts: a run refuses them unless allow_drafts = true in [edition]. Read every text. A cell whose draft
# failed a check is a comment, so the relation is not complete before you write this cell. Then name the two
# predicates in `instance`, and delete the line `status`.
"""


def add_draft(path: Path, draft: Draft) -> None:
    """Add the relation's table to the file, which is made if it does not exist.

    Raises:
        InputError: as `require_free`.
    """
    require_free(path, draft.relation)
    before = path.read_text(encoding="utf-8-sig").rstrip("\n") + "\n\n" if path.exists() else ""
    write_bytes(path, (before + render_draft(draft)).encode())


def require_free(path: Path, relation: str) -> None:
    """Check that the relation's table can be added to the file.

    Raises:
        InputError: the relation's name is none, the file is no TOML, or it has the relation already.
    """
    if relation == "extends" or re.fullmatch(NAME, relation) is None:
        raise InputError(
            f"relation {relation!r} cannot name a table and a file: use letters, digits, _ and -"
        )
    if path.suffix != ".toml":
        raise InputError(f"{path}: prototypes are written as TOML: choose a name that ends in .toml")
    if path.exists() and relation in parse_toml(path):
        raise InputError(f"{path} has the relation {relation!r} already: nothing was written")


def render_draft(draft: Draft) -> str:
    """Return the table as TOML. What others wrote is quoted as in JSON, so that it stays within its line."""
    head = [f"[{draft.relation}]", f'status = "{DRAFT}"', 'instance = ["P", "Q"]']
    return COMMENT + "\n".join([*head, *_list_lines(draft)]) + "\n"


def _list_lines(draft: Draft) -> Iterator[str]:
    for name, cell in draft.cells.items():
        if cell.is_passing:
            yield f"{name} = [{render_toml(cell.text)}]  # {escape_line(cell.origin)}"
        else:
            yield render_marked(cell)


def render_marked(cell: DraftedCell) -> str:
    """Return the line of a cell that a person must write: a comment, with what is wrong with the draft."""
    marks = escape_line("; ".join(cell.marks))
    said = "" if cell.text is None else f": {render_toml(escape_line(cell.text))}"
    return f"# {cell.transformation} is missing ({marks}){said}"
