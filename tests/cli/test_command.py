"""The command without slow imports: quick answers, and errors in what the user gives it."""

import json
import subprocess
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import (
    Outcome,
    block_packages,
    make_rows,
    run_process_command,
    write_base,
    write_config,
)
from warehouse.publishing import build_warehouse

# Importing any of these takes seconds. The errors tested here must come before Prefect starts.
SLOW = ("prefect", "vllm", "openai", "great_expectations", "torch")
ANSWER_S = 3.0
STARTER = {"name": "starter", "format": "starter", "relations": ["may_treat"]}


@pytest.fixture(scope="module")
def blocked(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return block_packages(tmp_path_factory.mktemp("blocked"), *SLOW)


@pytest.fixture
def model(tmp_path: Path) -> Path:
    """A folder that passes for a model as long as nobody loads it."""
    folder = tmp_path / "a model"
    folder.mkdir()
    (folder / "config.json").write_text("{}")
    (folder / "tokenizer.model").write_bytes(b"")
    (folder / "model.safetensors").write_bytes((2).to_bytes(8, "little") + b"{}")
    return folder


def refuse(arguments: list[str | Path], folder: Path, blocked: Path) -> str:
    """Run a command that must fail; return its message, which is for the user and no traceback."""
    outcome = run_process_command(*arguments, folder=folder, blocked=blocked).require(2)
    assert outcome.out == ""
    assert outcome.err.removeprefix("building the edition\n").startswith("pretexeval: ")
    assert "Traceback" not in outcome.err
    assert not (folder / "data").exists()
    return outcome.err


def answer(arguments: list[str | Path], folder: Path, blocked: Path) -> Outcome:
    """Run a command that must succeed quickly and without slow imports."""
    outcome = run_process_command(*arguments, folder=folder, blocked=blocked).require()
    assert outcome.cpu_s < ANSWER_S
    assert outcome.err == ""
    return outcome


def test_help_lists_the_commands(tmp_path: Path, blocked: Path) -> None:
    said = answer(["--help"], tmp_path, blocked).out
    for command in (
        *("run", "build", "evaluate", "publish", "validate", "score", "tables"),
        *("review", "gate", "export-disek", "sql", "doctor", "plan", "deploy", "completion"),
    ):
        assert f"\n    {command}" in said
    assert "a TOML file" in answer(["run", "--help"], tmp_path, blocked).out


def test_unknown_command_is_refused(tmp_path: Path, blocked: Path) -> None:
    outcome = run_process_command("evalute", folder=tmp_path, blocked=blocked).require(2)
    assert "evalute" in outcome.err
    assert "evaluate" in outcome.err


def test_validate_describes_a_run_and_writes_nothing(tmp_path: Path, blocked: Path, model: Path) -> None:
    models = [{"name": "mine", "model": str(model)}]
    root = tmp_path / "data"
    config = write_config(tmp_path / "c.toml", root, knowledge=STARTER, models=models)
    said = answer(["validate", config], tmp_path, blocked).out
    assert said.startswith("edition starter-seed1-")
    assert "\nmay_treat " in said
    assert "\nmodel mine-" in said
    assert not root.exists()


def test_validate_counts_the_questions_and_says_which_are_missing(tmp_path: Path, blocked: Path) -> None:
    path = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    base = {"name": "own", "format": "table", "path": str(path)}
    asked = {"settings": ["answer_only"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=base, questions=asked)
    lines = answer(["validate", config], tmp_path, blocked).out.splitlines()
    # 9 of the 14 heads are tested. Of all 14, 9 have one tail and 5 have two.
    assert "questions about 9 points" in lines
    counts = {tuple(line.split()[:2]): line.split()[2:] for line in lines if " affirmed " in line}
    assert counts["MCQ", "affirmed"] == ["9", "9"]
    assert counts["RQ", "affirmed"] == ["18", "9"]
    (line,) = (line for line in lines if "no negated MCQ" in line and "there are 2" in line)
    assert "about 5 heads" in line
    assert "needs 3 tails that are true of the head" in line


def test_sql_answers_in_three_formats(tmp_path: Path, blocked: Path) -> None:
    build_warehouse(tmp_path)
    assert "leaderboard" in answer(["sql", "--root", tmp_path], tmp_path, blocked).out
    query: list[str | Path] = ["sql", "select 'a' as letter, 1 as number", "--root", tmp_path]
    assert answer([*query, "--format", "csv"], tmp_path, blocked).out.split() == ["letter,number", "a,1"]
    rows = json.loads(answer([*query, "--format", "json"], tmp_path, blocked).out)
    assert rows == [{"letter": "a", "number": 1}]
    assert answer(query, tmp_path, blocked).out.split()[:2] == ["letter", "number"]


def test_sql_explains_why_it_cannot_answer(tmp_path: Path, blocked: Path) -> None:
    assert "`pretexeval run CONFIG` creates one" in refuse(["sql"], tmp_path, blocked)
    build_warehouse(tmp_path)
    wrong = refuse(["sql", "from leaderbord", "--root", tmp_path], tmp_path, blocked)
    assert "leaderbord" in wrong
    assert "leaderboard" in wrong
    assert "read-only" in refuse(["sql", "drop view leaderboard", "--root", tmp_path], tmp_path, blocked)


@pytest.mark.parametrize(
    ("content", "message"),
    [
        ("[edition]\nsede = 2", "edition.sede is not a known key (did you mean seed?)"),
        ("[edition]\nseed = -1", "edition.seed = -1: should be greater than or equal to 0"),
        ('[knowledge]\nformat = "table"', "path is needed with format 'table'"),
        ("[edition", "is not valid TOML"),
        (None, "c.toml cannot be read: No such file"),
    ],
)
def test_wrong_configuration(tmp_path: Path, blocked: Path, content: str | None, message: str) -> None:
    if content is not None:
        (tmp_path / "c.toml").write_text(content)
    said = refuse(["run", "c.toml"], tmp_path, blocked)
    assert "c.toml" in said
    assert message in said


@pytest.mark.parametrize(
    ("table", "message"),
    [
        ({"model": "./nowhere"}, "there is no folder './nowhere'"),
        ({"model": "."}, "holds no config.json"),
        ({"model": "a.parquet", "engine": "recorded"}, "no file of recorded responses"),
    ],
)
@pytest.mark.parametrize("command", ["run", "evaluate", "validate"])
def test_missing_model(
    tmp_path: Path, blocked: Path, command: str, table: dict[str, Any], message: str
) -> None:
    models = [{"name": "lost"} | table]
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=STARTER, models=models)
    said = refuse([command, config], tmp_path, blocked)
    assert "model 'lost'" in said
    assert message in said


BASES = {
    "empty file": ("", "own.tsv"),
    "no rows": ("head\trelation\ttail\n", "holds no rows"),
    "missing column": ("head\trelation\nA\tmay_treat\n", "has no column tail"),
    "empty name": ("head\trelation\ttail\nA\tmay_treat\t\n", "line 2: the tail is empty"),
    "unknown relation": ("head\trelation\ttail\nA\tmay_heal\tB\n", "prototypes for relation 'may_heal'"),
}


@pytest.mark.parametrize("name", BASES)
def test_base_that_cannot_be_used(tmp_path: Path, blocked: Path, name: str) -> None:
    content, message = BASES[name]
    path = tmp_path / "own.tsv"
    path.write_text(content)
    base = {"name": "own", "format": "table", "path": str(path)}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=base)
    assert message in refuse(["run", config], tmp_path, blocked)


