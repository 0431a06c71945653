"""Export sheets on which people judge an edition, and import their verdicts.

A reviewer grades samples without knowing which method made them (PretexEval, appendix H), or says whether a
label or a rewording is right. All sheets have the same columns, and all verdicts are one table. A row id is a
hash, in which nobody sees what the row stands for, and it differs between reviewers.
"""

import re
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl

from commands.review.items import LABELS, list_items, read_rows
from commands.review.sheet import (
    GRADES,
    LABEL_IS_RIGHT,
    WRONG,
    SheetRow,
    find_problems,
    read_sheet,
    render_sheet,
)
from pretexeval.knowledge.names import CELLS
from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.hashing import draw_order, hash_text
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.storage import layout
from pretexeval.storage.files import write_atomically, write_bytes, write_stage_file
from pretexeval.storage.records import key_content, read_manifest, write_record
from schemas.stages import HUMAN_VERDICTS, TRIPLETS
from tasks.judging.writer_errors import Verdicts, estimate_after_reading
from tasks.quality.validation import check_stage
from warehouse.sources import list_reviews

# These names are valid for files on every system, and they do not make hidden files.
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Row ids are letters, because a spreadsheet reads 12e45678 as a number. Without vowels, they form no words.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")
KIND_OF = {**dict.fromkeys(GRADES, "grades"), "rewording": "rewordings"}
"""Question -> kind of sheet. Labels have several kinds."""
N_GRADED = 50
INSTRUCTIONS = Path(__file__).with_name("instructions.md")


def export_sheets(
    root: Path, edition_id: str, kind: str, reviewers: Sequence[str], n_pairs: int | None = None
) -> list[Path]:
    """Write a sheet `<kind>-<reviewer>.csv` for every reviewer, and the instructions; return the paths.

    All reviewers get the same items; those of grades are in another order for each.

    Args:
        kind: as for `list_items`.
        n_pairs: as for `list_items`; None: N_GRADED for grades, and all others.

    Raises:
        InputError: the edition is not complete or has nothing to review, the name of a reviewer is not valid
            as a file name, or a sheet exists.
    """
    folder = root / layout.review_folder(edition_id)
    sheets = {reviewer: folder / f"{kind}-{reviewer}.csv" for reviewer in reviewers}
    for reviewer, path in sheets.items():
        if not FILE_NAME.fullmatch(reviewer):
            raise InputError(
                f"reviewer {reviewer!r} is not valid as a file name: use letters, digits, . _ and -, "
                "and begin with a letter or a digit"
            )
        if path.exists():
            raise InputError(f"{path} exists already and may contain verdicts: import it, or delete it")
    items = list_items(root, edition_id, kind, n_pairs or (N_GRADED if kind == "grades" else None))
    write_bytes(folder / INSTRUCTIONS.name, INSTRUCTIONS.read_bytes())
    for reviewer, path in sheets.items():
        shown = items
        if kind == "grades":
            drawn = draw_order(items["item_id"].unique(), edition_id, reviewer)
            shown = pl.DataFrame({"item_id": drawn}).join(items, on="item_id", maintain_order="left_right")
        write_bytes(path, render_sheet(_list_rows(edition_id, reviewer, shown)))
    return [*sheets.values(), folder / INSTRUCTIONS.name]


def _list_rows(edition_id: str, reviewer: str, items: pl.DataFrame) -> Iterator[dict[str, str]]:
    """Yield the cells of the rows of a sheet."""
    for item in items.iter_rows(named=True):
        yield {
            "edition": edition_id,
            "reviewer": reviewer,
            "question": item["question"],
            "row_id": _name_row(edition_id, reviewer, item["question"], item["item_id"]),
            "triplet": " | ".join((item["head"], item["relation"].replace("_", " "), item["tail"])),
            "text": item["text"],
            "note": item["note"],
        }


def _name_row(*parts: str) -> str:
    return hash_text("review", *parts, digits=12).translate(LETTERS)


