"""What a leaderboard is compared with, and which scores moved by more than their interval."""

from pathlib import Path

import pytest

from flows.support.score_changes import find_moves, read_leaderboard
from tests.support import simulated_models
from tests.support.data_folder import DataFolder, Rule
from tests.support.stage_rows import Row, write_record
from tests.warehouse.conftest import fill_pairs
from warehouse.publish import build_warehouse
from warehouse.records import read_record


def wrong(sample: Row) -> bool | None:
    return not sample["label"]


class Series:
    """Editions of one base, each with the models that were evaluated on it."""

    def __init__(self, root: Path) -> None:
        self.world = fill_pairs(DataFolder(root))

    def add(
        self, edition_id: str, label: str, *names: Rule, model: str | None = None, **changes: str
    ) -> None:
        """An edition; the models answer by their rules, ``model``: under this one name."""
        self.world.write_edition(edition_id)
        manifest = self.world.root / "editions" / edition_id / "manifest.json"
        write_record(manifest, read_record(manifest) | {"label": label, **changes})
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


def test_the_edition_before_is_that_of_the_week_before(series: Series) -> None:
    weeks = ("2026-W09", "2026-W10", "2026-W52", "2027-W01")
    editions = [f"starter-{week}-{digit:08}" for digit, week in zip((9, 8, 7, 6), weeks, strict=True)]
    for edition_id, week in zip(editions, weeks, strict=True):
        series.add(edition_id, week, simulated_models.expert)
    root = series.publish()
    found = [read_since(root, edition_id)["expert"] for edition_id in editions]
    assert found == [None, *editions[:-1]]


def test_an_edition_made_by_hand_is_not_one_of_the_series(series: Series) -> None:
    first, second = "starter-2026-W47-00000001", "starter-2026-W48-00000001"
    by_hand = ("starter-seed1-00000001", "starter-0-trial-00000001")
    series.add(first, "2026-W47", simulated_models.expert)
    series.add(by_hand[0], "seed1", simulated_models.expert)
    series.add(by_hand[1], "0-trial", simulated_models.expert)
    series.add(second, "2026-W48", simulated_models.expert)
    root = series.publish()
    assert read_since(root, second) == {"expert": first}
    assert [read_since(root, each)["expert"] for each in by_hand] == [None, None]


def test_two_editions_of_a_week_are_not_compared_with_each_other(series: Series) -> None:
    for digit in (1, 2):
        series.add(f"starter-2026-W47-{digit:08}", "2026-W47", simulated_models.expert)
    series.add("starter-2026-W48-00000000", "2026-W48", simulated_models.expert)
    root = series.publish()
    assert read_since(root, "starter-2026-W47-00000002") == {"expert": None}
    assert read_since(root, "starter-2026-W48-00000000") == {"expert": "starter-2026-W47-00000002"}


@pytest.mark.parametrize("changes", [{"kb": "medlama"}, {"pool": "own"}, {"negatives": "uniform"}])
def test_what_is_made_differently_is_not_compared(series: Series, changes: dict[str, str]) -> None:
    series.add("starter-2026-W47-00000001", "2026-W47", simulated_models.expert, **changes)
    series.add("starter-2026-W48-00000001", "2026-W48", simulated_models.expert)
    assert read_since(series.publish(), "starter-2026-W48-00000001") == {"expert": None}


def test_a_model_that_failed_last_week_is_compared_with_the_week_before_that(series: Series) -> None:
    series.add("starter-2026-W46-00000001", "2026-W46", simulated_models.expert, simulated_models.erratic)
    series.add("starter-2026-W47-00000001", "2026-W47", simulated_models.expert)
    series.add("starter-2026-W48-00000001", "2026-W48", simulated_models.expert, simulated_models.erratic)
    assert read_since(series.publish(), "starter-2026-W48-00000001") == {
        "expert": "starter-2026-W47-00000001",
        "erratic": "starter-2026-W46-00000001",
    }


def test_the_change_is_that_of_the_accuracy(series: Series) -> None:
    series.add("starter-2026-W47-00000001", "2026-W47", simulated_models.expert, model="student")
    series.add("starter-2026-W48-00000001", "2026-W48", simulated_models.always_true, model="student")
    (row,) = read_leaderboard(series.publish(), "starter-2026-W48-00000001")
    assert (row["average_accuracy"], row["change"]) == (0.5, -0.5)


def test_only_a_score_that_left_its_interval_has_moved(series: Series) -> None:
    for edition_id, label, rule in (
        ("starter-2026-W47-00000001", "2026-W47", simulated_models.expert),
        ("starter-2026-W48-00000001", "2026-W48", wrong),
    ):
        series.add(edition_id, label, rule, model="student")
        series.add(edition_id, label, simulated_models.erratic)
    (move,) = find_moves(series.publish(), "starter-2026-W48-00000001")
    assert (move["model_id"], move["since"], move["n_heads"]) == ("student", "starter-2026-W47-00000001", 4)
    assert (move["average_accuracy_before"], move["average_accuracy"], move["change"]) == (1, 0, -1)
    assert move["change_ci_low"] <= move["change"] <= move["change_ci_high"] < 0
    assert find_moves(series.world.root, "starter-2026-W47-00000001") == []
