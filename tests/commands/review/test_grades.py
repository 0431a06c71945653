"""Sheets of graders: blinded, read as any spreadsheet saves them, and imported whole or not at all."""

import csv
import io
import re
import shutil
from collections.abc import Callable, Sequence
from pathlib import Path

import polars as pl
import pyarrow as pa
import pyarrow.parquet as pq
import pytest

from commands.review.grades import draw_items, export_review, import_review, read_key
from commands.review.sheet import GRADES, ReviewItem, read_sheet, render_sheet
from pretexeval.primitives.errors import InputError
from tests.support.small_bases import build_edition, make_base, make_edition, make_facts

HEADER = "edition,row_id,triplet,sample_1,reliability,lexical_diversity,structural_diversity,comment"
ROW = "e-1,bcdf,gout | symptoms | pain,(true) Gout hurts.,4,0,5,"
TEXTS = (("Gout hurts.", True), ("Gout\ndoes not hurt.", False))
METHODS = ("pretexeval", "prototype", "direct")
# Five pairs per relation are demonstrations: (14 - 5) + (12 - 5) pairs are tested.
N_PAIRS = 16
Rows = list[dict[str, str]]


def build(root: Path, seed: int = 1) -> str:
    base = make_base(r=make_facts(14, 6), s=make_facts(12, 5))
    edition = make_edition(root, base, methods=METHODS, seed=seed, evidence=[])
    build_edition(edition)
    return edition.edition_id


def read_rows(path: Path) -> Rows:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    pl.DataFrame(rows).write_csv(path)
    return path


def export_filled(root: Path, edition_id: str, change: Callable[[Rows], None] | None = None) -> Path:
    """Write the sheet of grader `a`, with grades that differ, and then changed; return its path."""
    sheet, *_ = export_review(root, edition_id, ["a"], n_pairs=3)
    rows = read_rows(sheet)
    for i, row in enumerate(rows):
        row |= {name: str((i + k) % 6) for k, name in enumerate(GRADES)}
        row["comment"] = "unclear" if i == 0 else ""
    if change:
        change(rows)
    return write_rows(root / "filled.csv", rows)


def make_item(head: str = "gout", samples: tuple[tuple[str, bool], ...] = TEXTS) -> ReviewItem:
    return ReviewItem("t1", "pretexeval", "may_cause", head, "pain", samples)


def write(folder: Path, text: str, encoding: str = "utf-8") -> Path:
    path = folder / "sheet.csv"
    path.write_bytes(text.encode(encoding))
    return path


def test_a_row_shows_the_triplet_and_the_samples_but_not_the_method() -> None:
    content = render_sheet("e-1", {"bcdf": make_item(head="=gout"), "ghjk": make_item(samples=TEXTS[:1])})
    assert content.startswith(b"\xef\xbb\xbf")
    text, graded = content.decode("utf-8-sig"), "reliability,lexical_diversity,structural_diversity,comment"
    assert list(csv.reader(io.StringIO(text, newline=""))) == [
        [*("edition", "row_id", "triplet", "sample_1", "sample_2"), *graded.split(",")],
        ["e-1", "bcdf", "'=gout | may cause | pain", "(true) Gout hurts.", "(false) Gout does not hurt."]
        + [""] * 4,
        ["e-1", "ghjk", "gout | may cause | pain", "(true) Gout hurts."] + [""] * 5,
    ]
    assert b"pretexeval" not in content
    assert b"t1" not in content


def test_a_sheet_is_read_as_any_spreadsheet_saves_it(tmp_path: Path) -> None:
    lines = [HEADER, ROW + "naïve – déjà vu", "", '"e-1","ghjk",x,y," 4 ",4.0,"5",', ",,,,,,,", ""]
    # Columns may be moved.
    lines[0] = lines[0].replace("edition,row_id", "Edition, ROW_ID ")
    for encoding, delimiter, end in (
        ("utf-8", ",", "\n"),
        ("utf-8-sig", ";", "\r\n"),
        ("utf-16", "\t", "\r\n"),
        ("cp1252", ";", "\r"),
    ):
        rows = read_sheet(write(tmp_path, end.join(lines).replace(",", delimiter), encoding))
        assert [(row.number, row.cells["row_id"]) for row in rows] == [(2, "bcdf"), (4, "ghjk")], encoding
        assert rows[0].cells["comment"] == "naïve – déjà vu"
        assert [rows[1].cells[name] for name in ("reliability", "lexical_diversity")] == ["4", "4.0"]
        assert not any(row.has_extra_cells for row in rows)
    # Rows are numbered as in a spreadsheet, even if a cell has several lines.
    rows = read_sheet(write(tmp_path, f'{HEADER}\n{ROW}"two\nlines"\n{ROW}well, this\n'))
    assert [(row.number, row.has_extra_cells) for row in rows] == [(2, False), (3, True)]
    assert rows[0].cells["comment"] == "two\nlines"