def test_relation_that_the_base_lacks(tmp_path: Path, blocked: Path) -> None:
    path = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    base = {"name": "own", "format": "table", "path": str(path), "relations": ["may_prevent"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=base)
    said = refuse(["build", config], tmp_path, blocked)
    assert "may_prevent" in said
    assert "it has may_treat" in said


@pytest.mark.parametrize("place", ["a file", "/proc/none"])
@pytest.mark.parametrize("command", ["run", "publish"])
def test_root_that_cannot_be_written(tmp_path: Path, blocked: Path, place: str, command: str) -> None:
    root = tmp_path / place
    if place == "a file":
        root.write_text("mine")
    config = write_config(tmp_path / "c.toml", root, knowledge=STARTER)
    said = refuse([command, config], tmp_path, blocked)
    assert f"[storage] root {root} cannot be written" in said
    assert place != "a file" or root.read_text() == "mine"


@pytest.fixture
def small_disk(tmp_path: Path) -> Iterator[Path]:
    """A file system of 1 MiB; the test is skipped if it cannot be mounted."""
    folder = tmp_path / "disk"
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", "size=1m", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system, and not in every container")
    yield folder
    subprocess.run(["umount", str(folder)], check=True)


def test_a_disk_without_room(tmp_path: Path, small_disk: Path, blocked: Path) -> None:
    config = write_config(tmp_path / "c.toml", small_disk, knowledge=STARTER)
    said = refuse(["build", config], tmp_path, blocked)
    assert "the disk is full (1.0 MB free" in said
    assert "make room" in said


