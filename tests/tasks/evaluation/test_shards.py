"""Two worker processes ask one model: real processes, a real endpoint that takes a fixed time per request."""

import json
import subprocess
import sys
import threading
import time
from collections import Counter
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from pathlib import Path

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.config.engines import EngineConfig, ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.engines.base import Engine
from pretexeval.primitives.hashing import hash_text
from schemas.stages import PREDICTIONS
from tasks.edition.manifest import complete_edition
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import Shard
from tests.support.command import build_environment
from tests.support.endpoint import Body, Endpoint, EndpointReply, serve_endpoint
from tests.support.evaluations import ask_model, finish
from tests.support.fault_models import answer_by_checksum
from tests.support.small_bases import make_base, make_edition, make_facts, write_files

BOTH = (Shard(number=1, of=2), Shard(number=2, of=2))
REQUEST_S = 0.1
CONCURRENCY = 2


def test_each_key_belongs_to_one_shard_and_shards_are_even() -> None:
    keys = [hash_text(str(n), digits=32) for n in range(3000)]
    for of in (2, 3, 7):
        counts = Counter(
            tuple(n for n in range(1, of + 1) if Shard(number=n, of=of).contains(key)) for key in keys
        )
        assert sorted(counts) == [(n,) for n in range(1, of + 1)]
        assert max(counts.values()) < 1.2 * len(keys) / of


def test_a_shard_that_does_not_exist_is_refused() -> None:
    with pytest.raises(ValidationError, match="there is no shard 3 of 2"):
        Shard(number=3, of=2)


@dataclass
class Workers:
    """The worker processes of one data folder, and when the endpoint got their requests."""

    evaluation: Evaluation
    endpoint: Endpoint
    times: list[float] = field(default_factory=list)

    def start(self, shard: Shard) -> subprocess.Popen[bytes]:
        file = self.evaluation.root / f"{shard.name}.json"
        given = {
            "storage": self.evaluation.storage.model_dump(mode="json"),
            "edition_id": self.evaluation.edition_id,
            "model": self.evaluation.model.model_dump(mode="json"),
            "shard": shard.model_dump(),
        }
        file.write_text(json.dumps(given))
        command = [sys.executable, "-m", "tests.tasks.evaluation.shard_worker", str(file)]
        return subprocess.Popen(command, env=build_environment())

    def measure(self) -> float:
        """Return the seconds from the first to the last request."""
        return max(self.times) - min(self.times)

    def score(self) -> pl.DataFrame:
        """Return the predictions; a prompt that is left would load an engine, which is forbidden."""
        finish(self.evaluation, ask_model(self.evaluation, forbid))
        folder = self.evaluation.root / self.evaluation.folder / PREDICTIONS.name
        return pl.concat(pl.read_parquet(path) for path in sorted(folder.glob("*.parquet")))

    def count_requests(self) -> Counter[str]:
        return Counter(str(body["prompt"]) for _, _, body in list(self.endpoint.requests))


def forbid(_: EngineConfig) -> Engine:
    raise AssertionError("a prompt was not asked by any shard")


@contextmanager
def open_workers(folder: Path, n_together: int) -> Iterator[Workers]:
    """Open a data folder with an edition, and an endpoint.

    Args:
        n_together: how many workers ask together. The first request of each waits for those of the others,
            because processes do not start in the same moment.
    """
    storage = StorageConfig(root=folder)
    edition = make_edition(folder, make_base(r=make_facts(12, 4), s=make_facts(9, 3)))
    edition_id = complete_edition(edition, list(write_files(edition).values()), [])
    times: list[float] = []
    barrier = threading.Barrier(n_together)

    def answer(body: Body, number: int) -> EndpointReply:
        # The first request of a worker is sent alone.
        if number < n_together:
            barrier.wait(60)
        times.append(time.monotonic())
        time.sleep(REQUEST_S)
        return answer_by_checksum(body, number)

    with serve_endpoint(answer) as endpoint:
        model = ModelConfig.model_validate(
            {
                "name": "m",
                "engine": "openai",
                "model": "m",
                "base_url": endpoint.base_url,
                "concurrency": CONCURRENCY,
                "timeout_s": 90,
                "pairs_per_relation": 4,
            }
        )
        yield Workers(Evaluation(storage, edition_id, model), endpoint, times)


def test_two_workers_take_half_the_time_of_one(tmp_path: Path) -> None:
    with open_workers(tmp_path / "one", 1) as alone:
        ask_model(alone.evaluation)
        predictions, one_s = alone.score(), alone.measure()
    # Other load on the machine can only add time.
    for attempt in range(3):
        with open_workers(tmp_path / str(attempt), 2) as both:
            processes = list(map(both.start, BOTH))
            assert [process.wait(120) for process in processes] == [0, 0]
            assert set(both.count_requests().values()) == {1}
            two_s = both.measure()
            assert both.score().equals(predictions)
        print(f"{len(both.times)} prompts: {one_s:.2f} s alone, {two_s:.2f} s by two, {two_s / one_s:.2f}")
        if two_s <= 0.65 * one_s:
            return
    raise AssertionError(f"two workers need {two_s:.2f} s, and one needs {one_s:.2f} s")
