"""Sheets on which doctors judge labels: the false twins, the facts, or those that the models dispute.

A wrong label is the worst defect of a test set: every right answer about it counts as wrong. The verdicts
that contradict a label become the table `verdicts` of the base, which outweighs its facts from then on.
"""

from collections.abc import Collection, Iterator, Sequence
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
from warehouse.query import open_warehouse

LABEL_IS_RIGHT = "label is right"
VERDICTS = ("also_true", "also_false", "undecided", LABEL_IS_RIGHT)
SHOWN = ("statement", "label", "contradicted_by", "doubt", "doubt_reason")
TRIPLET = ("relation", "head", "head_id", "tail", "tail_id")
# A triplet may be disputed by several methods; the sheet shows the one with the largest share of models.
DISPUTED = """
select triplet_id, n_contradicting || ' of ' || n_models || ' models' as contradicted_by
from disputed_facts
where edition_id = ?
qualify row_number() over (
    partition by triplet_id order by contradicting_rate desc, n_models desc, method, scoring_policy
) = 1
order by contradicting_rate desc, n_models desc, triplet_id
"""
INSTRUCTIONS = f"""\
# Are these labels right?

Each row of a sheet has a statement, and in the column `label` what a test of language models takes it to be:
true or false. True statements are facts of a medical knowledge base. False ones were made from such a fact
by replacing one of its two names, so nobody has checked them yet.

Write one of these words into the column `{VERDICT}`:

- `{LABEL_IS_RIGHT}`: no textbook and no colleague would say otherwise.
- `also_true`: the statement is true, or true of some patients.
- `also_false`: the statement is false.
- `undecided`: one could argue for it and against it.

`doubt` is an estimate of the chance that the label is wrong, and `doubt_reason` says what speaks against the
label. `contradicted_by` counts the language models whose answers are against it. All of this may be wrong:
judge the statement about the world. Its English does not matter.

You may write a reason in `comment`, leave rows empty, and sort or delete rows. Change no other cell, and save
the sheet as CSV.

# What happens with your verdicts

`pretexeval review import SHEET` writes the verdicts that contradict a label into a table, and prints its
path. Name this file as `verdicts` in [knowledge] of the configuration. The next edition then has another
name. It asks nothing about what is undecided, and takes the other statements for what you say that they are.
"""


def export_verdicts(root: Path, edition_id: str, what: str, n_pairs: int | None = None) -> list[Path]:
    """Write the sheet `<what>.csv`, without verdicts, and its instructions; return their paths.

    Args:
        what: `negatives` and `positives` have the false and the true triplets that the edition tests, the
            false ones that are most likely true first; `disputed` has those of the view disputed_facts.
        n_pairs: how many pairs of each relation, those that a run with `--limit` asks about; None: all.

    Raises:
        InputError: the edition is not complete or has no triplets, no label is disputed, or the sheet exists.
    """
    chosen = list_triplets(root, edition_id, n_pairs)
    if what == "disputed":
        chosen = _read_disputed(root, edition_id).join(chosen, on="triplet_id", maintain_order="left")
    else:
        chosen = chosen.filter(is_positive=what == "positives")
    shown = chosen.with_columns(
        label=pl.when("is_positive").then(pl.lit("true")).otherwise(pl.lit("false")),
        doubt=pl.format("{} %", (100 * pl.col("doubt")).round_sig_figs(2)),
    )
    columns = [name for name in SHOWN if name in shown.columns]
    shown = shown.with_columns(pl.col(columns).fill_null(""))
    rows = [
        (
            f"t-{row['triplet_id']}",
            (row["head"], row["relation"], row["tail"]),
            [row[name] for name in columns],
        )
        for row in shown.iter_rows(named=True)
    ]
    folder = root / layout.review_folder(edition_id)
    sheet, instructions = folder / f"{what}.csv", folder / "verdicts-instructions.md"
    if sheet.exists():
        raise InputError(f"{sheet} exists already and may contain verdicts: import it, or delete it")
    write_bytes(instructions, INSTRUCTIONS.encode())
    write_bytes(sheet, render_rows(edition_id, [*columns, VERDICT], rows))
    return [sheet, instructions]


