"""What every worked question of docs/questions.md must answer about the data folder of analysts."""

from collections.abc import Callable

from tests.support.analyst_folder import AnalystFolder
from tests.support.known_models import LARGE, SMALL, knows
from tests.support.stage_rows import Row

Check = Callable[[AnalystFolder, list[Row]], None]
CHECKS: dict[str, Check] = {}
"""Question -> a check of the rows that its query returns."""


def answers(question: str) -> Callable[[Check], Check]:
    def register(check: Check) -> Check:
        assert question not in CHECKS
        CHECKS[question] = check
        return check

    return register


def list_known(folder: AnalystFolder, model: str, edition_id: str) -> set[tuple[str, str]]:
    """Return (relation, head) of the test pairs that the model masters, by the rules of its answers."""
    heads = (
        folder.read("triplets", edition_id).filter(split="test").select("relation", "head").unique().rows()
    )
    spared = {(r, h) for r, h in heads if not (model == SMALL and r == "symptoms")}
    refused = {(r, h) for r, h in heads if model == LARGE and h.endswith("head 20")}
    return {(r, h) for r, h in spared - refused if knows(model, h, edition_id)}


def by_edition(rows: list[Row], *columns: str) -> dict[str, list[tuple[object, ...]]]:
    """Return edition -> the values of these columns, row by row."""
    found: dict[str, list[tuple[object, ...]]] = {}
    for row in rows:
        found.setdefault(row["edition_id"], []).append(tuple(row[c] for c in columns))
    return found
