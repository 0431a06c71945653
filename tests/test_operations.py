"""The tables of faults in docs/operations.md: each row names the test that causes the fault."""

import itertools
import re
from pathlib import Path

import pytest

ROOT = Path(__file__).parents[1]
PAGE = (ROOT / "docs" / "operations.md").read_text(encoding="utf-8")
SECTION = PAGE.partition("\n## When something breaks\n")[2].partition("\n## ")[0]
LINES = [line for line in SECTION.splitlines() if line.startswith("|")]
HEADS = [line for line, below in itertools.pairwise(LINES) if set(below) <= set("|- ")]
ROWS = [line for line in LINES if line not in HEADS and not set(line) <= set("|- ")]
# A bar within a cell is written as \|.
CELLS = re.compile(r"(?<!\\)\|")


def test_every_table_has_the_same_columns() -> None:
    assert set(HEADS) == {"| what happens | what you see and what to do | test |"}
    assert len(ROWS) > 40


@pytest.mark.parametrize("row", ROWS)
def test_every_row_names_a_test_that_exists(row: str) -> None:
    _, fault, remedy, test, _ = CELLS.split(row)
    assert fault.strip()
    assert remedy.strip().endswith(".")
    paths = re.findall(r"`([^`]+)`", test)
    assert paths
    assert all(path.startswith("tests/") and (ROOT / path).is_file() for path in paths)
