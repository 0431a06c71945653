"""Export blinded sheets of samples that doctors grade (PretexEval, appendix H).

One row of a sheet has the samples of one true triplet by one method, in random order. Only the key says
which method it was; nobody can compute the row ids without the salt in the key. All graders get the same
samples, but in different orders and with different row ids, so that their sheets cannot be confused.
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
from storage.manifests import read_manifest, read_manifest_files

# These names are valid for files on every system, and they do not make hidden files.
FILE_NAME = re.compile(r"[A-Za-z0-9][A-Za-z0-9._-]*")
# Row ids are letters, because a spreadsheet reads 12e45678 as a number. Without vowels, they form no words.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")


class ReviewedRow(BaseModel):
    """The triplet and the method of a row, which the sheet hides."""

    triplet_id: str
    method: str


class ReviewKey(BaseModel):
    """`key.json`: how the samples were drawn, and the triplet and method of every row of every sheet."""

    edition_id: str
    seed: int
    n_pairs: int
    salt: str
    graders: dict[str, dict[str, ReviewedRow]]
    """Grader -> row id -> triplet and method."""


def locate_review_folder(root: Path, edition_id: str) -> Path:
    """Return the folder with the sheets, the key and the grades of an edition."""
    return root / layout.review_folder(edition_id)


def export_review(
    root: Path, edition_id: str, graders: Sequence[str], n_pairs: int = 50, seed: int = 0
) -> list[Path]:
    """Write a sheet for every grader, the instructions and the key; return the paths, the key last.

    ``seed`` draws ``n_pairs`` test pairs, or all if there are fewer, and the true triplet of each is
    graded. Another call with other graders gives them sheets with the same samples.

    Raises:
        InputError: if the edition is not complete, a grader's name is not valid as a file name, the
            review was drawn with other values before, or a sheet exists and differs from the new one.
    """
    for grader in graders:
        require_grader_name(grader)
    if not graders or len(set(graders)) < len(graders):
        raise InputError(f"graders are {', '.join(graders) or 'none'}: name one or more, each only once")
    if n_pairs < 1:
        raise InputError(f"{n_pairs} pairs cannot be reviewed: ask for one or more")
    items = draw_items(root, edition_id, n_pairs, seed)
    key = _load_or_create_key(root, edition_id, n_pairs, seed)
    folder = locate_review_folder(root, edition_id)
    sheets = {grader: _render_grader_sheet(key, grader, items) for grader in graders}
    for grader, content in sheets.items():
        _require_unchanged(folder / build_sheet_name(grader), content)
    # The key is written first, so that no sheet exists that could not be imported.
    write_json(folder / layout.REVIEW_KEY, key.model_dump())
    contents = {build_sheet_name(grader): content for grader, content in sheets.items()}
    for name, content in {**contents, "instructions.md": INSTRUCTIONS.encode()}.items():
        with write_atomically(folder / name) as aside:
            aside.write_bytes(content)
    return [folder / name for name in (*contents, "instructions.md", layout.REVIEW_KEY)]


def build_sheet_name(grader: str) -> str:
    """Return the file name of a grader's sheet."""
    return f"sheet-{grader}.csv"


def require_grader_name(grader: str) -> None:
    """Raise InputError if the grader's name is not valid as a file name."""
    if not FILE_NAME.fullmatch(grader):
        raise InputError(
            f"grader {grader!r} is not valid as a file name: use letters, digits, . _ and -, "
            "and begin with a letter or a digit"
        )


def read_key(root: Path, edition_id: str) -> ReviewKey:
    """Return the key of an edition's review.

    Raises:
        InputError: if the key is missing or cannot be read.
    """
    path = locate_review_folder(root, edition_id) / layout.REVIEW_KEY
    try:
        return ReviewKey.model_validate_json(path.read_bytes())
    except FileNotFoundError:
        raise InputError(
            f"{path} is missing: no review of edition {edition_id!r} was exported here; give the data "
            "folder from which it was exported, or export it and have it graded"
        ) from None
    except ValidationError as error:
        raise InputError(
            f"{path} is not a valid key of a review ({error.error_count()} errors): restore the file; "
            "without it, nobody knows which samples were graded"
        ) from None


def draw_items(root: Path, edition_id: str, n_pairs: int, seed: int) -> list[ReviewItem]:
    """Return one item per method for the true triplet of every drawn pair, with its samples.

    As in the paper, only true triplets are graded: the grade is about how a text expresses a fact, but for
    a false triplet a doctor would grade that it is false.
    """
    read_manifest(root, edition_id)
    triplets, samples = (
        read_stage_files(root, list(read_manifest_files(root, edition_id, stage.name).values()), stage)
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


def _load_or_create_key(root: Path, edition_id: str, n_pairs: int, seed: int) -> ReviewKey:
    """Return the key of the review if it exists, or else a new one."""
    folder = locate_review_folder(root, edition_id)
    if not (folder / layout.REVIEW_KEY).exists():
        return ReviewKey(
            edition_id=edition_id, seed=seed, n_pairs=n_pairs, salt=secrets.token_hex(16), graders={}
        )
    key = read_key(root, edition_id)
    if (key.n_pairs, key.seed) != (n_pairs, seed):
        raise InputError(
            f"the review of {edition_id} was drawn with {key.n_pairs} pairs and seed {key.seed}, not "
            f"{n_pairs} and {seed}: use the same values, or delete {folder} with all grades to start again"
        )
    return key


def _render_grader_sheet(key: ReviewKey, grader: str, items: Sequence[ReviewItem]) -> bytes:
    """Return the grader's sheet, and add its rows to the key."""
    by_row = {
        hash_text("review", key.salt, grader, i.triplet_id, i.method, digits=12).translate(LETTERS): i
        for i in items
    }
    key.graders[grader] = {
        row_id: ReviewedRow(triplet_id=i.triplet_id, method=i.method) for row_id, i in by_row.items()
    }
    order = draw_order(by_row, key.salt, grader, "rows")
    return render_sheet(key.edition_id, {row_id: by_row[row_id].shuffle_samples(row_id) for row_id in order})


def _require_unchanged(path: Path, content: bytes) -> None:
    """Raise InputError if the sheet exists and differs: grades that were filled in would be lost."""
    if path.exists() and path.read_bytes() != content:
        raise InputError(
            f"{path} already exists and differs from the sheet as exported, so it may contain grades: import "
            "it, or move it to another folder and export again"
        )
