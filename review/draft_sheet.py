"""The sheet on which a person reads drafted prototypes, corrects them, or rejects them."""

import codecs
import csv
import io
from pathlib import Path

from drafting.cells import Draft
from primitives.errors import InputError
from primitives.untrusted_text import escape_cell
from schemas.transformations import POSITIVE_OF
from storage.files import write_bytes

COLUMNS = ("relation", "row_id", "meaning", "text", "by", "problems", "is_good", "correction", "comment")
INSTRUCTIONS = """\
# Are these sentences right?

Each row of the sheet is one of the eight forms in which a test asks the facts of a relation. A program
drafted them. `[X]` stands for the first name of a fact and `[Y]` for the second one. The first row was given;
all others must say the same, or deny it, as `meaning` says. `problems` lists what the checks of the program
found: such a text is not used. An empty `problems` does not mean that the text is right.

- `none` is the sentence that was given, `inv` says it from the side of `[Y]`.
- `ins` and `inv_ins` say it of one patient. They must not say more than the fact: "This drug is among those
  that may cause [Y]", and not "This patient may get [Y]".
- The four denials must be false whenever the sentence that they deny is true, and true whenever it is false:
  "cannot", and not "may not".

Write `yes` or `no` into `is_good`, and a better sentence into `correction`. Change no other cell, and save
the sheet as CSV. `pretexeval review drafts SHEET FILE --reviewer NAME` then checks every text once more and
writes it into the file of the draft.
"""


def export_draft(draft: Draft, path: Path) -> list[Path]:
    """Write the sheet and its instructions, and return their paths.

    Raises:
        InputError: one of the files exists.
    """
    contents = {path: render_sheet(draft), path.with_suffix(".md"): INSTRUCTIONS.encode()}
    require_new(*contents)
    for target, content in contents.items():
        write_bytes(target, content)
    return list(contents)


def render_sheet(draft: Draft) -> bytes:
    """Return the sheet without verdicts, one row per cell, as CSV in UTF-8 with a byte-order mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(COLUMNS)
    for name, cell in draft.cells.items():
        meaning = f"denies {POSITIVE_OF[name]}" if name in POSITIVE_OF else "the fact"
        cells = (
            draft.relation,
            name,
            meaning,
            cell.text or "",
            cell.origin,
            "; ".join(cell.marks),
            "",
            "",
            "",
        )
        writer.writerow([escape_cell(each) for each in cells])
    return codecs.BOM_UTF8 + text.getvalue().encode()


def require_new(*paths: Path) -> None:
    """Raise InputError if one of the files exists."""
    for path in paths:
        if path.exists():
            raise InputError(f"{path} exists already: delete it, or choose another name")
