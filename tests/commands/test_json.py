"""The output for other programs: it has exactly the keys of docs/commands.md, and says what the text says."""

import argparse
import json
import re
from collections.abc import Iterator
from dataclasses import fields
from pathlib import Path
from typing import Any

import pytest

from commands.main import build_parser, main
from commands.preflight.counted_prompts import AskedPairs
from tests.support.command import REPOSITORY, make_rows, run_command, write_base, write_config

PAGE = (REPOSITORY / "docs" / "commands.md").read_text(encoding="utf-8")
# Keys whose parts are names from the configuration, and values that a run may lack.
NAMED = ("n_samples", "n_questions")
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
            name = f"<{'method' if place == 'n_samples' else 'type'}>" if place in NAMED else key
            yield from list_keys(part, f"{place}.{name}" if place else name)
    else:
        yield place


def test_the_page_lists_the_subcommands_of_the_command() -> None:
    parser = build_parser()
    (action,) = (each for each in parser._actions if isinstance(each, argparse._SubParsersAction))
    listed = re.findall(r"^\| `([a-z-]+)` \| ", PAGE.partition("\n## ")[0], re.MULTILINE)
    assert sorted(listed) == sorted(action.choices)


@pytest.fixture
def config(tmp_path: Path) -> Path:
    """A base with a row that is left out, and a pool of its own with a doubtful wording; two models."""
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


def print_json(capsys: pytest.CaptureFixture[str], *arguments: str | Path) -> Any:  # noqa: ANN401
    main([*map(str, arguments), "--format", "json"])
    return json.loads(capsys.readouterr().out)


def test_validate(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = print_json(capsys, "validate", config)
    documented = read_documented("validate")
    # This pool is the bundled one, and neither a writer nor a release is configured.
    empty = {key for key in documented if key.startswith(("doubtful_wordings", "writers", "warnings"))}
    assert set(list_keys(found)) == documented - empty - {"facts.n_by_release.<release>"}
    assert found["doubtful_wordings"] == found["writers"] == []
    far, lost = found["models"]
    assert far["model_id"].startswith("far-")
    assert far["problem"] is None
    assert lost["model_id"] is None
    assert "there is no folder" in lost["problem"]
    main(["validate", str(config)])
    text = capsys.readouterr().out
    assert text.startswith(f"edition {found['edition_id']}\n")
    (relation,) = found["relations"]
    numbers = list(relation.values())[1:]
    assert f"\n{relation['relation']} " in text
    (line,) = (line for line in text.splitlines() if line.startswith("therapeutic_drugs "))
    assert line.split()[1:] == list(map(str, numbers))
    assert f"left out of the knowledge base: {found['n_left_out']}\n" in text


def test_doubtful_wordings_of_validate(capsys: pytest.CaptureFixture[str], tmp_path: Path) -> None:
    pool = tmp_path / "prototypes.toml"
    text = (REPOSITORY / "examples/own_base/prototypes.toml").read_text(encoding="utf-8")
    pool.write_text(text)
    table = {"name": "antidotes", "format": "table", "path": str(REPOSITORY / "examples/own_base/facts.csv")}
    config = write_config(tmp_path / "c.toml", tmp_path / "d", knowledge=table, edition={"pool": str(pool)})
    found = print_json(capsys, "validate", config)["doubtful_wordings"]
    documented = {key for key in read_documented("validate") if key.startswith("doubtful_wordings")}
    assert {f"doubtful_wordings{key}" for key in list_keys(found)} <= documented | {"doubtful_wordings"}


def test_plan(config: Path, capsys: pytest.CaptureFixture[str]) -> None:
    found = print_json(capsys, "plan", config)
    # A model with a budget may not be asked questions.
    asked = {f"asked_pairs[].{field.name}" for field in fields(AskedPairs)}
    documented = read_documented("plan") - {"facts.n_by_release.<release>"}
    assert set(list_keys(found)) | asked == documented
    main(["plan", str(config)])
    text = capsys.readouterr().out
    assert text.startswith(f"edition {found['edition_id']}: not built yet")
    (line,) = (line for line in text.splitlines() if line.startswith("far ") and " evaluation " in line)
    (estimate,) = (each for each in found["estimates"] if each["part"] == "evaluation")
    assert line.split()[2] == str(int(estimate["n_prompts"]["low"]))
    assert f"pretexeval {found['n_samples']['pretexeval']}" in " ".join(text.split())


def test_doctor(config: Path, tmp_path: Path) -> None:
    said = run_command("doctor", config, "--format", "json", folder=tmp_path).require(1)
    found = json.loads(said.out)
    assert set(list_keys(found)) == read_documented("doctor")
    assert {finding["name"]: finding["state"] for finding in found}["model far"] == "failing"
