"""`pretexeval run` as a user runs it, with real vLLM and Prefect: once, again, and killed."""

import hashlib
import json
import os
import shutil
import signal
import subprocess
import time
from collections.abc import Callable
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from commands.in_process import find_published, is_evaluated_here
from pretexeval.config.file import Config, load_config
from pretexeval.storage.layout import diversity_file
from tests.support.command import (
    Outcome,
    block_packages,
    build_command,
    build_environment,
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

RELATIONS = ("affected_sites", "symptoms", "therapeutic_drugs")
N_PAIRS = 30
# More than the first chunk of 1,024, so that a run can be killed between two chunks.
N_SAMPLES = len(RELATIONS) * N_PAIRS * 16
# Enough for five demonstrations in tokens of a tiny vocabulary.
N_POSITIONS = 2048
# Rounding in bf16 depends on the batch: if two log-probabilities are closer, the other word may win. Logits
# between 16 and 32 are rounded to multiples of 0.125.
NEAR_TIE = 0.3
NOT_NEEDED = ("vllm", "openai", "transformers", "great_expectations", "prefect")
READ = ["item_id", "answer", "prompt_key"]


@dataclass(frozen=True)
class Run:
    """A finished run, with the time stamps of its files."""

    root: Path
    config: Path
    outcome: Outcome
    stamps: dict[str, tuple[int, int]]
    record: dict[str, Any]


@dataclass(frozen=True)
class Killed:
    """The files that a killed run left, and the same command run again."""

    parts: dict[str, str]
    n_rows: int
    left: list[str]
    servers_ended: bool
    again: Run


@pytest.fixture(scope="module")
def model(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_llama(tmp_path_factory.mktemp("models") / "tiny", 1, N_POSITIONS)


def configure(folder: Path, model: Path) -> Path:
    tiny = {
        "name": "tiny",
        "model": str(model),
        "dtype": "bfloat16",
        "pairs_per_relation": N_PAIRS,
        "logprobs": True,
    }
    return write_config(
        folder / "c.toml", folder / "data", knowledge={"relations": list(RELATIONS)}, models=[tiny]
    )


def run(config: Path, blocked: Path | None = None) -> Run:
    root = config.parent / "data"
    outcome = run_process_command("run", config, folder=config.parent, blocked=blocked).require()
    stamps = {
        f"{folder}/{name}": stamp
        for folder in ("editions", "responses", "predictions")
        for name, stamp in read_stamps(root / folder).items()
    }
    return Run(root, config, outcome, stamps, read_record(root, "tiny"))


@pytest.fixture(scope="module")
def first(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Run:
    return run(configure(tmp_path_factory.mktemp("first"), model))


@pytest.fixture(scope="module")
def second(first: Run, tmp_path_factory: pytest.TempPathFactory) -> Run:
    """Run the same command again while neither an engine nor Prefect can be loaded."""
    return run(first.config, block_packages(tmp_path_factory.mktemp("blocked"), *NOT_NEEDED))


@pytest.fixture(scope="module")
def killed(tmp_path_factory: pytest.TempPathFactory, model: Path) -> Killed:
    """Kill a run in another folder after its first answers were stored, and run it again."""
    folder = tmp_path_factory.mktemp("killed")
    config, root = configure(folder, model), folder / "data"
    with (folder / "log").open("wb") as log:
        process = subprocess.Popen(
            build_command("run", config), cwd=folder, env=build_environment(), stdout=log, stderr=log
        )
    while not list(root.glob("responses/*/part-*.parquet")):
        assert process.poll() is None, (folder / "log").read_text()
        time.sleep(0.05)
    process.send_signal(signal.SIGKILL)
    process.wait(20)
    parts = read_bytes(root, "responses/*/part-*.parquet")
    left = [path.name for path in root.rglob("*.duckdb")] + [p.name for p in root.rglob("run.json")]
    n_rows = sum(pl.read_parquet(root / name).height for name in parts)
    servers_ended = wait_for_servers_to_end(root)
    return Killed(parts, n_rows, left, servers_ended, run(config))


def read_answers(root: Path) -> pl.DataFrame:
    """Return one row per sample, with the log-probabilities of its answer."""
    files = root.glob("predictions/*/*/readings/*.parquet")
    read = pl.concat(pl.read_parquet(path, columns=READ) for path in files)
    responses = pl.concat(pl.read_parquet(path) for path in root.glob("responses/*/part-*.parquet"))
    answers = responses.select("prompt_key", "response", "logprob_true", "logprob_false")
    return read.join(answers, on="prompt_key").sort("item_id")


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


def test_second_run_loads_no_engine_and_changes_no_file(first: Run, second: Run) -> None:
    assert second.outcome.out == first.outcome.out
    assert "asking" not in second.outcome.err
    assert second.stamps == first.stamps
    assert second.record == first.record
    assert list_half_written(second.root) == []
    assert wait_for_servers_to_end(second.root)


def change_nothing(_: Run, config: Config) -> Config:
    return config


def remove_page(run: Run, config: Config) -> Config:
    next((run.root / "report").glob("*/index.html")).unlink()
    return config


def remove_measurement(run: Run, config: Config) -> Config:
    (run.root / diversity_file(run.record["edition_id"])).unlink()
    return config


def damage_prediction(run: Run, config: Config) -> Config:
    path = next(run.root.glob("predictions/*/*/predictions/*.parquet"))
    # The file is also that of the other runs of this module.
    path.unlink()
    path.write_bytes(b"damaged")
    return config


def require_new_texts(_: Run, config: Config) -> Config:
    return config.model_copy(update={"report": config.report.model_copy(update={"min_new_texts": 0.5})})


def score_otherwise(_: Run, config: Config) -> Config:
    scoring = config.scoring.model_copy(update={"policies": ("strict", "excluded")})
    return config.model_copy(update={"scoring": scoring})


@pytest.mark.parametrize(
    ("change", "is_evaluated", "is_published"),
    [
        (change_nothing, True, True),
        (remove_page, True, False),
        (remove_measurement, True, False),
        (require_new_texts, True, False),
        (damage_prediction, False, False),
        (score_otherwise, False, True),
    ],
)
def test_run_has_nothing_to_do_only_if_nothing_has_changed(
    first: Run,
    tmp_path: Path,
    change: Callable[[Run, Config], Config],
    is_evaluated: bool,
    is_published: bool,
) -> None:
    copy = replace(first, root=tmp_path / "data")
    # Hard links, because a page counts as current only with the very file of the warehouse it was made from.
    shutil.copytree(first.root, copy.root, copy_function=os.link)
    config = load_config(first.config)
    config = config.model_copy(update={"storage": config.storage.model_copy(update={"root": copy.root})})
    edition_id = first.record["edition_id"]
    changed = change(copy, config)
    assert is_evaluated_here(changed, edition_id) == is_evaluated
    assert (find_published(changed, edition_id) is not None) == is_published


@pytest.mark.long
def test_killed_run_leaves_stored_answers_and_neither_a_complete_evaluation_nor_a_server(
    killed: Killed,
) -> None:
    assert 0 < killed.n_rows < N_SAMPLES
    assert killed.left == []
    assert killed.servers_ended


@pytest.mark.long
def test_run_after_a_kill_asks_no_stored_prompt_again(killed: Killed) -> None:
    again = killed.again
    now = read_bytes(again.root, "responses/*/part-*.parquet")
    assert killed.parts.items() < now.items()
    assert again.record["n_asked"] == N_SAMPLES - killed.n_rows
    assert again.record["n_reused"] == killed.n_rows
    keys = pl.concat(pl.read_parquet(again.root / name, columns=["prompt_key"]) for name in now)
    assert keys["prompt_key"].is_unique().all()
    assert list_half_written(again.root) == []


@pytest.mark.long
def test_run_after_a_kill_gives_the_predictions_of_an_undisturbed_run(first: Run, killed: Killed) -> None:
    assert killed.again.record["model_id"] == first.record["model_id"]
    assert read_bytes(killed.again.root / "editions") == read_bytes(first.root / "editions")
    one, two = read_answers(first.root), read_answers(killed.again.root)
    assert one["item_id"].equals(two["item_id"])
    assert one["prompt_key"].equals(two["prompt_key"])
    differs = one["answer"].ne_missing(two["answer"])
    for answers in (one.filter(differs), two.filter(differs)):
        margin = (answers["logprob_true"] - answers["logprob_false"]).abs()
        assert (margin < NEAR_TIE).all(), answers
    assert differs.sum() < N_SAMPLES / 100
