"""`pretexeval run` as a user runs it, with real vLLM and Prefect: once, and again."""

import hashlib
import json
import os
import shutil
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands import in_process
from pretexeval.config.file import load_config
from pretexeval.storage.layout import diversity_file
from tests.support.command import (
    Outcome,
    block_packages,
    list_half_written,
    read_bytes,
    read_record,
    read_stamps,
    run_process_command,
    wait_for_servers_to_end,
    write_config,
)
from tests.support.tiny_llama import build_tiny_llama

pytestmark = pytest.mark.slow

# Enough for five demonstrations in tokens of a tiny vocabulary.
N_POSITIONS = 2048
NOT_NEEDED = ("vllm", "openai", "transformers", "great_expectations", "prefect")


@dataclass(frozen=True)
class Run:
    """A finished run, with the time stamps of its files."""

    config: Path
    outcome: Outcome
    stamps: dict[str, tuple[int, int]]
    record: dict[str, Any]

    @property
    def root(self) -> Path:
        return self.config.parent / "data"


def run(config: Path, blocked: Path | None = None) -> Run:
    root = config.parent / "data"
    outcome = run_process_command("run", config, folder=config.parent, blocked=blocked).require()
    stamps = {
        f"{folder}/{name}": stamp
        for folder in ("editions", "responses", "predictions")
        for name, stamp in read_stamps(root / folder).items()
    }
    return Run(config, outcome, stamps, read_record(root, "tiny"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory) -> Run:
    folder = tmp_path_factory.mktemp("first")
    model = build_tiny_llama(folder / "tiny", 1, N_POSITIONS)
    tiny = {"name": "tiny", "model": str(model), "dtype": "bfloat16", "logprobs": True}
    models = [tiny | {"pairs_per_relation": 2}]
    knowledge = {"relations": ["affected_sites", "symptoms", "therapeutic_drugs"]}
    return run(write_config(folder / "c.toml", folder / "data", knowledge=knowledge, models=models))


def test_records_list_every_file_with_its_checksum(first: Run) -> None:
    edition = first.root / "editions" / first.record["edition_id"]
    run_folder = first.root / "predictions" / edition.name / first.record["model_id"]
    for record in (edition / "manifest.json", run_folder / "run.json"):
        files = json.loads(record.read_text(encoding="utf-8"))["files"]
        assert sorted(files) == sorted(read_bytes(record.parent, "*/*.parquet"))
        for name, entry in files.items():
            content = (record.parent / name).read_bytes()
            assert hashlib.sha256(content).hexdigest() == entry["sha256"]
            assert pl.read_parquet(record.parent / name).height == entry["rows"]


def test_second_run_loads_neither_an_engine_nor_prefect_and_changes_no_file(
    first: Run, tmp_path: Path
) -> None:
    second = run(first.config, block_packages(tmp_path, *NOT_NEEDED))
    assert second.outcome.out == first.outcome.out
    assert "asking" not in second.outcome.err
    assert second.stamps == first.stamps
    assert second.record == first.record
    assert list_half_written(second.root) == []
    assert wait_for_servers_to_end(second.root)


@pytest.mark.parametrize(
    ("lost", "tables", "is_evaluated", "is_published"),
    [
        pytest.param(None, {}, True, True, id="nothing"),
        pytest.param("report/*/index.html", {}, True, False, id="page"),
        pytest.param(diversity_file("*"), {}, True, False, id="measurement"),
        pytest.param("predictions/*/*/predictions/*.parquet", {}, False, False, id="damaged predictions"),
        pytest.param(None, {"report": {"min_new_texts": 0.5}}, True, False, id="configuration of the page"),
        pytest.param(None, {"scoring": {"policies": ("strict", "excluded")}}, False, True, id="policies"),
    ],
)
def test_run_has_nothing_to_do_only_if_nothing_has_changed(
    first: Run,
    tmp_path: Path,
    lost: str | None,
    tables: dict[str, dict[str, Any]],
    is_evaluated: bool,
    is_published: bool,
) -> None:
    # Hard links, because a page counts as current only with the very file of the warehouse it was made from.
    shutil.copytree(first.root, tmp_path / "data", copy_function=os.link)
    config = load_config(first.config)
    for name, changes in {"storage": {"root": tmp_path / "data"}, **tables}.items():
        config = config.model_copy(update={name: getattr(config, name).model_copy(update=changes)})
    if lost is not None:
        path = next((tmp_path / "data").glob(lost))
        path.unlink()
        if not is_evaluated:
            path.write_bytes(b"damaged")
    edition_id = first.record["edition_id"]
    assert in_process.is_evaluated_here(config, edition_id) == is_evaluated
    assert in_process.is_published(config, edition_id) == is_published
