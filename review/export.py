"""Human review, out: blinded sheets of samples for doctors to grade (PretexEval, appendix H).

One row of a sheet is the samples of one true triplet by one method, in no telling order. Which method it
was stands in the key alone, under a row id that nobody can compute without the key's salt. Every grader
gets the same samples, in an order and under row ids of their own: one's sheet is not taken for another's.
"""

import re
import secrets
from collections.abc import Sequence
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from primitives.errors import InputError
from primitives.hashing import draw_order, hash_text
from review.instructions import INSTRUCTIONS
from review.sheet import ReviewItem, render_sheet
from schemas.stages import SAMPLES, TRIPLETS
from storage import layout
from storage.files import read_stage_files, write_atomically, write_json
from storage.records import read_manifest, read_manifest_files

# What can name a file on every system, and not a hidden one.
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Letters: a spreadsheet would read 12e45678 as a number. No vowels: they make no words.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


class ReviewedRow(BaseModel):
    """What a row of a sheet hides."""

    triplet_id: str
    method: str


class ReviewKey(BaseModel):
    """`key.json`: how the samples were drawn, and what every row of every grader's sheet hides."""

    edition_id: str
    seed: int
    n_pairs: int
    salt: str
    graders: dict[str, dict[str, ReviewedRow]]
    """Grader -> row id -> what it hides."""


def review_folder(root: Path, edition_id: str) -> Path:
    """Where the sheets, the key and the grades of an edition lie."""
    return root / layout.review_folder(edition_id)


def export_review(
    root: Path, edition_id: str, graders: Sequence[str], n_pairs: int = 50, seed: int = 0
) -> list[Path]:
    """Write a sheet for every grader, the instructions, and the key; the paths, the key last.

    ``n_pairs`` test pairs are drawn by ``seed``, or all where there are fewer; of each the true triplet
    is graded. Graders who join later get theirs from the same samples by another call.

    Raises:
        InputError: if the edition is not complete, a grader cannot name a file, the review was drawn
            otherwise before, or a sheet is there that differs from the one to be written.
    """
    for grader in graders:
        require_grader(grader)
    if not graders or len(set(graders)) < len(graders):
        raise InputError(f"graders are {', '.join(graders) or 'none'}: name one or more, each once")
    if n_pairs < 1:
        raise InputError(f"{n_pairs} pairs cannot be reviewed: ask for one or more")
    items = draw_items(root, edition_id, n_pairs, seed)
    key = _open_key(root, edition_id, n_pairs, seed)
    folder = review_folder(root, edition_id)
    sheets = {grader: _render_grader_sheet(key, grader, items) for grader in graders}
    for grader, content in sheets.items():
        _require_unfilled(folder / sheet_name(grader), content)
    # The key first: no sheet is ever there that could not be read back.
    write_json(folder / layout.REVIEW_KEY, key.model_dump())
    contents = {sheet_name(grader): content for grader, content in sheets.items()}
    for name, content in {**contents, "instructions.md": INSTRUCTIONS.encode()}.items():
        with write_atomically(folder / name) as aside:
            aside.write_bytes(content)
    return [folder / name for name in (*contents, "instructions.md", "key.json")]


def sheet_name(grader: str) -> str:
    """The name of a grader's sheet."""
    return f"sheet-{grader}.csv"


def require_grader(grader: str) -> None:
    """Raises InputError for a name that cannot name a file."""
    if not FILE_NAME.fullmatch(grader):
        raise InputError(
            f"grader {grader!r} cannot name a file: use letters, digits, . _ and -, a letter or digit first"
        )


def read_key(root: Path, edition_id: str) -> ReviewKey:
    """The key of an edition's review.

    Raises:
        InputError: if there is none, or it cannot be read.
    """
    path = review_folder(root, edition_id) / layout.REVIEW_KEY
    try:
        return ReviewKey.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing: no review of edition {edition_id!r} was exported here; give the folder "
            "of data from which it was, or export it and have it graded"
        ) from None
    except ValidationError as error:
        raise InputError(
            f"{path} is no key of a review ({error.error_count()} faults): restore the file; without it "
            "nobody knows what was graded"
        ) from None


def draw_items(root: Path, edition_id: str, n_pairs: int, seed: int) -> list[ReviewItem]:
    """The true triplets of the pairs drawn, each with its samples by each method.

    True ones only, as in the paper: what is graded is how a fact is told, and of a falsehood a doctor
    would grade the falsehood.
    """
    read_manifest(root, edition_id)
    triplets, samples = (
        read_stage_files(root, list(read_manifest_files(root, edition_id, stage.name).values()))
        for stage in (TRIPLETS, SAMPLES)
    )
    positive = triplets.filter("is_positive", pl.col("split") == "test")
    drawn = draw_order(positive["pair_id"], "review", str(seed))[:n_pairs]
    told = (
        samples.join(positive.select("triplet_id", "head", "tail"), on="triplet_id")
        .filter(pl.col("pair_id").is_in(drawn))
        .sort("triplet_id", "method", "sample_index", "sample_id")
        .group_by("triplet_id", "method", "relation", "head", "tail", maintain_order=True)
        .agg(pl.struct("text", "label").alias("samples"))
    )
    return [
        ReviewItem(triplet_id, method, relation, head, tail, tuple((s["text"], s["label"]) for s in texts))
        for triplet_id, method, relation, head, tail, texts in told.iter_rows()
    ]


def _open_key(root: Path, edition_id: str, n_pairs: int, seed: int) -> ReviewKey:
    """The key that is there, or a new one."""
    folder = review_folder(root, edition_id)
    if not (folder / layout.REVIEW_KEY).exists():
        return ReviewKey(
            edition_id=edition_id, seed=seed, n_pairs=n_pairs, salt=secrets.token_hex(16), graders={}
        )
    key = read_key(root, edition_id)
    if (key.n_pairs, key.seed) != (n_pairs, seed):
        raise InputError(
            f"the review of {edition_id} was drawn with {key.n_pairs} pairs and seed {key.seed}, not "
            f"{n_pairs} and {seed}: ask for the same, or delete {folder} with all its grades to begin anew"
        )
    return key


def _render_grader_sheet(key: ReviewKey, grader: str, items: Sequence[ReviewItem]) -> bytes:
    """The grader's sheet; its rows are added to the key."""
    by_row = {
        hash_text("review", key.salt, grader, i.triplet_id, i.method, digits=12).translate(LETTERS): i
        for i in items
    }
    key.graders[grader] = {
        row_id: ReviewedRow(triplet_id=i.triplet_id, method=i.method) for row_id, i in by_row.items()
    }
    order = draw_order(by_row, key.salt, grader, "rows")
    return render_sheet(key.edition_id, {row_id: by_row[row_id].shuffle(row_id) for row_id in order})


def _require_unfilled(path: Path, content: bytes) -> None:
    """Raises InputError if the sheet is there and differs: grades that were filled in would be lost."""
    if path.exists() and path.read_bytes() != content:
        raise InputError(
            f"{path} is there already and differs from the sheet as exported: it may hold grades; import "
            "it, or move it away to have it written anew"
        )
