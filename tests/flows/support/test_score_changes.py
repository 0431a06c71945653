"""The edition that a leaderboard is compared with, and the scores that changed significantly."""

from pathlib import Path

import pytest

from flows.support.score_changes import find_score_changes, read_leaderboard
from pretexeval.storage.records import write_record
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row
from tests.warehouse.conftest import fill_pairs
from warehouse.publishing import build_warehouse
from warehouse.records import require_record


def wrong(sample: Row) -> bool | None:
    return not sample["label"]


class Series:
    """A series of editions of one base, each with evaluated models."""

    def __init__(self, root: Path) -> None:
        self.world = fill_pairs(DataFolder(root))

    def add(
        self, edition_id: str, label: str, *names: Rule, model: str | None = None, **changes: str
    ) -> None:
        """Add an edition with one model per rule.

        Args:
            model: the name of the models; by default each has the name of its rule.
            changes: further entries of the manifest.
        """
        self.world.write_edition(edition_id)
        manifest = self.world.root / "editions" / edition_id / "manifest.json"
        write_record(manifest, require_record(manifest) | {"label": label, **changes})
        for rule in names:
            self.world.write_model(model or rule.__name__)
            self.world.write_answers(edition_id, model or rule.__name__, rule)

    def publish(self) -> Path:
        build_warehouse(self.world.root)
        return self.world.root


@pytest.fixture
def series(tmp_path: Path) -> Series:
    return Series(tmp_path / "data")


def read_since(root: Path, edition_id: str) -> dict[str, str | None]:
    return {row["model"].lower(): row["since"] for row in read_leaderboard(root, edition_id)}


def test_edition_is_compared_with_the_previous_week(series: Series) -> None:
    weeks = ("2026-W09", "2026-W10", "2026-W52", "2027-W01")
    editions = [f"starter-{week}-{digit:08}" for digit, week in zip((9, 8, 7, 6), weeks, strict=True)]
    for edition_id, week in zip(editions, weeks, strict=True):
        series.add(edition_id, week, simulated_models.expert)
    root = series.publish()
    found = [read_since(root, edition_id)["expert"] for edition_id in editions]
    assert found == [None, *editions[:-1]]


def test_editions_of_a_day_and_of_a_week_are_not_compared(series: Series) -> None:
    names = {label: f"starter-{label}-00000001" for label in ("2026-11-21", "2026-11-22", "2026-W47")}
    for label, edition_id in names.items():
        series.add(edition_id, label, simulated_models.expert)
    root = series.publish()
    assert read_since(root, names["2026-11-22"]) == {"expert": names["2026-11-21"]}
    assert read_since(root, names["2026-W47"]) == {"expert": None}


def test_model_that_failed_last_week_is_compared_with_the_week_before(series: Series) -> None:
    series.add("starter-2026-W46-00000001", "2026-W46", simulated_models.expert, simulated_models.erratic)
    series.add("starter-2026-W47-00000001", "2026-W47", simulated_models.expert)
    series.add("starter-2026-W48-00000001", "2026-W48", simulated_models.expert, simulated_models.erratic)
    assert read_since(series.publish(), "starter-2026-W48-00000001") == {
        "expert": "starter-2026-W47-00000001",
        "erratic": "starter-2026-W46-00000001",
    }


def test_only_significant_changes_are_found(series: Series) -> None:
    for edition_id, label, rule in (
        ("starter-2026-W47-00000001", "2026-W47", simulated_models.expert),
        ("starter-2026-W48-00000001", "2026-W48", wrong),
    ):
        series.add(edition_id, label, rule, model="student")
        series.add(edition_id, label, simulated_models.erratic)
    (change,) = find_score_changes(series.publish(), "starter-2026-W48-00000001")
    assert (change["model_id"], change["n_heads"]) == ("student", 4)
    assert change["since"] == "starter-2026-W47-00000001"
    assert (change["average_accuracy_before"], change["average_accuracy"], change["change"]) == (1, 0, -1)
    assert change["change_ci_low"] <= change["change"] <= change["change_ci_high"] < 0
    assert find_score_changes(series.world.root, "starter-2026-W47-00000001") == []
