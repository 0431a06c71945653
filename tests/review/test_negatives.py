"""The sheet of false twins: what a doctor calls true is never drawn again."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from config.file import Config
from primitives.errors import InputError
from review.negatives import export_negatives, import_verdicts, list_negatives
from tests.support.command import make_rows

N_TESTED = 9


def configure(folder: Path) -> Config:
    """Return a configuration whose base is a folder with one file."""
    base = folder / "facts"
    base.mkdir(exist_ok=True)
    lines = ["head,relation,tail,also_true", *(f"{','.join(row)}," for row in make_rows("may_treat"))]
    (base / "facts.csv").write_text("\n".join(lines), encoding="utf-8")
    return Config.model_validate({"knowledge": {"name": "own", "format": "table", "path": base}})


def fill(path: Path, judge: Callable[[int], str]) -> list[dict[str, str]]:
    """Write verdicts by the number of the row, with semicolons, as a spreadsheet may save it."""
    with path.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for k, row in enumerate(rows):
        row["could_be_true"] = judge(k)
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return rows


def test_twins_that_could_be_true_are_not_drawn_again(tmp_path: Path) -> None:
    config = configure(tmp_path)
    sheet, instructions = export_negatives(config, tmp_path / "negatives.csv", None)
    assert "could_be_true" in instructions.read_text(encoding="utf-8")
    rows = fill(sheet, lambda k: ("YES", "unsure", "no", "")[min(k, 3)])
    assert len(rows) == N_TESTED
    assert import_verdicts(config, sheet, tmp_path / "facts" / "also_true.csv") == (2, 3)
    named = {tuple(row["triplet"].split(" | ")[::2]) for row in rows[:2]}
    edition, negatives = list_negatives(config, None)
    assert edition.edition_id != rows[0]["edition"]
    assert negatives
    assert not named & {(negative.head, negative.tail) for negative in negatives}


def test_a_sheet_has_the_twins_of_a_limited_run(tmp_path: Path) -> None:
    config = configure(tmp_path)
    some, every = (list_negatives(config, n)[1] for n in (3, None))
    assert len(some) == 3
    assert set(some) <= set(every)
    assert all(negative.tail in negative.text for negative in every)


def test_a_sheet_without_true_twins_gives_no_file(tmp_path: Path) -> None:
    """A file without rows would be an error of the base."""
    config = configure(tmp_path)
    sheet, _ = export_negatives(config, tmp_path / "negatives.csv", None)
    fill(sheet, lambda k: "no" if k else "")
    assert import_verdicts(config, sheet, tmp_path / "facts" / "also_true.csv") == (0, N_TESTED - 1)
    assert not (tmp_path / "facts" / "also_true.csv").exists()


def test_wrong_cells_are_listed_and_nothing_is_written(tmp_path: Path) -> None:
    config = configure(tmp_path)
    sheet, _ = export_negatives(config, tmp_path / "negatives.csv", None)
    fill(sheet, lambda k: "maybe" if k == 1 else "no")
    text = sheet.read_text(encoding="utf-8").splitlines()
    sheet.write_text("\n".join([*text, text[1], text[2].replace("own-seed1", "other")]), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        import_verdicts(config, sheet, tmp_path / "also_true.csv")
    said = str(raised.value)
    assert "correct 4 places" in said
    assert "row 3, could_be_true: 'maybe' is none of yes, no, unsure" in said
    assert "appears twice" in said
    assert "which the configuration describes" in said
    assert not (tmp_path / "also_true.csv").exists()


def test_no_file_is_replaced(tmp_path: Path) -> None:
    config = configure(tmp_path)
    sheet, _ = export_negatives(config, tmp_path / "negatives.csv", 2)
    content = sheet.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        export_negatives(config, sheet, 3)
    with pytest.raises(InputError, match="exists already"):
        import_verdicts(config, sheet, sheet)
    assert sheet.read_bytes() == content
