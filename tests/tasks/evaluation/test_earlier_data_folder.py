"""A data folder that an earlier version wrote: the same editions, and no prompt is asked again.

The archive holds a base, a weekly edition and anchors, both answered by a model behind an endpoint. It was
written by the code of commit e704481. If this test fails, the data folders of users are no longer found:
their editions get other names, or every prompt is asked and paid again.
"""

import tarfile
from datetime import UTC, datetime
from pathlib import Path

import pytest

from config.file import Config
from flows.support.periods import plan_period
from tasks.edition.anchors import plan_anchors
from tasks.edition.edition import Edition
from tasks.edition.planning import plan_edition
from tests.support.command import REPOSITORY
from tests.support.damaged_root import CountingEngine, evaluate
from tests.support.data_folder import query_rows
from warehouse.publishing import build_warehouse

ARCHIVE = REPOSITORY / "tests" / "support" / "earlier_data_folder.tar.xz"
WEEK, ANCHORS = "own-2026-W47-9b44350b", "own-anchors-f249e24c"
MOMENT = datetime(2026, 11, 16, 3, tzinfo=UTC)


@pytest.fixture
def config(tmp_path: Path) -> Config:
    """Unpack the archive, and return the configuration with which it was made."""
    with tarfile.open(ARCHIVE) as archive:
        archive.extractall(tmp_path, filter="data")
    model = {"name": "far", "engine": "openai", "model": "far", "base_url": "http://127.0.0.1:9/v1"}
    return Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": tmp_path / "own.tsv"},
            "models": [model],
            "anchors": {"n_pairs": 1},
            "storage": {"root": tmp_path / "data"},
        }
    )


def plan_both(config: Config) -> tuple[Edition, Edition]:
    anchors = plan_anchors(config)
    assert anchors is not None
    return plan_edition(plan_period(config, MOMENT)), plan_edition(anchors)


def read_files(root: Path) -> dict[Path, bytes]:
    folders = (root / "editions", root / "responses")
    return {path: path.read_bytes() for folder in folders for path in folder.rglob("*") if path.is_file()}


def test_editions_are_found_and_nothing_is_asked_again(config: Config) -> None:
    root, engine = config.storage.root, CountingEngine()
    before = read_files(root)
    week, anchors = plan_both(config)
    assert (week.edition_id, anchors.edition_id) == (WEEK, ANCHORS)
    assert week.is_whole()
    assert anchors.is_whole()
    assert evaluate(week, "far", None, engine) is None
    assert evaluate(anchors, "far", None, engine, "2026-W47") is None
    assert engine.n_asked == 0
    assert read_files(root) == before
    build_warehouse(root)
    assert query_rows(root, "select edition_id, model, n_pairs, n_errors from leaderboard") == [
        {"edition_id": WEEK, "model": "far", "n_pairs": 3, "n_errors": 0}
    ]
    assert query_rows(root, "select edition_id, period, n_samples from anchor_runs") == [
        {"edition_id": ANCHORS, "period": "2026-W47", "n_samples": 16}
    ]
