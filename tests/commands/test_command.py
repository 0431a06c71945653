"""The command: quick answers, errors in what the user gives it, its JSON, and runs that are begun by hand."""

import argparse
import json
import os
import re
import shlex
import subprocess
import sys
from collections.abc import Iterator
from dataclasses import asdict
from pathlib import Path
from typing import Any
from unittest.mock import Mock

import pytest
from prefect.context import TagsContext

from commands import in_process
from commands.main import build_parser, main
from commands.selection import limit_pairs, select_models
from pretexeval.config.file import load_config
from pretexeval.primitives.errors import InputError
from tasks.edition.planning import plan_edition
from tasks.evaluation.schedule import Job, Part
from tests.commands.configurations import FAR, STARTER, evaluate, write_configuration
from tests.support.command import (
    REPOSITORY,
    block_packages,
    build_environment,
    make_rows,
    run_measured,
    run_process_command,
    write_config,
)
from tests.support.data_folder import DataFolder, expert
from tests.support.question_folder import Point, QuestionFolder, erratic
from tests.support.small_disk import mount_disk
from warehouse.publishing import build_warehouse

# Importing any of these takes seconds. The errors tested here must come before Prefect starts.
SLOW = ("prefect", "vllm", "openai", "great_expectations", "torch", "transformers")
# Every answer needs these libraries. Importing them takes 0.6 s of processor time, an answer at most 1.4 s.
LIBRARIES = "import polars, duckdb, pyarrow.parquet, scipy.optimize, scipy.sparse"
MAX_TIMES_LIBRARIES = 4


@pytest.mark.long
def test_questions_are_answered_quickly_and_without_slow_imports(tmp_path: Path) -> None:
    blocked = block_packages(tmp_path / "blocked", *SLOW)
    near = {"name": "near", "model": str(REPOSITORY / "models" / "reference-small")}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[near])
    build_warehouse(tmp_path)
    imported = [sys.executable, "-c", LIBRARIES]
    libraries_s = run_measured(imported, folder=tmp_path, environment=build_environment()).cpu_s
    for arguments, words in (
        (["--help"], "import-responses"),
        (["validate", config], "starter-seed1-"),
        (["plan", config], "prompt tokens counted by the model's tokenizer"),
        (["doctor", config], "model near"),
        (["sql", "select 'a' as letter", "--root", tmp_path], "letter"),
    ):
        outcome = run_process_command(*arguments, folder=tmp_path, blocked=blocked).require()
        assert outcome.cpu_s < MAX_TIMES_LIBRARIES * libraries_s
        assert outcome.err == ""
        assert words in outcome.out
    assert not (tmp_path / "data").exists()


def list_parsers(parser: argparse.ArgumentParser) -> Iterator[argparse.ArgumentParser]:
    """Yield the parsers of all subcommands and of their actions."""
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                yield each
                yield from list_parsers(each)


def test_the_help_of_a_subcommand_has_examples_that_the_parser_accepts() -> None:
    """They fit a terminal, and name configurations that exist."""
    parsers = list(list_parsers(build_parser()))
    assert len(parsers) == 19
    for parser in parsers:
        shown = parser.format_help()
        assert max(map(len, shown.splitlines())) <= 110, parser.prog
        text = shown.partition("examples:\n")[2].replace("\\\n", " ")
        assert text.startswith(f"  {parser.prog}")
        for line in text.splitlines():
            name, *arguments = shlex.split(line)
            assert name == "pretexeval"
            assert callable(build_parser().parse_args(arguments).command)
            named = [word for word in arguments if word.startswith("configs/")]
            assert [path for path in named if not (REPOSITORY / path).is_file()] == []