def import_sheet(root: Path, path: Path) -> tuple[Path, list[str]]:
    """Add the verdicts of a sheet to `reviews/<edition_id>/<reviewer>.parquet`, and use them.

    A verdict replaces an earlier one of the reviewer on the same question and item. Verdicts against labels
    go into the table of the base, and those on rewordings into the estimate of wrong texts.

    Returns:
        The path of all verdicts of the reviewer, and lines that say what was done.

    Raises:
        InputError: the sheet has no verdict, or a cell is wrong. The message lists all of them, and nothing
            is written.
    """
    rows = read_sheet(path)
    edition_id, reviewer = (rows[0].cells[name] for name in ("edition", "reviewer"))
    for name in (edition_id, reviewer):
        if not FILE_NAME.fullmatch(name):
            raise InputError(f"{path} names no edition or no reviewer ({name!r}): use the exported sheet")
    items = _find_items(root, edition_id, reviewer, rows)
    if problems := list(find_problems(rows, items)):
        lines = "\n  ".join(problems)
        raise InputError(
            f"{path}: nothing was imported, correct {count_noun(len(problems), 'place')}:\n  {lines}"
        )
    given = [
        {
            "edition_id": edition_id,
            "reviewer": reviewer,
            "verdict": row.verdict,
            "comment": row.cells.get("comment") or None,
            **items[row.cells["row_id"]],
        }
        for row in rows
        if row.verdict
    ]
    if not given:
        raise InputError(f"{path} has no verdict: fill in the column verdict")
    verdicts = pl.DataFrame(given, HUMAN_VERDICTS.empty.schema)
    target = root / layout.review_folder(edition_id) / f"{reviewer}.parquet"
    earlier = read_parquet(target) if target.exists() else verdicts.clear()
    merged = pl.concat([earlier.join(verdicts, on=HUMAN_VERDICTS.key, how="anti"), verdicts])
    merged = merged.sort(HUMAN_VERDICTS.key)
    check = check_stage(HUMAN_VERDICTS, merged, f"{reviewer} on {edition_id}")
    file = write_stage_file(
        root, target.relative_to(root).as_posix(), merged, HUMAN_VERDICTS, has_page_checksums=True
    )
    content = key_content(HUMAN_VERDICTS.name, [file.sha256])
    record = layout.checks_record(edition_id, f"{HUMAN_VERDICTS.name}-{reviewer}")
    write_record(root / record, {**check, "content": content})
    said = [f"{verdicts.height} of {len(rows)} rows have a verdict"]
    if (judged := verdicts.filter(question="label")).height:
        said.append(_write_base_verdicts(root, edition_id, judged))
    if verdicts.filter(question="rewording").height:
        said.append(_estimate_wrong_texts(root, edition_id))
    return target, said


def _find_items(
    root: Path, edition_id: str, reviewer: str, rows: Sequence[SheetRow]
) -> Mapping[str, Mapping[str, str]]:
    """Return row id -> question, item_id, triplet_id and method of all rows that such a sheet may have."""
    kinds: dict[str, None] = {}
    for question in dict.fromkeys(row.cells["question"] for row in rows):
        if question == "label":
            kinds |= dict.fromkeys(LABELS[:2])
        elif question in KIND_OF:
            kinds[KIND_OF[question]] = None
    return {
        _name_row(edition_id, reviewer, item["question"], item["item_id"]): item
        for kind in kinds
        for item in list_items(root, edition_id, kind)
        .select("question", "item_id", "triplet_id", "method")
        .iter_rows(named=True)
    }


def _write_base_verdicts(root: Path, edition_id: str, verdicts: pl.DataFrame) -> str:
    """Write the verdicts that contradict a label to `reviews/<name of the base>-verdicts.csv`.

    The file has the columns of CELLS and verdict. The other rows of the file stay, which may be those of
    other editions of the base. No new file is written without such verdicts, because a base cannot have an
    empty table.
    """
    judged = verdicts.join(read_rows(root, edition_id, TRIPLETS), on="triplet_id")
    label = pl.when("is_positive").then(pl.lit("also_true")).otherwise(pl.lit("also_false"))
    contradicting = judged.filter(pl.col("verdict") != LABEL_IS_RIGHT, pl.col("verdict") != label)
    contradicting = contradicting.select(*CELLS, "verdict")
    target = root / layout.REVIEWS_FOLDER / f"{read_manifest(root, edition_id)['kb']}-verdicts.csv"
    earlier = contradicting.clear()
    if target.exists():
        earlier = pl.read_csv(target.read_bytes(), infer_schema=False)
    kept = earlier.join(judged, on=CELLS, how="anti", nulls_equal=True)
    table = pl.concat([kept, contradicting]).sort(CELLS)
    if target.exists() or not table.is_empty():
        with write_atomically(target) as temporary:
            table.write_csv(temporary)
    written = target if target.exists() else "nothing written"
    return f"{written}: {contradicting.height} of {judged.height} verdicts contradict the label"


def _estimate_wrong_texts(root: Path, edition_id: str) -> str:
    """Estimate the wrong texts of the edition from the verdicts of all its reviewers.

    A rewording that one of them takes for wrong counts as wrong.
    """
    verdicts = pl.concat(read_parquet(path) for path in list_reviews(root, edition_id))
    read = verdicts.filter(question="rewording")
    is_wrong = read.group_by("item_id").agg((pl.col("verdict") == WRONG).any())["verdict"]
    counts = {"n_read": is_wrong.len(), "n_read_wrong": int(is_wrong.sum())}
    found = read_manifest(root, edition_id)["wrong_texts"]
    names = ("n_attempts", "n_passed", "n_accepted", "max_new_words")
    estimate = estimate_after_reading(Verdicts(*(found[name] for name in names)), *counts.values())
    target = root / layout.rewordings_record(edition_id)
    wrong_texts = {**found, **vars(estimate), **counts}
    write_record(target, {"edition_id": edition_id, "wrong_texts": wrong_texts})
    n_wrong, n_read = counts["n_read_wrong"], counts["n_read"]
    return f"{target}: {n_wrong} of {n_read} rewordings are wrong; publish the edition again"
