"""Runs that are started by hand: their tags, what they print, and what `--model` and `--limit` choose."""

import os
import re
from pathlib import Path
from typing import Any

import pytest
from prefect.context import TagsContext

from commands import in_process
from commands.main import main
from commands.selection import limit_pairs, select_models
from pretexeval.config.file import Config, load_config
from pretexeval.primitives.errors import InputError
from tasks.edition.planning import plan_edition
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.run_record import read_run
from tests.commands.configurations import FAR, PARROT, build, write_configuration
from tests.support.command import make_rows, write_config
from tests.support.data_folder import DataFolder
from tests.support.evaluations import ask_model, finish
from tests.support.question_folder import Point, QuestionFolder, erratic
from tests.support.simulated_models import expert
from warehouse.publishing import build_warehouse

EDITIONS = ("bank-seed1-00000001", "bank-seed1-00000002")


def test_a_run_by_hand_is_tagged_and_sends_heartbeats_before_the_automation_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_LOCAL_STORAGE_PATH", "set back after the test")
    # Prefect's default, with which the server would take a healthy run for lost after 90 s.
    monkeypatch.setenv("PREFECT_FLOWS_HEARTBEAT_FREQUENCY", "180")
    monkeypatch.setattr(in_process, "require_named_server", lambda: None)
    with in_process._begin_flows(tmp_path):
        assert os.environ["PREFECT_FLOWS_HEARTBEAT_FREQUENCY"] == "30"
        assert TagsContext.get().current_tags == {"pretexeval"}
    assert TagsContext.get().current_tags == set()
    # A server that was started here has no automations, and looking for the limits of a tag costs time.
    monkeypatch.setattr(in_process, "is_own_server", lambda: True)
    with in_process._begin_flows(tmp_path):
        assert TagsContext.get().current_tags == set()


def test_a_home_of_prefect_that_cannot_be_a_folder_is_one_message(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    (tmp_path / "file").touch()
    (tmp_path / "link").symlink_to(tmp_path / "nowhere" / "else")
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    for home in (tmp_path / "file" / "below", tmp_path / "link"):
        monkeypatch.setenv("PREFECT_HOME", str(home))
        with pytest.raises(InputError, match=rf"PREFECT_HOME is {home}, which cannot be a folder"):
            in_process.prepare_prefect(tmp_path / "data")


def test_a_run_prints_one_row_of_a_model_with_repeats_and_its_facets(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    """The first edition has samples, the other one has questions alone."""
    data = DataFolder(tmp_path / "data")
    for k in range(3):
        data.add_pair("symptoms", f"Disease {k}", "Fever", "Cough")
    data.write_edition(EDITIONS[0])
    data.write_model("expert")
    data.write_answers(EDITIONS[0], "expert", expert, n_repeats=3)
    points = [Point("symptoms", f"Disease {k}", has_pair=False) for k in range(3)]
    questions = QuestionFolder(DataFolder(data.root), points)
    questions.write_edition(EDITIONS[1])
    data.write_model("erratic")
    questions.write_answers(EDITIONS[1], "erratic", erratic, setting="chain_of_thought")
    build_warehouse(data.root)

    def report(edition_id: str) -> str:
        end = in_process.RunResult(edition_id, data.root, {})
        monkeypatch.setattr(in_process, "run_all", lambda *_: end)
        assert main(["run", str(write_config(tmp_path / "c.toml", data.root))]) == 0
        return capsys.readouterr().out

    said = report(EDITIONS[0])
    # The edition is named before its table, and the page of all editions in the end.
    assert said.startswith(f"\n{EDITIONS[0]}\n# ")
    assert said.endswith(f"\nall editions  {data.root / 'report' / 'index.html'}\n")
    assert len(re.findall(r"^ *1 +Expert ", said, re.MULTILINE)) == 1
    assert "Expert (pretexeval, strict): the leaderboard shows the first of 3 repeats. Their mean" in said
    said = report(EDITIONS[1])
    # Only samples have a leaderboard.
    assert "no model has been evaluated on this edition yet" not in said
    assert re.search(r"^Erratic +chain_of_thought ", said, re.MULTILINE)
    assert re.search(r"^random answers ", said, re.MULTILINE)


ROWS = make_rows("may_treat", "may_prevent")
N_TESTED = 9
PER_PAIR = 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    models = [FAR | {"name": "one"}, FAR | {"name": "two", "pairs_per_relation": 3}]
    return write_configuration(tmp_path, ROWS, edition={"methods": ["direct"]}, models=models)


def evaluate(config: Config, name: str) -> dict[str, Any]:
    """Evaluate a model as a run does; return its record."""
    edition = plan_edition(config)
    if not edition.is_complete():
        build(config)
    evaluation = plan_evaluation(config, edition.edition_id, name)
    finish(evaluation, ask_model(evaluation, PARROT.load))
    record = read_run(evaluation)
    assert record is not None
    return record


def test_models_are_chosen_by_name_and_a_smaller_limit_of_the_configuration_stays(path: Path) -> None:
    config = load_config(path)
    assert [model.name for model in select_models(config, ["two", "one"]).models] == ["one", "two"]
    assert [model.name for model in select_models(config, ["two"]).models] == ["two"]
    said = r"no model 'tow' in the configuration \(did you mean two\?\); its models are: one, two"
    with pytest.raises(InputError, match=said):
        select_models(config, ["one", "tow"])
    limited = limit_pairs(config, 5)
    assert [model.pairs_per_relation for model in limited.models] == [5, 3]
    assert plan_edition(limited).edition_id == plan_edition(config).edition_id


def test_the_rest_of_a_limited_evaluation_is_asked_later_and_a_limit_never_replaces_more(path: Path) -> None:
    config = load_config(path)
    few, more = evaluate(limit_pairs(config, 2), "one"), evaluate(config, "one")
    counts = [(each["pairs_per_relation"], each["n_samples"], each["n_asked"]) for each in (few, more)]
    n_few, n_all = 2 * 2 * PER_PAIR, 2 * N_TESTED * PER_PAIR
    assert counts == [(2, n_few, n_few), (None, n_all, n_all - n_few)]
    with pytest.raises(InputError, match=r"larger evaluations .*: one\. Leave out the limit"):
        limit_pairs(config, 2)
    assert limit_pairs(select_models(config, ["two"]), 2).models[0].pairs_per_relation == 2


def test_a_plan_counts_what_is_chosen(path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    main(["plan", str(path), "--model", "one", "--limit", "2"])
    captured = capsys.readouterr()
    (line,) = (line for line in captured.out.splitlines() if line.startswith("one "))
    assert line.split()[:3] == ["one", "evaluation", str(2 * 2 * PER_PAIR)]
    assert "limited to 2 pairs of each relation" in captured.err
