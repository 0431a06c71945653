"""Answers that are stored once are never asked for again, and their files stay as they are.

`stored_answers` holds what a model behind an endpoint answered to 16 prompts. If this test fails, a change of
the prompts or of their keys lets every user pay for all answers again.
"""

import shutil
from pathlib import Path

from pretexeval.config.file import Config
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tests.support.command import REPOSITORY, read_bytes
from tests.support.data_folder import query_rows
from tests.support.evaluations import CountingEngine, evaluate
from tests.support.small_bases import write_files
from warehouse.publishing import build_warehouse

STORED = REPOSITORY / "tests" / "support" / "stored_answers"


def test_no_stored_prompt_is_asked_again_and_files_of_answers_stay(tmp_path: Path) -> None:
    root, engine = tmp_path / "data", CountingEngine()
    shutil.copytree(STORED / "responses", root / "responses")
    model = {"name": "far", "engine": "openai", "model": "far", "base_url": "http://127.0.0.1:9/v1"}
    config = Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": STORED / "own.tsv"},
            "edition": {"pool": str(STORED / "pool.toml")},
            "models": [model | {"pairs_per_relation": 1}],
            "storage": {"root": root},
        }
    )
    edition = plan_edition(config)
    complete_edition(edition, list(write_files(edition).values()), [])
    assert evaluate(edition.config, edition.edition_id, "far", load=lambda _: engine) is None
    assert engine.n_asked == 0
    assert read_bytes(root / "responses") == read_bytes(STORED / "responses")
    build_warehouse(root)
    assert query_rows(root, "select model, n_pairs, n_errors from leaderboard") == [
        {"model": "far", "n_pairs": 1, "n_errors": 0}
    ]
