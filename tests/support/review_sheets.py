"""Build editions to review, and fill in sheets as a grader would."""

import csv
import io
from collections.abc import Callable, Sequence
from pathlib import Path

from commands.review.grades import export_review
from tasks.edition.manifest import complete_edition
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BASE = make_base(r=make_facts(14, 6), s=make_facts(12, 5))
METHODS = ("pretexeval", "prototype", "direct")
# Five pairs per relation are demonstrations: (14 - 5) + (12 - 5) pairs are tested.
N_PAIRS = 16
Change = Callable[[list[dict[str, str]]], object]


def build_edition(root: Path, seed: int = 1) -> str:
    edition = make_edition(root, BASE, methods=METHODS, seed=seed, evidence=[])
    return complete_edition(edition, list(write_files(edition).values()), [])


def read_rows(path: Path) -> list[dict[str, str]]:
    return list(csv.DictReader(io.StringIO(path.read_text(encoding="utf-8-sig"), newline="")))


def fill_rows(rows: Sequence[dict[str, str]]) -> list[dict[str, str]]:
    """Return the rows with grades; the three grades of a row differ, and so do those of neighbouring rows."""
    return [
        row
        | {
            "reliability": str(i % 6),
            "lexical_diversity": str((i + 1) % 6),
            "structural_diversity": str((i + 2) % 6),
            "comment": "unclear" if i == 0 else "",
        }
        for i, row in enumerate(rows)
    ]


def write_rows(path: Path, rows: Sequence[dict[str, str]]) -> Path:
    with path.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]))
        writer.writeheader()
        writer.writerows(rows)
    return path


def export_filled(root: Path, edition_id: str, change: Change | None = None, n_pairs: int = 3) -> Path:
    """Write the sheet of grader `a`, filled in and then changed; return its path."""
    sheet, *_ = export_review(root, edition_id, ["a"], n_pairs)
    rows = fill_rows(read_rows(sheet))
    if change:
        change(rows)
    return write_rows(root / "filled.csv", rows)
