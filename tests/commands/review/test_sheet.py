import csv
import io
from pathlib import Path

import pytest

from commands.review.sheet import ReviewItem, read_sheet, render_sheet
from pretexeval.primitives.errors import InputError

HEADER = "edition,row_id,triplet,sample_1,reliability,lexical_diversity,structural_diversity,comment"
ROW = "e-1,bcdf,gout | symptoms | pain,(true) Gout hurts.,4,0,5,"
TEXTS = (("Gout hurts.", True), ("Gout\ndoes not hurt.", False))


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


@pytest.mark.parametrize(
    ("encoding", "delimiter", "end"),
    [("utf-8", ",", "\n"), ("utf-8-sig", ";", "\r\n"), ("utf-16", "\t", "\r\n"), ("cp1252", ";", "\r")],
)
def test_a_sheet_is_read_as_any_spreadsheet_saves_it(
    tmp_path: Path, encoding: str, delimiter: str, end: str
) -> None:
    lines = [HEADER, ROW + "naïve – déjà vu", "", '"e-1","ghjk",x,y," 4 ",4.0,"5",', ",,,,,,,", ""]
    # Columns may be moved.
    lines[0] = lines[0].replace("edition,row_id", "Edition, ROW_ID ")
    path = write(tmp_path, end.join(lines).replace(",", delimiter), encoding)
    rows = read_sheet(path)
    assert [row.number for row in rows] == [2, 4]
    assert [row.cells["row_id"] for row in rows] == ["bcdf", "ghjk"]
    assert rows[0].cells["comment"] == "naïve – déjà vu"
    assert [rows[1].cells[name] for name in ("reliability", "lexical_diversity")] == ["4", "4.0"]
    assert not any(row.has_extra_cells for row in rows)


def test_rows_are_numbered_as_in_a_spreadsheet_even_if_a_cell_has_several_lines(tmp_path: Path) -> None:
    rows = read_sheet(write(tmp_path, f'{HEADER}\n{ROW}"two\nlines"\n{ROW}well, this\n'))
    assert [(row.number, row.has_extra_cells) for row in rows] == [(2, False), (3, True)]
    assert rows[0].cells["comment"] == "two\nlines"


@pytest.mark.parametrize(
    ("content", "message"),
    [
        (b"a,b,c\n1,2,3\n", "has no columns named edition; it begins with a, b, c: use the exported sheet"),
        (f"{HEADER},row_id\n".encode(), "has 2 columns named row_id"),
        (b"PK\x03\x04...", "is a workbook: open it"),
        (b"edition,row_id\n\x81", "has an unknown encoding"),
        (b'"' + b"a" * 200_000, "is not a CSV file"),
    ],
)
def test_a_file_that_is_not_a_sheet_is_refused(tmp_path: Path, content: bytes, message: str) -> None:
    path = tmp_path / "sheet.csv"
    path.write_bytes(content)
    with pytest.raises(InputError, match=message):
        read_sheet(path)