def list_triplets(root: Path, edition_id: str, n_pairs: int | None = None) -> pl.DataFrame:
    """Return the triplets that an edition tests, the most doubtful first, with the column statement.

    Triplets that are equally doubtful are in an order that mixes relations and heads.
    """
    read_manifest(root, edition_id)
    tested = _read_rows(root, edition_id, TRIPLETS).filter(split="test")
    asked = [
        pair_id
        for (_,), group in tested.filter("is_positive").group_by("relation")
        for pair_id in draw_order(group["pair_id"], "asked")[:n_pairs]
    ]
    plain = _read_rows(root, edition_id, STATEMENTS).filter(transformation="none")
    order = pl.DataFrame({"triplet_id": draw_order(tested["triplet_id"], "verdicts")})
    return (
        order.join(tested.filter(pl.col("pair_id").is_in(asked)), on="triplet_id", maintain_order="left")
        .join(plain.select("triplet_id", "statement"), on="triplet_id", maintain_order="left")
        .sort("doubt", descending=True, nulls_last=True, maintain_order=True)
    )


def _read_rows(root: Path, edition_id: str, stage: Stage) -> pl.DataFrame:
    refs = list(read_manifest_files(root, edition_id, stage.name).values())
    if not refs:
        raise InputError(f"{edition_id} has no labels to judge: it holds the questions of a bank")
    return read_stage_files(root, refs, stage)


def _read_disputed(root: Path, edition_id: str) -> pl.DataFrame:
    """Return triplet_id and contradicted_by of the disputed triplets, the most disputed first."""
    with open_warehouse(root) as connection:
        disputed = connection.execute(DISPUTED, [edition_id]).fetchall()
    if not disputed:
        raise InputError(
            f"the models dispute no label of {edition_id} in {root / layout.WAREHOUSE}: publish the answers "
            "of at least two models that master more than the best shortcut, or export the negatives"
        )
    return pl.DataFrame(disputed, ["triplet_id", "contradicted_by"], orient="row")


def import_verdicts(root: Path, path: Path) -> tuple[Path, int, int]:
    """Write the verdicts that contradict a label to `reviews/<name of the base>-verdicts.csv`.

    The file has the columns of TRIPLET and verdict. A verdict replaces an earlier one on the same triplet.
    The other rows of the file stay, which may be those of other editions of the base.

    Returns:
        The path, how many verdicts contradict the label, and how many triplets were judged. No new file is
        written without such verdicts, because a base cannot have an empty table.

    Raises:
        InputError: the sheet is of another edition, or a cell is wrong (the message lists all). Nothing is
            written then.
    """
    rows = read_sheet(path)
    edition_id = find_edition(path, rows)
    triplets = list_triplets(root, edition_id).with_columns(row_id="t-" + pl.col("triplet_id"))
    known = set(triplets["row_id"])
    require_correct(path, find_problems(rows, edition_id, known, VERDICTS, "triplet that this edition tests"))
    given = {row.cells["row_id"]: row.cells[VERDICT].casefold() for row in rows if row.cells[VERDICT]}
    verdicts = pl.DataFrame(list(given.items()), {"row_id": pl.String, "verdict": pl.String}, orient="row")
    judged = verdicts.join(triplets, on="row_id")
    label = pl.when("is_positive").then(pl.lit("also_true")).otherwise(pl.lit("also_false"))
    contradicting = judged.filter(pl.col("verdict") != LABEL_IS_RIGHT, pl.col("verdict") != label)
    contradicting = contradicting.select(*TRIPLET, "verdict")
    target = root / layout.REVIEWS_FOLDER / f"{read_manifest(root, edition_id)['kb']}-verdicts.csv"
    earlier = (
        pl.read_csv(target.read_bytes(), infer_schema=False) if target.exists() else contradicting.clear()
    )
    kept = earlier.join(judged, on=TRIPLET, how="anti", nulls_equal=True)
    table = pl.concat([kept, contradicting]).sort(TRIPLET)
    if target.exists() or not table.is_empty():
        with write_atomically(target) as aside:
            table.write_csv(aside)
    return target, contradicting.height, judged.height


def find_problems(
    rows: Sequence[SheetRow], edition_id: str, known: Collection[str], verdicts: Sequence[str], what: str
) -> Iterator[str]:
    """Yield what is wrong with the rows of a sheet of verdicts.

    Args:
        known: the row ids that a sheet of the edition may have; what: what they are.
        verdicts: those that are allowed.
    """
    seen: set[str] = set()
    for row in rows:
        row_id, verdict = row.cells["row_id"], row.cells[VERDICT].casefold()
        if row.cells["edition"] != edition_id:
            yield f"row {row.number}, edition: {row.cells['edition']!r} is not {edition_id!r}"
        elif row_id not in known:
            yield f"row {row.number}, row_id: {row_id!r} is no {what}"
        elif row_id in seen:
            yield f"row {row.number}, row_id: {row_id!r} appears twice"
        if verdict and verdict not in verdicts:
            yield f"row {row.number}, {VERDICT}: {verdict!r} is none of {', '.join(verdicts)}"
        seen.add(row_id)
