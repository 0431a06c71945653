"""Sheets on which doctors say whether the false twins of an edition could be true.

A false twin that is true in the world is the worst defect of a test set: every right answer about it counts
as wrong. Twins that could be true become rows of the base with `also_true`, which are never tested or drawn.
"""

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from commands.review.sheet import VERDICT, SheetRow, find_edition, read_sheet, render_rows, require_correct
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order
from pretexeval.storage import layout
from pretexeval.storage.files import read_stage_files, write_atomically, write_bytes
from pretexeval.storage.records import read_manifest, read_manifest_files
from schemas.columns import Stage
from schemas.stages import STATEMENTS, TRIPLETS

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

`pretexeval review import SHEET` writes the rows with `yes` and `unsure` to `also_true.csv` with the columns
head, relation, tail and also_true. Put it beside the files of the knowledge base, if `path` in `[knowledge]`
is a folder, or add its rows to the base's table. The next edition then has another name and never draws these
twins.
"""


@dataclass(frozen=True)
class FalseTwin:
    """A false triplet of an edition with its plain statement."""

    triplet_id: str
    relation: str
    head: str
    tail: str
    text: str


def list_twins(root: Path, edition_id: str, n_pairs: int | None = None) -> list[FalseTwin]:
    """Return the false twins that an edition tests, in an order that mixes relations and heads.

    Args:
        n_pairs: how many of each relation, those that a run with `--limit` asks about; None: all of them.

    Raises:
        InputError: the edition is not complete, or it has no triplets.
    """
    read_manifest(root, edition_id)
    twins = _read_rows(root, edition_id, TRIPLETS).filter(~pl.col("is_positive"), split="test")
    asked = [
        pair_id
        for (_,), group in twins.group_by("relation")
        for pair_id in draw_order(group["pair_id"], "asked")[:n_pairs]
    ]
    plain = _read_rows(root, edition_id, STATEMENTS).filter(transformation="none")
    chosen = twins.filter(pl.col("pair_id").is_in(asked)).join(
        plain.select("triplet_id", "statement"), on="triplet_id"
    )
    found = {
        row[0]: FalseTwin(*row)
        for row in chosen.select("triplet_id", "relation", "head", "tail", "statement").iter_rows()
    }
    return [found[triplet_id] for triplet_id in draw_order(found, "negatives")]


def _read_rows(root: Path, edition_id: str, stage: Stage) -> pl.DataFrame:
    refs = list(read_manifest_files(root, edition_id, stage.name).values())
    if not refs:
        raise InputError(f"{edition_id} has no false twins to judge: it holds the questions of a bank")
    return read_stage_files(root, refs, stage)


def export_twins(root: Path, edition_id: str, n_pairs: int | None = None) -> list[Path]:
    """Write the sheet, without verdicts, and its instructions; return their paths.

    Raises:
        InputError: as `list_twins`; or the sheet exists.
    """
    rows = [
        (f"t-{each.triplet_id}", (each.head, each.relation, each.tail), [each.text])
        for each in list_twins(root, edition_id, n_pairs)
    ]
    folder = root / layout.review_folder(edition_id)
    sheet, instructions = folder / "twins.csv", folder / "twins-instructions.md"
    if sheet.exists():
        raise InputError(f"{sheet} exists already and may contain verdicts: import it, or delete it")
    write_bytes(instructions, INSTRUCTIONS.encode())
    write_bytes(sheet, render_rows(edition_id, ["statement", VERDICT], rows))
    return [sheet, instructions]


def import_twins(root: Path, path: Path) -> tuple[Path, int, int]:
    """Write the twins that could be true to `reviews/<edition_id>/also_true.csv`, as rows of a base.

    Returns:
        The path, how many twins could be true, and how many were judged. No file is written if none could be
        true, because an empty file is no part of a knowledge base.

    Raises:
        InputError: the sheet is of another edition, or a cell is wrong (the message lists all). Nothing is
            written then.
    """
    rows = read_sheet(path)
    edition_id = find_edition(path, rows)
    known = {f"t-{each.triplet_id}": each for each in list_twins(root, edition_id)}
    require_correct(path, _find_problems(rows, edition_id, known))
    verdicts = {row.cells["row_id"]: row.cells[VERDICT].casefold() for row in rows if row.cells[VERDICT]}
    chosen = [known[row_id] for row_id in sorted(verdicts) if verdicts[row_id] in ALSO_TRUE]
    table = pl.DataFrame(
        [(each.head, each.relation, each.tail, "true") for each in chosen],
        schema=["head", "relation", "tail", "also_true"],
        orient="row",
    )
    target = root / layout.review_folder(edition_id) / "also_true.csv"
    if not table.is_empty():
        with write_atomically(target) as aside:
            table.write_csv(aside)
    return target, len(chosen), len(verdicts)


def _find_problems(rows: Sequence[SheetRow], edition_id: str, known: dict[str, FalseTwin]) -> Iterator[str]:
    seen: set[str] = set()
    for row in rows:
        row_id, verdict = row.cells["row_id"], row.cells[VERDICT].casefold()
        if row.cells["edition"] != edition_id:
            yield f"row {row.number}, edition: {row.cells['edition']!r} is not {edition_id!r}"
        elif row_id not in known:
            yield f"row {row.number}, row_id: {row_id!r} is no false twin of this edition"
        elif row_id in seen:
            yield f"row {row.number}, row_id: {row_id!r} appears twice"
        if verdict and verdict not in VERDICTS:
            yield f"row {row.number}, {VERDICT}: {verdict!r} is none of {', '.join(VERDICTS)}"
        seen.add(row_id)
