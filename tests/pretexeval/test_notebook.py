"""The example notebook runs on a small published root: as a script, and cell by cell."""

import os
import subprocess
import sys
from collections.abc import Mapping
from pathlib import Path
from typing import Any

import pytest

from tests.pretexeval.test_reading import EDITION, fill
from tests.support.command import REPOSITORY, build_environment
from warehouse.query import run_query

NOTEBOOK = REPOSITORY / "examples" / "notebook.py"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return fill(tmp_path_factory.mktemp("notebook") / "data", "erratic", "always_true")


@pytest.fixture(scope="module")
def defined(root: Path) -> Mapping[str, Any]:
    """The names that the cells define."""
    with pytest.MonkeyPatch.context() as patch:
        patch.setenv("PRETEXEVAL_ROOT", str(root))
        from examples.notebook import app

        _, definitions = app.run()
    return definitions


def test_the_script_prints_its_answers(root: Path) -> None:
    done = subprocess.run(
        [sys.executable, str(NOTEBOOK)],
        env=build_environment({"PRETEXEVAL_ROOT": str(root)}) | {"HOME": os.environ.get("HOME", "/")},
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    for title in ("Which model masters", "Where does Erratic fail?", "Which facts does Erratic miss"):
        assert title in done.stdout


def test_its_tables_agree_with_the_views(root: Path, defined: Mapping[str, Any]) -> None:
    assert defined["chosen"].value == EDITION
    models = run_query(root, "select model, mastery from leaderboard where scoring_policy = 'strict'")[1]
    assert dict(defined["leaderboard"].select("model", "mastery").iter_rows()) == dict(models)
    missed = run_query(
        root,
        "select head from pair_details "
        "where not is_mastered and model = 'Erratic' and scoring_policy = 'strict'",
    )
    # The notebook lists the facts whose true triplet was misjudged.
    heads = set(defined["missed"]["head"])
    assert heads
    assert heads <= {head for (head,) in missed[1]}


def test_its_charts_are_valid(defined: Mapping[str, Any]) -> None:
    for name in ("leaderboard_chart", "transformation_chart"):
        assert defined[name].to_dict()["datasets"]


def test_marimo_finds_no_problem() -> None:
    done = subprocess.run(
        [sys.executable, "-m", "marimo", "check", "--strict", str(NOTEBOOK)],
        capture_output=True,
        text=True,
        check=False,
    )
    assert done.returncode == 0, done.stdout + done.stderr
