"""What flows show of scores: the leaderboard, significant changes, and models that failed."""

from pathlib import Path
from typing import Any

import pytest

from flows import regenerate
from flows.support import artifacts, dispatch
from flows.support.score_changes import find_score_changes, read_leaderboard
from pretexeval.config.file import Config
from pretexeval.storage.records import write_record
from pretexeval.storage.store import Store
from report.score_tables import render_not_evaluated
from tasks.evaluation.failures import write_failure
from tests.support.data_folder import DataFolder, Rule, query_rows
from tests.support.simulated_models import erratic, expert
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse
from warehouse.records import require_record


def wrong(sample: Row) -> bool | None:
    return not sample["label"]


# Label -> model and rule. The model erratic failed in week 47; student is wrong since the new year.
SERIES: dict[str, dict[str, Rule]] = {
    "2026-W09": {"expert": expert},
    "2026-W10": {"expert": expert},
    "2026-W46": {"expert": expert, "erratic": erratic},
    "2026-W47": {"expert": expert},
    "2026-W48": {"expert": expert, "erratic": erratic},
    "2026-W52": {"erratic": erratic, "student": expert},
    "2027-W01": {"erratic": erratic, "student": wrong},
    "2026-11-21": {"expert": expert},
    "2026-11-22": {"expert": expert},
}
# The names of the editions are in another order than their periods.
EDITIONS = {label: f"starter-{label}-{90 - n:08}" for n, label in enumerate(SERIES)}


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    world = DataFolder(tmp_path_factory.mktemp("series") / "data")
    # With fewer pairs, a change has no interval.
    for k in range(15):
        world.add_pair("symptoms", f"head{k}", f"tail{k}", f"tail{(k + 1) % 15}")
    for name in ("expert", "erratic", "student"):
        world.write_model(name)
    for label, rules in SERIES.items():
        world.write_edition(EDITIONS[label])
        manifest = world.root / "editions" / EDITIONS[label] / "manifest.json"
        write_record(manifest, require_record(manifest) | {"label": label})
        for name, rule in rules.items():
            world.write_answers(EDITIONS[label], name, rule)
    build_warehouse(world.root)
    return world.root


def test_a_model_is_compared_with_its_previous_edition_of_the_same_kind_of_period(root: Path) -> None:
    names = {edition_id: label for label, edition_id in EDITIONS.items()} | {None: None}
    since = {
        label: {row["model"].lower(): names[row["since"]] for row in read_leaderboard(root, edition_id)}
        for label, edition_id in EDITIONS.items()
    }
    assert since == {
        "2026-W09": {"expert": None},
        "2026-W10": {"expert": "2026-W09"},
        "2026-W46": {"expert": "2026-W10", "erratic": None},
        "2026-W47": {"expert": "2026-W46"},
        "2026-W48": {"expert": "2026-W47", "erratic": "2026-W46"},
        "2026-W52": {"erratic": "2026-W48", "student": None},
        "2027-W01": {"erratic": "2026-W52", "student": "2026-W52"},
        "2026-11-21": {"expert": None},
        "2026-11-22": {"expert": "2026-11-21"},
    }


def test_only_significant_changes_are_found(root: Path) -> None:
    (change,) = find_score_changes(root, EDITIONS["2027-W01"])
    assert (change["model_id"], change["n_heads"]) == ("student", 15)
    assert change["since"] == EDITIONS["2026-W52"]
    assert (change["average_accuracy_before"], change["average_accuracy"], change["change"]) == (1, 0, -1)
    assert change["change_ci_low"] <= change["change"] <= change["change_ci_high"] < 0
    assert find_score_changes(root, EDITIONS["2026-W52"]) == []


def test_leaderboard_artifact_lists_models_without_a_score(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(sample: Row) -> str | None:
        return "HTTP 400: no" if sample["head"] == "Scurvy" and sample["transformation"] == "inv" else None

    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    data.write_model("expert")
    # It fails on 2 of its 64 samples.
    data.write_answers(EDITION, "expert", expert, fail=fail, max_error_rate=0.05)
    config = Config.model_validate({"storage": {"root": data.root}})
    write_failure(Store(config.storage), config, EDITION, "down", "the endpoint is down")
    write_failure(Store(config.storage), config, EDITION, "down", "nothing was imported", "answer_only")
    build_warehouse(data.root)
    shown: list[dict[str, Any]] = []
    monkeypatch.setattr(artifacts, "create_table_artifact", lambda table, **_: shown.extend(table))
    artifacts.show_leaderboard(config, EDITION)
    first, down, unasked = shown
    assert first["evaluated"] == "yes"
    assert (first["model"], first["failed %"], first["no answer %"]) == ("Expert", 3.1, 0.0)
    assert list(down) == list(first)
    assert {name: value for name, value in down.items() if value is not None} == {
        "model": "down",
        "evaluated": "not evaluated: the endpoint is down",
    }
    assert unasked["model"] == "down (answer_only)"
    assert render_not_evaluated(query_rows(data.root, "from not_evaluated")).splitlines() == [
        "not evaluated: down: the endpoint is down",
        "not evaluated: down (answer_only): nothing was imported",
    ]


def test_model_whose_worker_is_lost_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    models = [{"name": name, "engine": "imported", "model": "x"} for name in ("one", "two")]
    config = Config.model_validate({"storage": {"root": data.root}, "models": models})
    write_failure(Store(config.storage), config, EDITION, "two", "vLLM cannot load it")
    lost: list[str | None] = ["the worker was lost", "Flow run encountered an exception"]
    monkeypatch.setattr(dispatch, "run_subflows", lambda *_: lost)
    assert list(regenerate.evaluate_models(config, EDITION).values()) == lost
    build_warehouse(data.root)
    assert query_rows(data.root, "select model, reason from not_evaluated") == [
        {"model": "one", "reason": "the worker was lost"},
        {"model": "two", "reason": "vLLM cannot load it"},
    ]