def test_a_disk_that_is_read_only(tmp_path: Path, small_disk: Path, blocked: Path) -> None:
    subprocess.run(["mount", "-o", "remount,ro", str(small_disk)], check=True)
    config = write_config(tmp_path / "c.toml", small_disk, knowledge=STARTER)
    assert "cannot be written (Read-only file system)" in refuse(["build", config], tmp_path, blocked)
    assert list(small_disk.iterdir()) == []


def test_scoring_without_an_evaluation_is_refused(tmp_path: Path, blocked: Path, model: Path) -> None:
    table = {"name": "m", "model": str(model)}
    config = write_config(tmp_path / "c.toml", tmp_path / "results", knowledge=STARTER, models=[table])
    message = refuse(["score", config, "--policy", "coin-flip"], tmp_path, blocked)
    assert "pretexeval evaluate" in message or "not complete" in message


def test_reviewing_a_missing_edition_is_refused(tmp_path: Path, blocked: Path) -> None:
    message = refuse(["review", "export", "no-such-edition", "--grader", "ann"], tmp_path, blocked)
    assert "no-such-edition" in message


def test_a_missing_sheet_is_refused(tmp_path: Path, blocked: Path) -> None:
    assert "none.csv" in refuse(["review", "import", "none.csv", "--grader", "ann"], tmp_path, blocked)


def test_measuring_the_gate_on_a_file_without_labels_is_refused(tmp_path: Path, blocked: Path) -> None:
    (tmp_path / "labelled.parquet").write_text("no Parquet")
    assert "labelled.parquet" in refuse(["gate", "labelled.parquet"], tmp_path, blocked)


def test_the_starter_base_in_the_shape_of_disek_reads_as_the_same(tmp_path: Path, blocked: Path) -> None:
    config = write_config(tmp_path / "c.toml", tmp_path / "results")
    answer(["export-disek", config, tmp_path / "disek.tsv"], tmp_path, blocked)
    table = {"name": "starter", "format": "disek", "path": str(tmp_path / "disek.tsv")}
    own = write_config(tmp_path / "own.toml", tmp_path / "results", knowledge=table)
    relations = ["affected_sites", "surgical_procedures", "symptoms", "therapeutic_drugs"]
    starter = {"name": "starter", "relations": relations}
    bundled = write_config(tmp_path / "bundled.toml", tmp_path / "results", knowledge=starter)
    one, two = (answer(["validate", path], tmp_path, blocked).out for path in (own, bundled))
    assert one == two
    assert "starter-seed1-" in one
