"""Hosts with a folder each share a bucket: one builds, two ask a shard each, one scores, one publishes."""

import json
import shutil
import subprocess
import sys
from collections import Counter
from pathlib import Path

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.config.tables import StorageConfig
from tasks.evaluation.evaluation import Evaluation
from tests.support.command import build_environment, read_bytes, run_command, write_config
from tests.support.endpoint import serve_endpoint
from tests.support.evaluations import ask_model, finish
from tests.support.fault_models import answer_by_checksum, list_different_tables
from tests.support.object_storage import KEYS, ObjectStorage
from tests.support.secret_search import find_in_files

pytestmark = pytest.mark.long

PREDICTIONS = "predictions/**/predictions/*.parquet"
RUN_SHARD = """
import json, sys
from flows.evaluate_model import evaluate_model
evaluate_model(**json.loads(sys.argv[1]))
"""


def test_hosts_share_editions_shards_and_results(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    """A worker that is killed is tested in tests/pretexeval/storage."""
    moto.set_environment(monkeypatch)
    environment, storage = prefect_server | moto.environment, {"shared": moto.make_address()}
    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "x", "base_url": endpoint.base_url, "workers": 2}

        def configure(host: str) -> Path:
            (tmp_path / host).mkdir()
            knowledge, root = {"relations": ["may_treat"]}, tmp_path / host / "data"
            file = tmp_path / host / "c.toml"
            return write_config(file, root, models=[model], storage=storage, knowledge=knowledge)

        def run(host: str, command: str) -> Path:
            """Run a subcommand of `pretexeval` on a host, and return its data folder."""
            config = configure(host)
            run_command(command, config, folder=config.parent, environment=environment).require()
            return config.parent / "data"

        builder = run("builder", "build")
        (edition_id,) = (path.name for path in builder.glob("editions/*"))
        workers = []
        for number in (1, 2):
            config = configure(f"worker-{number}")
            given = {"edition_id": edition_id, "model_name": "m", "config": str(config)}
            shard = json.dumps(given | {"shard": {"number": number, "of": 2}})
            command = [sys.executable, "-c", RUN_SHARD, shard]
            workers.append(subprocess.Popen(command, env=build_environment(environment), cwd=config.parent))
        assert [worker.wait(400) for worker in workers] == [0, 0]
        counts = Counter(str(body["prompt"]) for _, _, body in endpoint.requests)
        assert set(counts.values()) == {1}

        endpoint.requests.clear()
        scorer, publisher = run("scorer", "evaluate"), run("publisher", "publish")
        # Another host runs everything, finds everything complete, and has the same tables.
        newcomer = run("newcomer", "run")
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