def test_a_file_that_is_not_a_sheet_is_refused(tmp_path: Path) -> None:
    path = tmp_path / "sheet.csv"
    begins = "has no columns named edition; it begins with a, b, c: use the exported sheet"
    for content, message in (
        (b"a,b,c\n1,2,3\n", begins),
        (f"{HEADER},row_id\n".encode(), "has 2 columns named row_id"),
        (b"PK\x03\x04...", "is a workbook: open it"),
        (b"edition,row_id\n\x81", "has an unknown encoding"),
        (b'"' + b"a" * 200_000, "is not a CSV file"),
    ):
        path.write_bytes(content)
        with pytest.raises(InputError, match=message):
            read_sheet(path)


@pytest.fixture(scope="module")
def built(tmp_path_factory: pytest.TempPathFactory) -> tuple[Path, str]:
    """A root with an edition, which no test changes."""
    root = tmp_path_factory.mktemp("built")
    return root, build(root)


@pytest.fixture
def edition_id(tmp_path: Path, built: tuple[Path, str]) -> str:
    shutil.copytree(built[0], tmp_path, dirs_exist_ok=True)
    return built[1]


def test_the_sheet_has_the_samples_of_true_triplets_and_hides_the_method(
    tmp_path: Path, edition_id: str
) -> None:
    sheet, *_ = export_review(tmp_path, edition_id, ["a"], n_pairs=1000)
    rows = read_rows(sheet)
    hidden = read_key(tmp_path, edition_id).graders["a"]
    assert len(rows) == len(hidden) == N_PAIRS * len(METHODS)
    triplets = pl.read_parquet(tmp_path / "editions" / edition_id / "triplets" / "*.parquet")
    tested = triplets.filter("is_positive", pl.col("split") == "test")
    items = {(i.triplet_id, i.method): i for i in draw_items(tmp_path, edition_id, 1000, 0)}
    assert {triplet_id for triplet_id, _ in items} == set(tested["triplet_id"])
    for row in rows:
        item = items[hidden[row["row_id"]].triplet_id, hidden[row["row_id"]].method]
        shown = [row[f"sample_{i}"] for i in range(1, 9) if row[f"sample_{i}"]]
        expected = [f"({'true' if label else 'false'}) {text}" for text, label in item.samples]
        assert sorted(shown) == sorted(expected)
        assert row["triplet"] == f"{item.head} | {item.relation} | {item.tail}"
    assert all(re.fullmatch("[bcdfghjkmnpqrstv]{12}", row["row_id"]) for row in rows)
    text = sheet.read_text(encoding="utf-8-sig")
    assert not any(word in text for word in (*METHODS, *(triplet_id for triplet_id, _ in items)))


def test_graders_see_the_same_samples_in_different_orders(
    tmp_path: Path, edition_id: str, built: tuple[Path, str]
) -> None:
    sheets = export_review(tmp_path, edition_id, ["a", "b"], n_pairs=10)[:2]
    key = read_key(tmp_path, edition_id).graders
    assert not key["a"].keys() & key["b"].keys()
    hidden = [
        [key[name][row["row_id"]] for row in read_rows(sheet)]
        for name, sheet in zip("ab", sheets, strict=True)
    ]
    one, other = ([(each.triplet_id, each.method) for each in rows] for rows in hidden)
    # The rows are not sorted by triplet and method, and nobody can compute their ids without the salt.
    assert one != other != sorted(one) != one
    assert sorted(one) == sorted(other)
    shutil.copytree(built[0], tmp_path / "again")
    export_review(tmp_path / "again", edition_id, ["a"], n_pairs=10)
    assert not key["a"].keys() & read_key(tmp_path / "again", edition_id).graders["a"].keys()


def test_a_grader_may_join_later_and_no_sheet_with_grades_is_overwritten(
    tmp_path: Path, edition_id: str
) -> None:
    first, *_ = export_review(tmp_path, edition_id, ["a"], n_pairs=4)
    content = first.read_bytes()
    export_review(tmp_path, edition_id, ["a", "b"], n_pairs=4)
    assert first.read_bytes() == content
    assert list(read_key(tmp_path, edition_id).graders) == ["a", "b"]
    write_rows(first, [row | {"reliability": "3"} for row in read_rows(first)])
    content = first.read_bytes()
    for graders, n_pairs, message in (
        (["c", "a"], 4, r"sheet-a\.csv already exists and differs"),
        (["a"], 5, r"drawn with 4 pairs and seed 0, not 5 and 0: use the same values, or delete"),
        (["../a"], 4, "grader '../a' is not valid as a file name"),
    ):
        with pytest.raises(InputError, match=message):
            export_review(tmp_path, edition_id, graders, n_pairs)
    assert first.read_bytes() == content
    assert not first.with_name("sheet-c.csv").exists()


