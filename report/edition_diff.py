"""Compare two editions: what is in both of them, and the scores of every model on the pairs of both.

All figures come from the macros count_changes, list_changes, compare_editions and count_same_answers.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from primitives.errors import InputError
from report.contents import Row
from report.edition_reader import EditionReader
from report.model_difference import judge
from warehouse.query import open_warehouse
from warehouse.selection import find_edition

CHANGES = ("gone", "replaced", "new", "same")
Result = tuple[list[str], list[tuple[Any, ...]]]
"""The names of the columns, and the rows."""


@dataclass(frozen=True)
class EditionDiff:
    """What two editions share; differences of scores are second − first."""

    first: Row
    """The row of the table editions."""
    second: Row
    counts: list[Row]
    """A row per item and relation (null: all relations)."""
    scores: list[Row]
    """A row per model, method, scoring policy and measure; `score` is that of the second edition."""
    models_of_one: list[str]
    """The models that only one of the two editions has scores of."""

    @property
    def n_shared_pairs(self) -> int:
        """Return the pairs of which both editions test the true and the false triplet."""
        return max((row["n_matched"] for row in self.scores), default=0)


def compare_editions(root: Path, first: str, second: str) -> EditionDiff:
    """Return what two editions share.

    Args:
        first, second: an id, the start of an id, a label, or the hash at the end of an id.

    Raises:
        InputError: an edition is unknown or ambiguous; both are the same one; one has no triplets.
    """
    with open_warehouse(root) as connection:
        ids = [find_edition(connection, text) for text in (first, second)]
        if ids[0] == ids[1]:
            raise InputError(f"{first!r} and {second!r} are the same edition, {ids[0]}")
        reader = EditionReader(connection, ids[0])
        editions = [_read_edition(reader, edition_id) for edition_id in ids]
        named = {"first": ids[0], "second": ids[1]}
        same = {
            (row["model_id"], row["method"], row["scoring_policy"], row["repeat"]): row
            for row in reader.read("select * from count_same_answers($first, $second)", **named)
        }
        scores = reader.read(
            "select * from compare_editions($second, $first) where relation is null "
            "order by model, model_id, method, scoring_policy, repeat, measure",
            **named,
        )
        return EditionDiff(
            first=editions[0],
            second=editions[1],
            counts=reader.read("select * from count_changes($first, $second)", **named),
            scores=[row | _find_answers(row, same) | {"verdict": judge(row)} for row in scores],
            models_of_one=_list_models_of_one(reader, named),
        )


def list_changes(root: Path, diff: EditionDiff, changes: Sequence[str], limit: int | None = None) -> Result:
    """Return the items of these changes, a row each.

    Args:
        changes: some of CHANGES.
        limit: the largest number of rows of each item, the first ones in the order of the macro.
    """
    with open_warehouse(root) as connection:
        result = connection.execute(
            "select * from list_changes($first, $second) where list_contains($changes, change) "
            "qualify $n_shown is null or row_number() over (partition by item) <= $n_shown",
            {
                "first": diff.first["edition_id"],
                "second": diff.second["edition_id"],
                "changes": list(changes),
                "n_shown": limit,
            },
        )
        return [column[0] for column in result.description or []], result.fetchall()


def _read_edition(reader: EditionReader, edition_id: str) -> Row:
    (row,) = reader.read("select * from editions where edition_id = $edition_id", edition_id=edition_id)
    if not row["n_pairs"]:
        raise InputError(f"{edition_id} has no triplets: it holds questions only, which are not compared")
    return row


def _find_answers(row: Row, same: dict[tuple[Any, ...], Row]) -> Row:
    """Return how many samples have one text, and one stored answer, in both editions."""
    key = (row["model_id"], row["method"], row["scoring_policy"], row["repeat"])
    found = same.get(key, {"n_texts": 0, "n_same_answers": 0})
    return {name: found[name] for name in ("n_texts", "n_same_answers")}


def _list_models_of_one(reader: EditionReader, named: dict[str, str]) -> list[str]:
    """Return the models with scores on only one of the editions, each with that edition."""
    rows = reader.read(
        "select name, models.model_id, any_value(edition_id) as edition_id "
        "from (select distinct edition_id, model_id from pair_scores where edition_id in ($first, $second)) "
        "inner join models using (model_id) group by all having count(*) = 1 order by all",
        **named,
    )
    return [f"{row['name']} ({row['model_id']}), {row['edition_id']}" for row in rows]
