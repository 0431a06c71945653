"""`pretexeval run` as a user runs it, with real vLLM and Prefect: once, and again."""

import hashlib
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands import in_process
from commands.selection import limit_pairs
from pretexeval.config.file import load_config
from pretexeval.storage.layout import diversity_file
from tests.support.command import block_packages, list_half_written, read_bytes, wait_for_servers_to_end
from tests.support.quickstart import CONFIG, N_PAIRS, Quickstart

pytestmark = pytest.mark.slow

NOT_NEEDED = ("vllm", "openai", "transformers", "great_expectations", "prefect")
MODELS = ("reference-large", "reference-small")


def test_records_list_every_file_with_its_checksum(quickstart: Quickstart) -> None:
    edition = quickstart.root / "editions" / quickstart.edition_id
    runs = [quickstart.root.glob(f"predictions/{edition.name}/{name}-*/run.json") for name in MODELS]
    for record in (edition / "manifest.json", *(next(found) for found in runs)):
        files = json.loads(record.read_text(encoding="utf-8"))["files"]
        assert sorted(files) == sorted(read_bytes(record.parent, "*/*.parquet"))
        for name, entry in files.items():
            content = (record.parent / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == entry["sha256"]
            assert pl.read_parquet(record.parent / name).height == entry["rows"]


def test_second_run_loads_neither_an_engine_nor_prefect_and_changes_no_file(
    quickstart: Quickstart, tmp_path: Path
) -> None:
    before = quickstart.read_stamps()
    second = quickstart.run_again(blocked=block_packages(tmp_path, *NOT_NEEDED)).require()
    assert second.out == quickstart.out
    assert "asking" not in second.err
    assert quickstart.read_stamps() == before
    assert list_half_written(quickstart.root) == []
    assert wait_for_servers_to_end(quickstart.root)


@pytest.mark.parametrize(
    ("lost", "tables", "is_evaluated", "is_published"),
    [
        pytest.param(None, {}, True, True, id="nothing"),
        pytest.param("report/*/index.html", {}, True, False, id="page"),
        pytest.param(diversity_file("*"), {}, True, False, id="measurement"),
        pytest.param("predictions/*/*/predictions/*.parquet", {}, False, False, id="damaged predictions"),
        pytest.param(None, {"scoring": {"policies": ("strict", "excluded")}}, False, True, id="policies"),
    ],
)
def test_run_has_nothing_to_do_only_if_nothing_has_changed(
    quickstart: Quickstart,
    tmp_path: Path,
    monkeypatch: pytest.MonkeyPatch,
    lost: str | None,
    tables: dict[str, dict[str, Any]],
    is_evaluated: bool,
    is_published: bool,
) -> None:
    monkeypatch.chdir(quickstart.copy(tmp_path))
    config = limit_pairs(load_config(Path(CONFIG)), N_PAIRS)
    for name, changes in tables.items():
        config = config.model_copy(update={name: getattr(config, name).model_copy(update=changes)})
    if lost is not None:
        path = next((tmp_path / "data").glob(lost))
        path.unlink()
        if not is_evaluated:
            path.write_bytes(b"damaged")
    assert in_process.is_evaluated_here(config, quickstart.edition_id) == is_evaluated
    assert in_process.is_published(config, quickstart.edition_id) == is_published