def test_grades_are_kept_by_triplet_and_method_in_any_spelling(tmp_path: Path, edition_id: str) -> None:
    filled = export_filled(tmp_path, edition_id)
    path = import_review(tmp_path, filled, "a")
    found, hidden = pl.read_parquet(path), read_key(tmp_path, edition_id).graders["a"]
    expected = {
        (hidden[row["row_id"]].triplet_id, hidden[row["row_id"]].method): [int(row[name]) for name in GRADES]
        for row in read_rows(filled)
    }
    assert {row[1:3]: list(row[4:7]) for row in found.iter_rows()} == expected
    assert found["comment"].drop_nulls().to_list() == ["unclear"]
    before = path.read_bytes()
    rows = sorted(read_rows(filled), key=lambda row: row["reliability"])
    for row in rows:
        row["reliability"] += ",0"
        row["lexical_diversity"] = f" {row['lexical_diversity']}.0 "
    assert import_review(tmp_path, write_rows(tmp_path / "dialect.csv", rows), "a").read_bytes() == before


def test_a_flipped_bit_changes_no_grade_without_being_noticed(tmp_path: Path, edition_id: str) -> None:
    """No record holds the checksum of the file, so the file holds those of its pages."""
    path = import_review(tmp_path, export_filled(tmp_path, edition_id), "a")
    content, grades = path.read_bytes(), pq.read_table(path)
    footer = len(content) - 8 - pq.read_metadata(path).serialized_size
    n_noticed = 0
    for offset in range(4, footer):
        path.write_bytes(content[:offset] + bytes([content[offset] ^ 1]) + content[offset + 1 :])
        try:
            assert pq.read_table(path, page_checksum_verification=True).equals(grades)
        except (pa.ArrowException, OSError):
            n_noticed += 1
    assert n_noticed > footer / 2


def test_every_wrong_cell_is_named_at_once(tmp_path: Path, edition_id: str) -> None:
    def spoil(rows: Rows) -> None:
        rows[0]["reliability"] = ""
        rows[0]["structural_diversity"] = "7"
        rows[4]["lexical_diversity"] = "³"
        rows[5]["reliability"] = "3.5"
        rows[6]["edition"] = "own-other"
        rows.append(dict(rows[1]))
        rows.pop(2)

    filled = export_filled(tmp_path, edition_id, spoil)
    missing = read_key(tmp_path, edition_id).graders["a"].keys() - {r["row_id"] for r in read_rows(filled)}
    repeated = read_rows(filled)[-1]["row_id"]
    with pytest.raises(InputError) as caught:
        import_review(tmp_path, filled, "a")
    assert str(caught.value).splitlines() == [
        f"{filled}: nothing was imported, correct 7 places:",
        "  row 2, reliability: is missing",
        "  row 2, structural_diversity: 7 is not between 0 and 5",
        "  row 5, lexical_diversity: '³' is not a whole number",
        "  row 6, reliability: '3.5' is not a whole number",
        f"  row 7, edition: 'own-other' is not {edition_id!r}",
        f"  row 10, row_id: '{repeated}' repeats row 3",
        f"  row_id {missing.pop()} is missing: copy its row from the exported sheet, and grade it",
    ]
    assert not (tmp_path / "reviews" / edition_id / "a.parquet").exists()


def test_a_sheet_of_another_grader_or_edition_is_refused(tmp_path: Path, edition_id: str) -> None:
    filled = export_filled(tmp_path, edition_id)
    with pytest.raises(InputError, match=r"was exported for 'b', only for a: name the grader"):
        import_review(tmp_path, filled, "b")
    export_review(tmp_path, edition_id, ["b"], n_pairs=3)
    with pytest.raises(InputError, match=r"row 2, row_id: '[a-z]{12}' belongs to the sheet of 'a'"):
        import_review(tmp_path, filled, "b")
    other = build(tmp_path, seed=2)
    for edition, message in (
        (other, f"no review of edition '{other}' was exported here"),
        ("../x", "names no edition"),
    ):
        rows = [row | {"edition": edition} for row in read_rows(filled)]
        with pytest.raises(InputError, match=message):
            import_review(tmp_path, write_rows(tmp_path / "other.csv", rows), "a")
    (tmp_path / "reviews" / edition_id / "key.json").write_text("[]")
    with pytest.raises(InputError, match=r"key\.json is not a valid key of a review"):
        import_review(tmp_path, filled, "a")
