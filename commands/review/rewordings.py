"""The sheet on which people judge rewordings that the gate accepted, the most doubtful first."""

from difflib import SequenceMatcher
from pathlib import Path

import polars as pl

from commands.review.sheet import (
    REWORDING,
    VERDICT,
    find_edition,
    read_sheet,
    render_rows,
    require_correct,
)
from commands.review.verdicts import find_problems
from pretexeval.primitives.errors import InputError
from pretexeval.storage import layout
from pretexeval.storage.files import read_stage_files, write_bytes
from pretexeval.storage.records import find_record, read_manifest, read_manifest_files, write_record
from schemas.columns import Stage
from schemas.stages import ATTEMPTS, STATEMENTS, TRIPLETS
from tasks.judging.writer_errors import Verdicts, estimate_after_reading

SAME, WRONG = "same", "wrong"
COLUMNS = ("statement", REWORDING, "likeness", VERDICT)
INSTRUCTIONS = f"""\
# Do these texts say the same?

A language model reworded each statement, and a program accepted the result. Write into the column
`{VERDICT}`:

- `{SAME}`: whoever believes the statement believes the rewording, and the other way round.
- `{WRONG}`: the rewording says something else, or is no sentence.

It does not matter whether the statement is true. The rows begin with the rewordings that are least like
their statements. You may stop anywhere, and write a reason in `comment`. Change no other cell, and save the
sheet as CSV. `pretexeval review import SHEET` reads it, and the next `pretexeval publish` shows the new
estimate.
"""


def export_rewordings(root: Path, edition_id: str) -> list[Path]:
    """Write the sheet `rewordings.csv`, without verdicts, and its instructions; return their paths.

    Raises:
        InputError: the gate accepted no text of a language model, or the sheet exists.
    """
    rows = [
        (row["row_id"], (row["head"], row["relation"], row["tail"]), [str(row[name]) for name in COLUMNS[:3]])
        for row in _list_accepted(root, edition_id).iter_rows(named=True)
    ]
    folder = root / layout.review_folder(edition_id)
    sheet, instructions = folder / "rewordings.csv", folder / "rewordings-instructions.md"
    if sheet.exists():
        raise InputError(f"{sheet} exists already and may contain verdicts: import it, or delete it")
    write_bytes(instructions, INSTRUCTIONS.encode())
    write_bytes(sheet, render_rows(edition_id, COLUMNS, rows))
    return [sheet, instructions]


def import_rewordings(root: Path, path: Path) -> tuple[Path, int, int]:
    """Estimate the wrong texts of the edition again, with the verdicts of a sheet and of earlier ones.

    Returns:
        The path of the record, how many texts are wrong, and how many were judged.

    Raises:
        InputError: the sheet is of another edition, has no verdict, or a cell is wrong.
    """
    rows = read_sheet(path)
    edition_id = find_edition(path, rows)
    known = set(_list_accepted(root, edition_id)["row_id"])
    require_correct(path, find_problems(rows, edition_id, known, (SAME, WRONG), "accepted rewording"))
    target = root / layout.rewordings_record(edition_id)
    given = {row.cells["row_id"]: row.cells[VERDICT].casefold() for row in rows if row.cells[VERDICT]}
    earlier = (find_record(target, "it is written again", edition_id=edition_id) or {}).get("verdicts", {})
    verdicts = earlier | given
    if not verdicts:
        raise InputError(f"{path} has no verdict: write {SAME} or {WRONG} into the column {VERDICT}")
    found = read_manifest(root, edition_id)["wrong_texts"]
    counts = Verdicts(*(found[name] for name in ("n_attempts", "n_passed", "n_accepted", "max_new_words")))
    n_wrong = sum(verdict == WRONG for verdict in verdicts.values())
    estimate = estimate_after_reading(counts, len(verdicts), n_wrong)
    wrong_texts = {**found, **vars(estimate), "n_read": len(verdicts), "n_read_wrong": n_wrong}
    write_record(target, {"edition_id": edition_id, "wrong_texts": wrong_texts, "verdicts": verdicts})
    return target, n_wrong, len(verdicts)


def _list_accepted(root: Path, edition_id: str) -> pl.DataFrame:
    """Return the rewordings that the gate accepted, those first that are least like their statements."""
    if not read_manifest(root, edition_id).get("wrong_texts"):
        raise InputError(f"{edition_id} has no texts of a language model that the gate checked")
    attempts, statements, triplets = (
        _read_rows(root, edition_id, stage) for stage in (ATTEMPTS, STATEMENTS, TRIPLETS)
    )
    accepted = (
        attempts.filter("is_accepted")
        .join(statements.select("variant_id", "triplet_id", "statement"), on="variant_id")
        .join(triplets.select("triplet_id", "head", "tail"), on="triplet_id")
    )
    pairs = accepted.select("statement", "text").iter_rows()
    likeness = [SequenceMatcher(None, one.split(), other.split()).ratio() for one, other in pairs]
    return accepted.select(
        ("r-" + pl.col("variant_id")).alias("row_id"),
        "relation",
        "head",
        "tail",
        "statement",
        pl.col("text").alias(REWORDING),
        pl.Series("likeness", likeness, pl.Float64).round(2),
    ).sort("likeness", "row_id")


def _read_rows(root: Path, edition_id: str, stage: Stage) -> pl.DataFrame:
    return read_stage_files(root, [*read_manifest_files(root, edition_id, stage.name).values()], stage)
