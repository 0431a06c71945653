"""`pretexeval init`: what it writes is valid, commented, and runs at once."""

from pathlib import Path

import pytest

from cli.main import main
from cli.scaffold import build_files
from tests.support.command import run_command
from warehouse.query import run_query


@pytest.mark.parametrize("folder", [".", "new/mine"])
def test_the_files_are_written_and_valid(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str], folder: str
) -> None:
    monkeypatch.chdir(tmp_path)
    assert main(["init", *([] if folder == "." else [folder])]) == 0
    said = capsys.readouterr().out
    monkeypatch.chdir(tmp_path / folder)
    written = {path.relative_to(Path.cwd()).as_posix() for path in Path.cwd().rglob("*") if path.is_file()}
    assert written == set(build_files()) == {"config.toml", "prototypes.toml", "facts/facts.csv"}
    assert all((path if folder == "." else f"{folder}/{path}") in said for path in written)
    assert main(["validate", "config.toml"]) == 0
    found = capsys.readouterr()
    assert found.out.startswith("edition mine-seed1-")
    assert "has_antidote" in found.out
    assert "the gate would reject" not in found.out


def test_no_file_is_replaced(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    (tmp_path / "prototypes.toml").write_text("mine")
    assert main(["init", str(tmp_path)]) == 2
    assert "prototypes.toml exists already, and nothing was written" in capsys.readouterr().err
    assert [path.name for path in tmp_path.iterdir()] == ["prototypes.toml"]
    assert (tmp_path / "prototypes.toml").read_text() == "mine"


@pytest.mark.slow
def test_the_scaffold_runs_at_once(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    run_command("init", folder=tmp_path).require()
    run_command("run", "config.toml", folder=tmp_path, environment=prefect_server).require()
    assert run_query(tmp_path / "data", "select relation from accuracy_by_relation")[1] == [("has_antidote",)]
