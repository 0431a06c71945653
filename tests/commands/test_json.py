"""The output for other programs: it has exactly the keys of docs/commands.md."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.main import main
from tests.support.command import REPOSITORY, make_rows, write_base, write_config

PAGE = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
# Keys whose parts are names from the configuration, and values that a run may lack.
NAMED = {"n_samples": "method", "n_questions": "type", "risks": "relation"}
RANGES = ("duration_s", "cost")


def read_documented(command: str) -> set[str]:
    """Return the keys that the page lists for a command."""
    section = PAGE.partition(f"\n### {command}\n")[2].partition("\n### ")[0]
    cells = (line.split(" | ")[0] for line in section.splitlines() if line.startswith("| `"))
    return {key for cell in cells for key in re.findall(r"`([^`]+)`", cell)}


def list_keys(value: Any, place: str = "") -> Iterator[str]:  # noqa: ANN401
    """Yield the keys of a JSON value as the page writes them."""
    if isinstance(value, list):
        for part in value:
            yield from list_keys(part, f"{place}[]")
    elif isinstance(value, dict) and place.rpartition(".")[2] not in RANGES:
        for key, part in value.items():
            name = f"<{NAMED[place]}>" if place in NAMED else key
            yield from list_keys(part, f"{place}.{name}" if place else name)
    else:
        yield place


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A base of which a row is left out; a model whose endpoint is down, and one that is missing."""
    rows = make_rows("therapeutic_drugs")
    base = write_base(tmp_path / "own.tsv", [*rows, rows[0]])
    (tmp_path / "answers.parquet").write_bytes(b"")
    far = {"engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    return write_config(
        tmp_path / "c.toml",
        tmp_path / "data",
        knowledge={"name": "own", "format": "table", "path": str(base)},
        questions={"settings": ["answer_only"]},
        models=[{"name": "far"} | far, {"name": "lost", "model": str(tmp_path / "none")}],
    )


@pytest.mark.parametrize("command", ["validate", "plan", "doctor"])
def test_the_keys_are_those_of_the_page(
    config: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    main([command, str(config), "--format", "json", *(["--deep"] if command == "validate" else [])])
    found = json.loads(capsys.readouterr().out)
    # No release, writer or budget is configured, and the pool is the bundled one.
    empty = ("doubtful_wordings", "writers", "warnings", "facts.n_by_release.<", "asked_pairs")
    documented = {key for key in read_documented(command) if not key.startswith(empty)}
    assert {key for key in list_keys(found) if not key.startswith(empty)} == documented


def test_a_model_that_cannot_be_used_has_a_problem_and_no_id(
    config: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    assert main(["validate", str(config), "--format", "json"]) == 1
    far, lost = json.loads(capsys.readouterr().out)["models"]
    assert far["model_id"].startswith("far-")
    assert far["problem"] is None
    assert lost["model_id"] is None
    assert "there is no folder" in lost["problem"]
