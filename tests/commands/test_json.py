"""The output for other programs: it has exactly the keys of docs/commands.md."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from commands.main import main
from tests.commands.configurations import FAR, write_configuration
from tests.support.command import REPOSITORY, make_rows

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


@pytest.mark.parametrize("command", ["validate", "plan", "doctor"])
def test_the_keys_are_those_of_the_page(
    tmp_path: Path, command: str, capsys: pytest.CaptureFixture[str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A row of the base is left out, the endpoint of a model is down, and another model is missing."""
    monkeypatch.delenv("PREFECT_API_URL", raising=False)
    models = [FAR, {"name": "lost", "model": str(tmp_path / "none")}]
    questions = {"settings": ["answer_only"]}
    rows = make_rows("therapeutic_drugs")
    config = write_configuration(tmp_path, [*rows, rows[0]], questions=questions, models=models)
    options = ["--format", "json", *(["--deep"] if command == "validate" else [])]
    assert main([command, str(config), *options]) == 1
    found = json.loads(capsys.readouterr().out)
    # No release, writer or budget is configured, and the pool is the bundled one.
    empty = ("doubtful_wordings", "writers", "warnings", "facts.n_by_release.<", "asked_pairs")
    documented = {key for key in read_documented(command) if not key.startswith(empty)}
    assert {key for key in list_keys(found) if not key.startswith(empty)} == documented
    if command == "validate":
        far, lost = found["models"]
        assert (far["model_id"][:4], far["problem"]) == ("far-", None)
        assert lost["model_id"] is None
        assert "there is no folder" in lost["problem"]
