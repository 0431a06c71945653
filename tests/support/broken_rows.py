"""What each expectation must catch: a change to one row of a valid frame, and the expectation that fails."""

import csv
import json
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from tests.support.good_frames import make_frame


@dataclass(frozen=True)
class BrokenRow:
    """A change to one row of a stage, and the column and name of the expectation that must fail or warn."""

    stage: str
    row: int
    values: dict[str, Any]
    column: str
    name: str
    is_warning: bool

    def make_frame(self) -> pl.DataFrame:
        """Return the valid frame with one row changed."""
        rows = make_frame(self.stage)
        changed = rows.to_dicts()
        changed[self.row] |= self.values
        return pl.DataFrame(changed, schema=rows.schema)

    def __str__(self) -> str:
        return f"{self.stage}-{self.name}-{self.column}-{next(iter(self.values.values()))!r:.20}"


def read_broken_rows() -> tuple[BrokenRow, ...]:
    with Path(__file__).with_name("broken_rows.csv").open(encoding="utf-8", newline="") as file:
        return tuple(
            BrokenRow(
                row["stage"],
                int(row["row"]),
                json.loads(row["values"]),
                row["column"],
                row["name"],
                is_warning=row["is_warning"] == "yes",
            )
            for row in csv.DictReader(file)
        )


BROKEN = read_broken_rows()
