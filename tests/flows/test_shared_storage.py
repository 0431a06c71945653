"""Three hosts with a folder each share a bucket: one builds, one evaluates, one publishes."""

import json
import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path

import duckdb
import pytest

from storage.bucket import Bucket
from tests.support.command import Table, build_environment, read_bytes, run_command, write_config
from tests.support.endpoint import build_reply, serve_endpoint
from tests.support.fault_models import answer_by_checksum
from tests.support.object_storage import KEYS, ObjectStorage
from tests.support.secret_search import find_in_files, read_records

pytestmark = pytest.mark.slow

SECRETS = [KEYS["AWS_SECRET_ACCESS_KEY"]]
SAVE_BLOCKS = """
import json, sys
from prefect.blocks.system import Secret
for name, value in json.load(sys.stdin).items():
    Secret(value=value).save(name.lower().replace("_", "-"), overwrite=True)
"""
TABLES = ("editions", "triplets", "samples", "models", "responses", "predictions", "runs")


def read_warehouse(path: Path) -> dict[str, list[tuple[object, ...]]]:
    with duckdb.connect(str(path), read_only=True) as connection:
        return {name: connection.execute(f"from {name} order by all").fetchall() for name in TABLES}


def test_hosts_share_editions_answers_and_results(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    environment = prefect_server | moto.environment

    with serve_endpoint(answer_by_checksum) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "x", "base_url": endpoint.base_url}

        def call(host: str, command: str) -> Path:
            config = configure(tmp_path / host, "s3://bucket/team", [model])
            run_command(command, config, folder=tmp_path / host, environment=environment).require()
            return tmp_path / host / "data"

        builder = call("builder", "build")
        evaluator = call("evaluator", "evaluate")
        endpoint.requests.clear()
        publisher = call("publisher", "publish")
        assert read_bytes(builder, "editions/**/*.*") == read_bytes(publisher, "editions/**/*.*")
        assert read_bytes(evaluator, "responses/**/*.parquet") == read_bytes(
            publisher, "responses/**/*.parquet"
        )
        # A fourth host runs everything, finds everything complete, and has the same tables.
        newcomer = call("newcomer", "run")
        assert endpoint.requests == []
    assert read_warehouse(newcomer / "warehouse.duckdb") == read_warehouse(publisher / "warehouse.duckdb")
    assert read_bytes(newcomer, "responses/**/*.parquet") == read_bytes(evaluator, "responses/**/*.parquet")
    assert find_in_files(tmp_path, SECRETS) == []


def save_keys_in_blocks(moto: ObjectStorage, prefect_server: dict[str, str]) -> dict[str, str]:
    """Save the keys as Secret blocks; return an environment that names both servers and holds no key."""
    save = [sys.executable, "-c", SAVE_BLOCKS]
    subprocess.run(save, input=json.dumps(KEYS), text=True, check=True, env=build_environment(prefect_server))
    return prefect_server | {k: v for k, v in moto.environment.items() if k not in KEYS}


def configure(folder: Path, address: str, models: Sequence[Table] = ()) -> Path:
    """Write a configuration with that shared storage."""
    folder.mkdir(exist_ok=True)
    return write_config(
        folder / "config.toml",
        folder / "data",
        models=models,
        storage={"shared": address},
        knowledge={"relations": ["may_treat"]},
    )


def test_keys_of_secret_blocks_open_the_storage_and_are_left_nowhere(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    environment = save_keys_in_blocks(moto, prefect_server)
    config = configure(tmp_path, "s3://bucket/blocks")
    loud = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_LOGGING_ROOT_LEVEL": "DEBUG"}
    outcome = run_command("build", config, folder=tmp_path, environment=environment | loud).require()
    (manifest,) = read_bytes(tmp_path / "data", "editions/*/manifest.json")
    with pytest.MonkeyPatch.context() as patch:
        moto.set_environment(patch)
        assert Bucket("s3://bucket/blocks").read(manifest) == (tmp_path / "data" / manifest).read_bytes()
    assert find_in_files(tmp_path, SECRETS) == []
    texts = read_records(prefect_server["PREFECT_API_URL"]) | {"out": outcome.out, "err": outcome.err}
    assert [name for name, text in texts.items() if any(secret in text for secret in SECRETS)] == []


def test_plan_opens_the_storage_with_keys_of_secret_blocks(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    without_keys, address = save_keys_in_blocks(moto, prefect_server), moto.make_address()
    with_keys = prefect_server | moto.environment
    for command, host, environment in (("build", "builder", with_keys), ("plan", "newcomer", without_keys)):
        config = configure(tmp_path / host, address)
        outcome = run_command(command, config, folder=tmp_path, environment=environment).require()
    assert "complete: nothing to build" in outcome.out
    assert read_bytes(tmp_path / "builder", "data/editions/**/*.*") == read_bytes(
        tmp_path / "newcomer", "data/editions/**/*.*"
    )
    assert find_in_files(tmp_path, SECRETS) == []


def test_doctor_opens_the_storage_with_keys_of_secret_blocks(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    environment, address = save_keys_in_blocks(moto, prefect_server), moto.make_address()
    outcome = run_command(
        "doctor", configure(tmp_path, address), folder=tmp_path, environment=environment
    ).require()
    lines = [" ".join(line.split()) for line in outcome.out.splitlines()]
    assert f"ok shared storage {address}: readable, writable, keeps conditional writes" in lines
    assert "ok key AWS_ACCESS_KEY_ID in the Prefect Secret block 'aws-access-key-id'" in lines
    assert not any(secret in outcome.out + outcome.err for secret in SECRETS)
    assert not (tmp_path / "data").exists()


def test_score_opens_the_storage_with_keys_of_secret_blocks_and_measures_samples(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    without_keys, address = save_keys_in_blocks(moto, prefect_server), moto.make_address()
    with serve_endpoint(lambda body, number: build_reply(" True")) as endpoint:
        model: Table = {
            "name": "m",
            "engine": "openai",
            "model": "x",
            "base_url": endpoint.base_url,
            "pairs_per_relation": 2,
        }
        evaluator, newcomer = (configure(tmp_path / host, address, [model]) for host in ("one", "other"))
        with_keys = prefect_server | moto.environment
        run_command("evaluate", evaluator, folder=tmp_path, environment=with_keys).require()
        endpoint.requests.clear()
        done = run_command(
            "score", newcomer, "--policy", "coin-flip", folder=tmp_path, environment=without_keys
        ).require()
        assert endpoint.requests == []
    assert "coin-flip" in done.out
    with duckdb.connect(str(tmp_path / "other/data/warehouse.duckdb"), read_only=True) as connection:
        counted = "select (select count(*) from sample_diversity), (select count(*) from samples)"
        n_measured, n_samples = connection.execute(counted).fetchall()[0]
    assert 0 < n_measured <= n_samples
    assert find_in_files(tmp_path, SECRETS) == []
