"""Sheets on which doctors say whether the false twins of an edition could be true.

A false twin that is true in the world is the worst defect of a test set: every right answer about it counts
as wrong. Twins that could be true become rows of the base with `also_true`, which are never tested or drawn.
"""

import codecs
import csv
import io
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from config.file import Config
from primitives.errors import InputError
from primitives.hashing import draw_order
from primitives.untrusted_text import escape_cell
from review.sheet import SheetRow, read_sheet
from storage.files import write_atomically, write_bytes
from tasks.edition.buildable import require_buildable
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tasks.edition.preview import preview_pieces

VERDICT = "could_be_true"
REQUIRED = ("edition", "row_id", VERDICT)
VERDICTS = ("yes", "no", "unsure")
ALSO_TRUE = ("yes", "unsure")
"""The verdicts for which a twin is no longer drawn: labels need a base that contains every arguable fact."""
INSTRUCTIONS = f"""\
# Could these statements be true?

Each row of the sheet has a statement that a test of language models counts as false. It was made from a fact
of a medical knowledge base by replacing one of its two names, so nobody has checked it yet.

Write one of these words into the column `{VERDICT}`:

- `no`: no textbook and no colleague would call the statement true.
- `yes`: it is true, or true of some patients.
- `unsure`: one could argue for it.

Judge the statement about the world, not its English. You may write a reason in `comment`, leave rows empty,
and sort or delete rows. Change no other cell, and save the sheet as CSV.

# What happens with your verdicts

`pretexeval review also-true CONFIG SHEET FILE` writes the rows with `yes` and `unsure` to a new file with the
columns head, relation, tail and also_true. Put it beside the files of the knowledge base, if `path` in
`[knowledge]` is a folder, or add its rows to the base's table. The next edition then has another name and
never draws these twins.
"""


@dataclass(frozen=True)
class Negative:
    """A false twin."""

    triplet_id: str
    relation: str
    head: str
    tail: str
    text: str
    """Its plain statement."""


def list_negatives(config: Config, n_pairs: int | None) -> tuple[Edition, list[Negative]]:
    """Return the edition and the false twins that it tests, in an order that mixes relations and heads.

    Args:
        n_pairs: how many of each relation, those that a run with `--limit` asks about; None: all of them.

    Raises:
        InputError: the edition cannot be built, or it has no triplets.
    """
    edition = plan_edition(config)
    require_buildable(edition)
    if not edition.has_triplets:
        raise InputError("the questions of a bank have no false twins to judge")
    twins: dict[str, list[pl.DataFrame]] = {}
    for piece in preview_pieces(edition):
        plain = piece.statements.filter(transformation="none").select("triplet_id", "statement")
        of_piece = piece.triplets.filter(~pl.col("is_positive"), split="test").join(plain, on="triplet_id")
        twins.setdefault(piece.relation, []).append(_select_first(of_piece, n_pairs))
    found = {
        row["triplet_id"]: Negative(row["triplet_id"], relation, row["head"], row["tail"], row["statement"])
        for relation, parts in twins.items()
        for row in _select_first(pl.concat(parts), n_pairs).iter_rows(named=True)
    }
    return edition, [found[triplet_id] for triplet_id in draw_order(found, "negatives")]


def _select_first(twins: pl.DataFrame, n_pairs: int | None) -> pl.DataFrame:
    """Return the false twins of the pairs that are asked first."""
    return twins.filter(pl.col("pair_id").is_in(draw_order(twins["pair_id"], "asked")[:n_pairs]))


def export_negatives(config: Config, path: Path, n_pairs: int | None) -> list[Path]:
    """Write the sheet and its instructions, and return their paths.

    Raises:
        InputError: as `list_negatives`; or one of the files exists.
    """
    edition, negatives = list_negatives(config, n_pairs)
    instructions = path.with_name(f"{path.stem}-instructions.md")
    contents = {path: render_sheet(edition.edition_id, negatives), instructions: INSTRUCTIONS.encode()}
    for target in contents:
        _require_new(target)
    for target, content in contents.items():
        write_bytes(target, content)
    return list(contents)


def render_sheet(edition_id: str, negatives: Sequence[Negative]) -> bytes:
    """Return the sheet with empty verdicts, as CSV in UTF-8 with a byte-order mark."""
    text = io.StringIO(newline="")
    writer = csv.writer(text)
    writer.writerow(["edition", "row_id", "triplet", "statement", VERDICT, "comment"])
    for each in negatives:
        triplet = " | ".join((each.head, each.relation.replace("_", " "), each.tail))
        cells = (edition_id, f"t-{each.triplet_id}", triplet, each.text, "", "")
        writer.writerow([escape_cell(cell) for cell in cells])
    return codecs.BOM_UTF8 + text.getvalue().encode()


def import_verdicts(config: Config, sheet: Path, path: Path) -> tuple[int, int]:
    """Write the twins that could be true as rows with `also_true`; return how many, and how many were judged.

    No file is written if there are none, because an empty file is no part of a knowledge base.

    Raises:
        InputError: the sheet is of another edition, a cell is wrong (the message lists all), or the file
            exists. Nothing is written then.
    """
    _require_new(path)
    edition, negatives = list_negatives(config, None)
    known = {f"t-{each.triplet_id}": each for each in negatives}
    rows = read_sheet(sheet, REQUIRED)
    if problems := list(_find_problems(rows, edition.edition_id, known)):
        listed = "\n  ".join(problems)
        raise InputError(f"{sheet}: nothing was written, correct {len(problems)} places:\n  {listed}")
    verdicts = {row.cells["row_id"]: row.cells[VERDICT].casefold() for row in rows if row.cells[VERDICT]}
    chosen = [known[row_id] for row_id in sorted(verdicts) if verdicts[row_id] in ALSO_TRUE]
    table = pl.DataFrame(
        [(each.head, each.relation, each.tail, "true") for each in chosen],
        schema=["head", "relation", "tail", "also_true"],
        orient="row",
    )
    if not table.is_empty():
        with write_atomically(path) as aside:
            table.write_csv(aside)
    return len(chosen), len(verdicts)


def _find_problems(rows: Sequence[SheetRow], edition_id: str, known: dict[str, Negative]) -> Iterator[str]:
    seen: set[str] = set()
    for row in rows:
        row_id, verdict = row.cells["row_id"], row.cells[VERDICT].casefold()
        if row.cells["edition"] != edition_id:
            yield (
                f"row {row.number}, edition: {row.cells['edition']!r} is not {edition_id!r}, which the "
                "configuration describes"
            )
        elif row_id not in known:
            yield f"row {row.number}, row_id: {row_id!r} is no false twin of this edition"
        elif row_id in seen:
            yield f"row {row.number}, row_id: {row_id!r} appears twice"
        if verdict and verdict not in VERDICTS:
            yield f"row {row.number}, {VERDICT}: {verdict!r} is none of {', '.join(VERDICTS)}"
        seen.add(row_id)


def _require_new(path: Path) -> None:
    if path.exists():
        raise InputError(f"{path} exists already: delete it, or choose another name")
