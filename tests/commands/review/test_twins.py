"""The sheet of false twins: what a doctor calls true is never drawn again."""

import csv
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.main import main
from commands.review.twins import export_twins, import_twins, list_twins
from pretexeval.config.file import Config
from pretexeval.primitives.errors import InputError
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tests.support.command import make_rows
from tests.support.small_bases import write_files

N_TESTED = 9


@pytest.fixture
def root(tmp_path: Path) -> Path:
    """Return the data root; the base is a folder with one file beside it."""
    lines = ["head,relation,tail,also_true", *(f"{','.join(row)}," for row in make_rows("may_treat"))]
    (tmp_path / "facts").mkdir()
    (tmp_path / "facts" / "facts.csv").write_text("\n".join(lines), encoding="utf-8")
    return tmp_path / "data"


def build(root: Path) -> str:
    """Build the edition of the base as it is now, and return its name."""
    base = {"name": "own", "format": "table", "path": root.parent / "facts"}
    edition = plan_edition(Config.model_validate({"knowledge": base, "storage": {"root": root}}))
    return complete_edition(edition, list(write_files(edition).values()), [])


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


def test_twins_that_could_be_true_are_not_drawn_again(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    edition_id = build(root)
    assert main(["review", "export", edition_id, "--twins", "--root", str(root)]) == 0
    sheet, instructions = map(Path, capsys.readouterr().out.splitlines())
    assert "could_be_true" in instructions.read_text(encoding="utf-8")
    rows = fill(sheet, lambda k: ("YES", "unsure", "no", "")[min(k, 3)])
    assert len(rows) == N_TESTED
    assert main(["review", "import", str(sheet), "--root", str(root)]) == 0
    assert "2 of 3 judged twins could be true" in capsys.readouterr().out
    named = {tuple(row["triplet"].split(" | ")[::2]) for row in rows[:2]}
    (sheet.with_name("also_true.csv")).rename(root.parent / "facts" / "also_true.csv")
    again = build(root)
    assert again != edition_id
    assert not named & {(twin.head, twin.tail) for twin in list_twins(root, again)}


def test_a_sheet_has_the_twins_of_a_limited_run_and_is_not_replaced(root: Path) -> None:
    edition_id = build(root)
    some, every = (list_twins(root, edition_id, n) for n in (3, None))
    assert len(some) == 3
    assert set(some) <= set(every)
    assert all(twin.tail in twin.text for twin in every)
    sheet, _ = export_twins(root, edition_id, 2)
    content = sheet.read_bytes()
    with pytest.raises(InputError, match="exists already"):
        export_twins(root, edition_id, 3)
    assert sheet.read_bytes() == content


def test_wrong_cells_are_listed_and_nothing_is_written(root: Path) -> None:
    sheet, _ = export_twins(root, build(root))
    fill(sheet, lambda k: "maybe" if k == 1 else "no")
    text = sheet.read_text(encoding="utf-8").splitlines()
    sheet.write_text("\n".join([*text, text[1], text[2].replace("own-seed1", "other")]), encoding="utf-8")
    with pytest.raises(InputError) as raised:
        import_twins(root, sheet)
    said = str(raised.value)
    assert "correct 4 places" in said
    assert "row 3, could_be_true: 'maybe' is none of yes, no, unsure" in said
    assert "appears twice" in said
    # A file without rows would be an error of the base.
    sheet.write_text("\n".join(text).replace("maybe", "no"), encoding="utf-8")
    path, *counts = import_twins(root, sheet)
    assert counts == [0, N_TESTED]
    assert not path.exists()
