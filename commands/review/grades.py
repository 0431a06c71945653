"""Blinded sheets of samples that doctors grade (PretexEval, appendix H): write them, and read them back.

One row of a sheet has the samples of one true triplet by one method, in random order. Only the key says
which method it was; nobody can compute the row ids without the salt in the key. All graders get the same
samples, but in different orders and with different row ids, so that their sheets cannot be confused.
"""

import re
import secrets
from collections.abc import Iterator, Mapping, Sequence
from pathlib import Path

import polars as pl
from pydantic import BaseModel, ValidationError

from commands.review.sheet import (
    FILE_NAME,
    GRADES,
    ReviewItem,
    SheetRow,
    find_edition,
    read_sheet,
    render_sheet,
    require_correct,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import draw_order, hash_text
from pretexeval.storage import layout
from pretexeval.storage.files import read_stage_files, write_bytes, write_json, write_stage_file
from pretexeval.storage.records import key_content, read_manifest, read_manifest_files, write_record
from schemas.stages import HUMAN_GRADES, SAMPLES, TRIPLETS
from tasks.quality.validation import check_stage

# Row ids are letters, because a spreadsheet reads 12e45678 as a number. Without vowels, they form no words.
LETTERS = str.maketrans("0123456789abcdef", "bcdfghjkmnpqrstv")
HIGHEST_GRADE = 5
# Spreadsheets may save 4 as 4.0, or as 4,0 where the decimal point is a comma.
_WHOLE = re.compile(r"([+-]?[0-9]{1,9})(?:[.,]0*)?")
INSTRUCTIONS = """\
# Grading the samples of a test set

Each row of the sheet shows one fact of a medical knowledge base (`triplet`: the first thing, the
relation, the second thing) and one to eight texts that were made from it (`sample_1`, `sample_2`, …).
A mark before each text shows its purpose: a text with (true) should state the fact, and a text with
(false) should deny it. A denial is not an error: "It is false that A causes B." is a good text if its
mark is (false).

Read all texts of a row. Then give one grade for all of them together in each of three columns: a whole
number from 0 to 5. The meaning of 0, 3 and 5 is below; 1, 2 and 4 are between them.

## reliability

- 0: Many errors; a reader would understand something other than what the fact and the mark say.
- 3: Mostly right; small inaccuracies or ambiguities that leave the meaning as it is.
- 5: Right in every text, clear and exact; no error, nothing ambiguous.

The question is whether the texts state the triplet, or deny it, as their marks say. If you think that
the triplet itself is wrong, grade the texts anyway, and write your doubt in `comment`.

## lexical_diversity

- 0: The texts use almost only the words of the triplet.
- 3: Ordinary words vary somewhat; the medical terms stay as they are.
- 5: Both the medical terms and the ordinary words vary.

## structural_diversity

- 0: The texts have the structure and the order of the triplet.
- 3: Slightly changed: another word order or another phrase, but the same grammatical structure.
- 5: A new structure: the same content with another syntax and another train of thought.

## Please

- Grade a row with a single text like the others: compare the text with its triplet.
- The same fact appears in several rows, far apart. Grade each row on its own, without the other rows.
- You may write in `comment` or leave it empty. Change no other cell, and do not add or delete rows. You
  may sort the rows.
- Fill in the grades of every row, and save the sheet as CSV. Any delimiter and any encoding will do.

The scales are those of PretexEval (Zhou et al., ICLR 2025), appendix H, in our words.
"""


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
    items = draw_items(root, edition_id, n_pairs, seed)
    key = _load_or_create_key(root, edition_id, n_pairs, seed)
    folder = root / layout.review_folder(edition_id)
    sheets = {folder / f"sheet-{grader}.csv": _render_grader_sheet(key, grader, items) for grader in graders}
    for path, content in sheets.items():
        # Grades that were filled in would be lost.
        if path.exists() and path.read_bytes() != content:
            raise InputError(
                f"{path} already exists and differs from the sheet as exported, so it may contain grades: "
                "import it, or move it to another folder and export again"
            )
    # The key is written first, so that no sheet exists that could not be imported.
    write_json(folder / layout.REVIEW_KEY, key.model_dump())
    for path, content in sheets.items():
        write_bytes(path, content)
    write_bytes(folder / "instructions.md", INSTRUCTIONS.encode())
    return [*sheets, folder / "instructions.md", folder / layout.REVIEW_KEY]


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
    path = root / layout.review_folder(edition_id) / layout.REVIEW_KEY
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
    folder = root / layout.review_folder(edition_id)
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


def import_review(root: Path, path: Path, grader: str) -> Path:
    """Check a filled sheet, write `reviews/<edition_id>/<grader>.parquet` and return its path.

    Earlier grades of the same grader are replaced.

    Raises:
        InputError: if a cell is missing, repeated or wrong; the message lists all of them, and nothing
            is written.
    """
    require_grader_name(grader)
    rows = read_sheet(path)
    edition_id = find_edition(path, rows)
    key = read_key(root, edition_id)
    if grader not in key.graders:
        raise InputError(
            f"no sheet of {edition_id} was exported for {grader!r}, only for "
            f"{', '.join(sorted(key.graders))}: name the grader whose sheet this is"
        )
    require_correct(path, _find_problems(rows, key, grader))
    target = f"{layout.review_folder(edition_id)}/{grader}.parquet"
    grades = _build_grades(rows, key, grader)
    check = check_stage(HUMAN_GRADES, grades, f"{grader} on {edition_id}")
    file = write_stage_file(root, target, grades, HUMAN_GRADES, has_page_checksums=True)
    content = key_content(HUMAN_GRADES.name, [file.sha256])
    record = layout.checks_record(edition_id, f"{HUMAN_GRADES.name}-{grader}")
    write_record(root / record, {**check, "content": content})
    return root / target


def _find_problems(rows: Sequence[SheetRow], key: ReviewKey, grader: str) -> Iterator[str]:
    """Yield one message per problem, with the row number of the spreadsheet and the column."""
    expected = key.graders[grader]
    first: dict[str, int] = {}
    for row in rows:
        row_id = row.cells["row_id"]
        if row.cells["edition"] != key.edition_id:
            yield f"row {row.number}, edition: {row.cells['edition']!r} is not {key.edition_id!r}"
        if row.has_extra_cells:
            yield f"row {row.number}: there is text beyond the last column: move it to the column comment"
        if row_id in expected and row_id not in first:
            first[row_id] = row.number
            yield from _check_grades(row)
        else:
            yield f"row {row.number}, row_id: {_describe_unexpected_id(row_id, first, key)}"
    for row_id in expected:
        if row_id not in first:
            yield f"row_id {row_id} is missing: copy its row from the exported sheet, and grade it"


def _describe_unexpected_id(row_id: str, first: Mapping[str, int], key: ReviewKey) -> str:
    if not row_id:
        return "is missing"
    if row_id in first:
        return f"{row_id!r} repeats row {first[row_id]}"
    if owners := [name for name, rows in key.graders.items() if row_id in rows]:
        return f"{row_id!r} belongs to the sheet of {owners[0]!r}"
    return f"{row_id!r} is not a row of this sheet"


def _check_grades(row: SheetRow) -> Iterator[str]:
    for name in GRADES:
        if problem := _check_grade(row.cells[name]):
            yield f"row {row.number}, {name}: {problem}"


def _check_grade(cell: str) -> str | None:
    if not cell:
        return "is missing"
    whole = _WHOLE.fullmatch(cell)
    if whole is None:
        return f"{cell!r} is not a whole number"
    return None if 0 <= int(whole[1]) <= HIGHEST_GRADE else f"{cell} is not between 0 and {HIGHEST_GRADE}"


def _build_grades(rows: Sequence[SheetRow], key: ReviewKey, grader: str) -> pl.DataFrame:
    hidden = key.graders[grader]
    graded = [
        {
            "edition_id": key.edition_id,
            "triplet_id": hidden[row.cells["row_id"]].triplet_id,
            "method": hidden[row.cells["row_id"]].method,
            "grader": grader,
            **{name: int(float(row.cells[name].replace(",", "."))) for name in GRADES},
            "comment": row.cells.get("comment") or None,
        }
        for row in rows
    ]
    schema = HUMAN_GRADES.empty.schema
    return pl.DataFrame(graded, schema=schema).sort("triplet_id", "method")
