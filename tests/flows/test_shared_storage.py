"""Hosts with a folder each share a bucket: one builds, two ask a shard each, one scores, one publishes."""

import json
import shutil
import subprocess
import sys
import threading
from collections import Counter
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from pretexeval.storage.bucket import Bucket
from pretexeval.storage.layout import lease_object
from tasks.asking.model_session import TRIAL_CHUNK
from tasks.evaluation.evaluation import Evaluation
from tests.support.command import (
    Environment,
    Table,
    build_environment,
    read_bytes,
    run_command,
    write_config,
)
from tests.support.endpoint import Body, EndpointReply, serve_endpoint
from tests.support.evaluations import ask_model, finish
from tests.support.fault_models import answer_by_checksum, list_different_tables, wait_until
from tests.support.object_storage import KEYS, ObjectStorage
from tests.support.secret_search import find_in_files

pytestmark = pytest.mark.long

PREDICTIONS = "predictions/**/predictions/*.parquet"
RUN_SHARD = """
import json, sys
from flows.evaluate_model import evaluate_model
evaluate_model(**json.loads(sys.argv[1]))
"""


@dataclass
class Hosts:
    """Hosts of one model, by their names."""

    folder: Path
    address: str
    models: list[Table]
    environment: Environment

    def configure(self, host: str) -> Path:
        """Write a configuration with the shared storage into the folder of a host."""
        folder = self.folder / host
        folder.mkdir(exist_ok=True)
        return write_config(
            folder / "config.toml",
            folder / "data",
            models=self.models,
            storage={"shared": self.address},
            knowledge={"relations": ["may_treat"]},
        )

    def run(self, host: str, command: str) -> Path:
        """Run a subcommand of `pretexeval` on a host, and return its data folder."""
        config = self.configure(host)
        run_command(command, config, folder=config.parent, environment=self.environment).require()
        return config.parent / "data"

    def start_shard(self, host: str, edition_id: str, number: int) -> subprocess.Popen[bytes]:
        """Start `evaluate-model` for one of two shards in a new process, as a worker does."""
        config = self.configure(host)
        given = {"edition_id": edition_id, "model_name": "m", "config_file": str(config)}
        return subprocess.Popen(
            [sys.executable, "-c", RUN_SHARD, json.dumps(given | {"shard": {"number": number, "of": 2}})],
            env=build_environment(self.environment),
            cwd=config.parent,
        )

    def read_shared_prompts(self) -> set[str]:
        """Return the prompts whose answers are in the bucket."""
        bucket, fetched = Bucket(self.address), self.folder / "fetched.parquet"
        prompts: set[str] = set()
        for path in bucket.list_objects("responses"):
            if path.endswith(".parquet") and bucket.fetch(path, fetched):
                prompts |= set(pl.read_parquet(fetched)["prompt"])
        return prompts


def test_hosts_share_editions_shards_and_results(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    moto.set_environment(monkeypatch)
    is_killed = threading.Event()

    def answer(body: Body, number: int) -> EndpointReply:
        # The worker that is killed has one chunk in the bucket, and another in flight.
        if number >= TRIAL_CHUNK:
            is_killed.wait(240)
        return answer_by_checksum(body, number)

    with serve_endpoint(answer) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "x", "base_url": endpoint.base_url, "workers": 2}
        hosts = Hosts(tmp_path, moto.make_address(), [model], prefect_server | moto.environment)
        builder = hosts.run("builder", "build")
        (edition_id,) = (path.name for path in builder.glob("editions/*"))

        worker = hosts.start_shard("killed", edition_id, 2)
        wait_until(lambda: len(endpoint.requests) > TRIAL_CHUNK, "a second chunk is asked", 240)
        kept = hosts.read_shared_prompts()
        worker.kill()
        worker.wait()
        # A lost lease is free after a minute; test_lease.py tests this with a shorter one.
        (responses,) = (tmp_path / "killed/data/responses").iterdir()
        Bucket(hosts.address).remove(lease_object(f"{responses.name}.shard-2-of-2"))
        in_flight = {str(body["prompt"]) for _, _, body in endpoint.requests} - kept
        is_killed.set()
        assert len(kept) == TRIAL_CHUNK
        workers = [hosts.start_shard(f"worker-{n}", edition_id, n) for n in (1, 2)]
        assert [worker.wait(400) for worker in workers] == [0, 0]
        counts = Counter(str(body["prompt"]) for _, _, body in endpoint.requests)
        assert {prompt for prompt, n in counts.items() if n > 1} <= in_flight
        assert max(counts.values()) <= 2

        endpoint.requests.clear()
        scorer = hosts.run("scorer", "evaluate")
        publisher = hosts.run("publisher", "publish")
        # Another host runs everything, finds everything complete, and has the same tables.
        newcomer = hosts.run("newcomer", "run")
        assert endpoint.requests == []
        # One worker with a folder alone asks the same prompts, and its predictions are the same.
        alone = tmp_path / "alone"
        shutil.copytree(builder / "editions", alone / "editions")
        evaluation = Evaluation(StorageConfig(root=alone), edition_id, ModelConfig.model_validate(model))
        finish(evaluation, ask_model(evaluation))
        assert {str(body["prompt"]) for _, _, body in endpoint.requests} == set(counts)
    assert read_bytes(scorer, PREDICTIONS) == read_bytes(alone, PREDICTIONS) != {}
    assert read_bytes(builder, "editions/**/*.*") == read_bytes(publisher, "editions/**/*.*")
    for host in (publisher, newcomer):
        assert read_bytes(scorer, "responses/**/*.parquet") == read_bytes(host, "responses/**/*.parquet")
    assert list_different_tables(newcomer, publisher) == []
    assert find_in_files(tmp_path, [KEYS["AWS_SECRET_ACCESS_KEY"]]) == []
