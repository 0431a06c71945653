"""What flows show of scores: the leaderboard, significant changes, and models that failed."""

import inspect
import re
from pathlib import Path

import pytest

from flows import regenerate
from flows.evaluate_model import evaluate_model
from flows.support import artifacts, dispatch, results
from flows.support.results import find_score_changes, read_changes
from flows.support.runs import Outcome
from pretexeval.config.file import Config
from pretexeval.config.tables import StorageConfig
from pretexeval.storage.records import write_record
from pretexeval.storage.store import Store
from tasks.evaluation.failures import has_failure, write_failure
from tasks.evaluation.missing_answers import Shard
from tests.support.data_folder import DataFolder, Rule, erratic, expert
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse
from warehouse.query import read_rows
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
    for label, rules in SERIES.items():
        world.write_edition(EDITIONS[label])
        manifest = world.root / "editions" / EDITIONS[label] / "manifest.json"
        write_record(manifest, require_record(manifest) | {"label": label})
        for name, rule in rules.items():
            world.write_answers(EDITIONS[label], name, rule)
    world.write_answers(EDITIONS["2026-W47"], "erratic", erratic, fail=lambda _: "HTTP 500")
    build_warehouse(world.root)
    return world.root


def test_a_model_is_compared_with_its_previous_edition_of_the_same_kind_of_period(root: Path) -> None:
    names = {edition_id: label for label, edition_id in EDITIONS.items()}
    since = {
        label: {row["model"].lower(): names[row["since"]] for row in read_changes(root, edition_id)}
        for label, edition_id in EDITIONS.items()
    }
    assert since == {
        "2026-W09": {},
        "2026-W10": {"expert": "2026-W09"},
        "2026-W46": {"expert": "2026-W10"},
        "2026-W47": {"expert": "2026-W46"},
        "2026-W48": {"expert": "2026-W47", "erratic": "2026-W46"},
        "2026-W52": {"erratic": "2026-W48"},
        "2027-W01": {"erratic": "2026-W52", "student": "2026-W52"},
        "2026-11-21": {},
        "2026-11-22": {"expert": "2026-11-21"},
    }


def test_only_significant_changes_are_found(root: Path) -> None:
    (change,) = find_score_changes(root, EDITIONS["2027-W01"])
    assert (change["model_id"], change["n_heads"]) == ("student", 15)
    assert change["since"] == EDITIONS["2026-W52"]
    assert (change["average_accuracy_before"], change["average_accuracy"], change["change"]) == (1, 0, -1)
    assert change["change_ci_low"] <= change["change"] <= change["change_ci_high"] < 0
    assert find_score_changes(root, EDITIONS["2026-W52"]) == []


def test_a_change_is_said_with_its_sign_and_its_interval() -> None:
    row = {"model": "M", "method": "direct", "since": "e-2026-W01", "n_heads": 1}
    few = row | {"change": 0.021, "change_ci_low": None, "change_ci_high": None}
    assert results.describe_change(few) == (
        "M (direct): average accuracy changed by +2.1 points (too few facts for an interval) since "
        "e-2026-W01, on 1 shared head"
    )
    fall = row | {"change": -0.05, "change_ci_low": -0.08, "change_ci_high": -0.02}
    assert "changed by -5.0 points (95 % interval -8.0 to -2.0) since" in results.describe_change(fall)


def test_the_page_of_a_run_has_links_the_scores_and_who_has_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    data.write_answers(EDITION, "expert", expert)
    config = Config.model_validate({"storage": {"root": data.root}})
    write_failure(Store(config.storage), config, EDITION, "down", "the endpoint is down")
    write_failure(Store(config.storage), config, EDITION, "down", "nothing was imported", "answer_only")
    build_warehouse(data.root)
    shown: list[tuple[str, str]] = []
    monkeypatch.setattr(
        artifacts, "create_markdown_artifact", lambda text, *, key, description: shown.append((key, text))
    )
    results.show_results("regenerate", config.storage, EDITION, ["far: asked", "1 of 1"])
    ((key, text),) = shown
    assert key == f"regenerate-{EDITION.lower()}"
    assert text.startswith(
        f"- far: asked\n- 1 of 1\n\n- [Page of {EDITION}]({data.root.as_uri()}/report/{EDITION}/"
    )
    assert re.search(r"^1 +Expert +\d", text, re.MULTILINE)
    assert "not evaluated: down: the endpoint is down" in text
    assert "not evaluated: down (answer_only): nothing was imported" in text


def test_links_lead_to_the_web_server_only_if_it_serves_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    storage = StorageConfig(root=Path(tmp_path.name), shared="s3://bucket/team")
    server, paths = "http://127.0.0.1:8080", {"Page": "report/e/index.html", "Files": "editions/e/"}
    monkeypatch.setenv(artifacts.BASE_URL_VARIABLE, f"{server}/")
    monkeypatch.setenv(artifacts.SERVED_ROOT_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    served = artifacts.render_links(storage, paths)
    assert served == f"- [Page]({server}/e/index.html)\n- [Files]({server}/editions/e/)"
    # The web server of another folder does not have them.
    monkeypatch.setenv(artifacts.SERVED_ROOT_VARIABLE, str(tmp_path.parent))
    assert artifacts.locate(storage, paths["Page"]) == "s3://bucket/team/report/e/index.html"


def test_model_whose_worker_is_lost_is_listed(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    models = [{"name": name, "engine": "imported", "model": "x"} for name in ("one", "two")]
    config = Config.model_validate({"storage": {"root": data.root}, "models": models})
    write_failure(Store(config.storage), config, EDITION, "two", "vLLM cannot load it")
    reasons = ("the worker was lost", "Flow run encountered an exception")
    lost = [Outcome(reason, has_failed=True) for reason in reasons]
    monkeypatch.setattr(dispatch, "run_subflows", lambda _, calls, __: lost[: len(calls)])
    assert list(regenerate.evaluate_models(config, EDITION).values()) == lost
    build_warehouse(data.root)
    assert read_rows(data.root, "select model, reason from not_evaluated") == [
        {"model": "one", "reason": "the worker was lost"},
        {"model": "two", "reason": "vLLM cannot load it"},
    ]
    # A shard that succeeds says nothing of the others.
    monkeypatch.setattr("flows.evaluate_model.plan_evaluation", lambda *_: None)
    monkeypatch.setattr("flows.evaluate_model.evaluate_shard", lambda *_: "two")
    inspect.unwrap(evaluate_model.fn)(config, EDITION, "two", shard=Shard(number=1, of=2))
    assert has_failure(Store(config.storage), EDITION, "two")