def refuse(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> str:
    """Run a command that must fail; return its message."""
    assert main(list(map(str, arguments))) == 2
    captured = capsys.readouterr()
    assert captured.out == ""
    assert captured.err.removeprefix("building the edition\n").startswith("pretexeval: ")
    return captured.err


def test_a_disk_without_room_or_read_only(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    with mount_disk(tmp_path / "disk", 2**20) as disk:
        config = write_config(tmp_path / "c.toml", disk, knowledge=STARTER)
        assert "the disk is full (1.0 MB free" in refuse(capsys, "build", config)
        subprocess.run(["mount", "-o", "remount,ro", str(disk)], check=True)
        unwritable = "cannot be written (Read-only file system); choose another folder, or make it writable\n"
        assert refuse(capsys, "build", config).endswith(f"pretexeval: [storage] root {disk} {unwritable}")
        new = disk / "mine"
        assert refuse(capsys, "init", new) == f"pretexeval: {new} {unwritable}"
        assert list(disk.iterdir()) == []


def test_files_editions_and_models_that_are_missing_are_named(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    lost = [{"name": "lost", "model": "./nowhere"}]
    write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=[FAR])
    write_config(tmp_path / "lost.toml", tmp_path / "lost", knowledge=STARTER, models=lost)
    for line, message in {
        "run lost.toml": "model 'lost'",
        "evaluate lost.toml": "model 'lost'",
        "review export no-such-edition --reviewer ann": "no-such-edition",
        "review import none.csv": "none.csv",
        "sql": "`pretexeval run CONFIG` creates one",
    }.items():
        assert message in refuse(capsys, *line.split()), line
    assert not (tmp_path / "lost").exists()


def test_init_writes_files_that_are_valid_and_replaces_none(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "new/mine"]) == 0
    said = capsys.readouterr().out
    written = {path.relative_to(tmp_path).as_posix() for path in tmp_path.rglob("*") if path.is_file()}
    assert written == {f"new/mine/{path}" for path in ("config.toml", "prototypes.toml", "facts/facts.csv")}
    assert all(path in said for path in written)
    monkeypatch.chdir(tmp_path / "new/mine")
    assert main(["validate", "config.toml"]) == 0
    found = capsys.readouterr()
    assert "mine-seed1-" in found.out
    assert "the gate would reject" not in found.out
    Path("config.toml").unlink()
    assert "exists already, and nothing was written" in refuse(capsys, "init")
    assert not Path("config.toml").exists()


def test_printed_commands_work_in_a_folder_with_a_blank_and_a_draft_says_what_it_lacks(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", "my own"]) == 0
    assert "\ncd 'my own'\npretexeval validate config.toml\n" in capsys.readouterr().out
    path, pool = "my own/config.toml", {"pool": "my own/drafted.toml"}
    drafting = ["draft", path, "may_treat", "The drug [X] may treat the disease [Y]."]
    for rephraser, says_so in (({}, True), ({"kind": "none"}, False)):
        Path(pool["pool"]).unlink(missing_ok=True)
        write_configuration(
            tmp_path / "my own", make_rows("may_treat"), edition=pool, rephraser=rephraser
        ).rename(path)
        assert main(drafting) == 0
        said = capsys.readouterr().out
        assert said.endswith("then: pretexeval validate 'my own/config.toml'\n")
        assert ("rephraser   `reviewed` needs at least 4 further wordings" in said) is says_so
    root = tmp_path / "my own" / "data"
    root.mkdir()
    build_warehouse(root)
    monkeypatch.setattr(in_process, "run_all", lambda *_: in_process.RunResult("e", root, {}))
    assert main(["run", path]) == 0
    assert f"--root '{root}')\n" in capsys.readouterr().out


PAGE = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
# Keys whose parts are names from the configuration.
NAMED = {"n_samples": "method", "n_questions": "type"}


def read_documented(title: str) -> set[str]:
    """Return the keys that the tables of a section list."""
    section = PAGE.partition(f"\n## {title}\n")[2].partition("\n## ")[0]
    cells = (line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def list_keys(value: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield the keys of a JSON value as the page writes them."""
    if isinstance(value, list):
        for part in value:
            yield from list_keys(part, f"{place}[]")
    elif isinstance(value, dict) and place != "warnings[]":
        for key, part in value.items():
            name = f"<{NAMED[place]}>" if place in NAMED else key
            yield from list_keys(part, f"{place}.{name}" if place else name)
    else:
        yield place


@pytest.mark.parametrize("command", ["validate", "plan", "doctor"])
def test_the_keys_are_those_of_the_page(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row and a head are left out, the endpoint of a model is down, and another model is missing."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    models = [FAR, {"name": "lost", "model": str(tmp_path / "none")}]
    questions = {"settings": ["answer_only"]}
    rows = [*make_rows("therapeutic_drugs"), ("others", "therapeutic_drugs", "tail")]
    config = write_configuration(tmp_path, [*rows, rows[0]], questions=questions, models=models)
    more = {"validate": ["--deep", "--texts=1"], "plan": ["--cards=2"]}
    options = ["--format", "json", *more.get(command, [])]
    assert main([command, str(config), *options]) == 1
    captured = capsys.readouterr()
    found = json.loads(captured.out)
    if command == "plan":
        keys = read_documented("The plan")
        assert set(list_keys(found)) == {key for key in keys if not key.startswith("parts")}
        job = Job("m", 1, 1.0)
        part = {"parts": [asdict(Part(job, job_number=0, number=1, of=1, begin_s=0.0, end_s=1.0))]}
        assert set(list_keys(part)) == {key for key in keys if key.startswith("parts")}
        assert found["n_cards"] == 2
        assert captured.err.count(str(tmp_path / "none")) == 1
        assert [each["name"] for each in found["estimates"]] == ["far", "far"]
        return
    keys = {f"[].{key}{'[]' * (key == 'rows')}" for each in found for key in each}
    assert keys == read_documented("Checks before a run")
    if command == "validate":
        named = {each["name"] for each in found if each["rows"]}
        assert named == {"relations", "lost heads", "left out", "risks", "questions", "names", "texts"}
        assert [name for name in named if f"`{name}`" not in PAGE] == []
        states = {each["name"]: (each["state"], each["found"]) for each in found}
        assert (states["model far"][0], states["model far"][1][:4]) == ("ok", "far-")
        assert states["model lost"][0] == "failing"
        assert "there is no folder" in states["model lost"][1]


EDITIONS = ("bank-seed1-00000001", "bank-seed1-00000002")


def test_a_run_by_hand_is_tagged_and_sends_heartbeats_before_the_automation_acts(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PREFECT_API_URL", "http://127.0.0.1:9/api")
    monkeypatch.setenv("PREFECT_HOME", str(tmp_path))
    monkeypatch.setenv("PREFECT_LOCAL_STORAGE_PATH", "set back after the test")
    # Prefect's default, with which the server would take a healthy run for lost.
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
    data.write_answers(EDITIONS[0], "expert", expert, n_repeats=3)
    points = [Point("symptoms", f"Disease {k}", has_pair=False) for k in range(3)]
    questions = QuestionFolder(DataFolder(data.root), points)
    questions.write_edition(EDITIONS[1])
    questions.write_answers(EDITIONS[1], "erratic", erratic, setting="chain_of_thought")
    build_warehouse(data.root)

    ends = iter([in_process.RunResult(edition_id, data.root, {}) for edition_id in EDITIONS])
    monkeypatch.setattr(in_process, "run_all", lambda *_: next(ends))
    monkeypatch.setattr(in_process, "refresh_page", lambda *_: None)
    configs = [str(write_config(tmp_path / name, data.root)) for name in ("one.toml", "two.toml")]
    assert main(["run", *configs]) == 0
    printed = capsys.readouterr().out
    # Each edition is named before its table, and the page of all editions in the end.
    assert printed.startswith(f"\n{EDITIONS[0]}\n# ")
    assert printed.endswith(f"\nall editions  {data.root / 'report' / 'index.html'}\n")
    assert printed.count("all editions") == 1
    said, _, of_questions = printed.partition(f"\n{EDITIONS[1]}\nmodel ")
    assert len(re.findall(r"^ *1 +Expert ", said, re.MULTILINE)) == 1
    assert "Expert (pretexeval, strict): the leaderboard shows the first of 3 repeats. Their mean" in said
    # Only samples have a leaderboard.
    assert "no model has been evaluated on this edition yet" not in printed
    assert re.search(r"^Erratic +chain_of_thought ", of_questions, re.MULTILINE)
    assert re.search(r"^random answers ", of_questions, re.MULTILINE)


def test_a_page_is_refreshed_although_a_model_of_its_configuration_is_gone(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data")
    QuestionFolder(data, [Point("symptoms", "Disease", has_pair=False)]).write_edition(EDITIONS[0])
    build_warehouse(data.root)
    gone = {"name": "gone", "engine": "vllm", "model": str(tmp_path / "gone")}
    config = load_config(write_configuration(tmp_path, models=[gone]))
    assert config.storage.root == data.root
    assert not in_process.is_published(config, EDITIONS[0])


LEFT_OUT = "everything else was published, but 1 part was left out:\n  data/editions/a: it is damaged"


def test_what_a_publication_leaves_out_ends_every_command_in_the_same_way(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    data = DataFolder(tmp_path / "data")
    data.add_pairs("symptoms", 6)
    data.write_edition(EDITIONS[0])
    build_warehouse(data.root)
    config, other = str(write_configuration(tmp_path)), str(write_config(tmp_path / "d.toml", data.root))
    end = in_process.RunResult(EDITIONS[0], data.root, {}, LEFT_OUT)
    for name, result in (("run_all", end), ("run_publish", LEFT_OUT), ("run_backfill", ({}, LEFT_OUT))):
        monkeypatch.setattr(in_process, name, Mock(return_value=result))
    backfill = ["backfill", config, "--from", "2026-W40", "--to", "2026-W41"]
    withdraw = ["withdraw", EDITIONS[0], "--reason", "wrong", "--root", str(data.root)]
    for words in (["run", config], ["run", config, other], ["publish", config], backfill, withdraw):
        assert main(words) == 1, words
        said = capsys.readouterr().err
        assert said.count(LEFT_OUT) == 1, words
        assert said.endswith(f"pretexeval: {LEFT_OUT}\n"), words


N_TESTED = 9
PER_PAIR = 2


@pytest.fixture
def path(tmp_path: Path) -> Path:
    models = [FAR | {"name": "one"}, FAR | {"name": "two", "pairs_per_relation": 3}]
    rows = make_rows("may_treat", "may_prevent")
    return write_configuration(tmp_path, rows, edition={"methods": ["direct"]}, models=models)


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
