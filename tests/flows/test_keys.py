"""Keys of endpoints that echo them: keys come from the environment or a Secret block, and appear nowhere."""

import hashlib
import json
import subprocess
import sys
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path

import polars as pl
import pytest

from pretexeval.storage.bucket import Bucket
from tests.support.command import (
    build_environment,
    make_rows,
    read_bytes,
    run_process_command,
    write_base,
    write_config,
)
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint
from tests.support.object_storage import KEYS, ObjectStorage
from tests.support.secret_search import find_in_files, read_records

pytestmark = pytest.mark.long

KEY = "sk-far-7c1e9a40b2d85f36"
# A truncated text may contain a part of the key.
PARTS = [KEY[:14], KEY[-12:]]
SAVE_BLOCKS = """
import json, sys
from prefect.blocks.system import Secret
for name, value in json.load(sys.stdin).items():
    Secret(value=value).save(name.lower().replace("_", "-"), overwrite=True)
"""
PARAMETERS = """
import sys
from flows.evaluate_model import evaluate_model
config = {"models": [{"name": "a", "model": "m", "api_key": sys.stdin.read()}]}
evaluate_model(config, "e", "a")
"""
# All log messages, headers of answers among them, go to the console, and those of this project and of Prefect
# to the server too. Messages of httpx must not go there: Prefect sends its log messages with httpx, so that
# each would cause the next one, and a process can wait for the end of this forever when it exits.
LOUD = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_LOGGING_ROOT_LEVEL": "DEBUG"}


@contextmanager
def serve_echoes() -> Iterator[Endpoint]:
    """Serve an endpoint that requires the key and echoes it in headers, answers and refusals."""
    endpoints: list[Endpoint] = []
    echo = f"application/json; key={KEY}"

    def answer(body: Body, number: int) -> EndpointReply:
        if endpoints[0].requests[number][1] != f"Bearer {KEY}":
            return EndpointReply(401, {"error": {"message": "no key"}})
        if body["model"] == "refused":
            return EndpointReply(403, {"error": {"message": f"{KEY} may not use it"}}, echo)
        kind = hashlib.sha256(str(body["prompt"]).encode()).digest()[0] % 4
        if kind == 0:
            return EndpointReply(422, {"error": {"message": f"not with {KEY}, '{KEY}'"}}, echo)
        text = [f" True {KEY}", " True", " False"][kind - 1]
        return EndpointReply(body=build_reply(text).body, content_type=echo)

    with serve_endpoint(answer) as endpoint:
        endpoints.append(endpoint)
        yield endpoint


def save_blocks(keys: Mapping[str, str], server: dict[str, str]) -> None:
    """Save each key as a Secret block of the server."""
    command = [sys.executable, "-c", SAVE_BLOCKS]
    subprocess.run(command, input=json.dumps(keys), text=True, check=True, env=build_environment(server))


def test_a_key_is_sent_and_left_nowhere(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    """One key is in the environment, one in a block, and a model has none."""
    save_blocks({"BLOCK_KEY": KEY}, prefect_server)
    knowledge = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    variables = {"far": "FAR_KEY", "refused": "FAR_KEY", "blocked": "BLOCK_KEY", "lost": "LOST_KEY"}
    with serve_echoes() as endpoint:
        table = {
            "engine": "openai",
            "base_url": endpoint.base_url,
            "max_attempts": 1,
            "pairs_per_relation": 2,
        }
        models = [
            table | {"name": name, "model": name, "api_key_env": key} for name, key in variables.items()
        ]
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=models)
        environment = prefect_server | LOUD | {"FAR_KEY": KEY}
        outcome = run_process_command("run", config, folder=tmp_path, environment=environment).require(1)
    assert {key for _, key, _ in endpoint.requests} == {f"Bearer {KEY}"}
    assert {body["model"] for *_, body in endpoint.requests} == {"far", "refused", "blocked"}
    # The echoes are hidden.
    for name in ("far", "blocked"):
        answers = pl.read_parquet(list(tmp_path.glob(f"data/responses/{name}-*/*.parquet")))
        assert " True ***" in answers["response"].to_list()
        assert any("not with ***, '***'" in error for error in answers["error"].drop_nulls())
    assert "*** may not use it" in outcome.err
    # The header that echoes the key was logged.
    assert "b'application/json; key=***'" in outcome.err

    assert {".parquet", ".duckdb", ".json", ".html"} <= {path.suffix for path in tmp_path.rglob("*")}
    home = Path(prefect_server["PREFECT_HOME"])
    assert (home / "prefect.db").exists()
    assert {folder: find_in_files(folder, PARTS) for folder in (tmp_path, home)} == {tmp_path: [], home: []}
    records = read_records(prefect_server["PREFECT_API_URL"])
    texts = records | {"out": outcome.out, "err": outcome.err}
    assert [name for name, text in texts.items() if any(part in text for part in PARTS)] == []
    for name in ("flow_runs", "task_runs", "logs", "artifacts", "events"):
        assert len(records[name]) > 100, f"the server has no {name}"
    for name in ("FAR_KEY", "evaluate-model", "evaluate-far"):
        assert name in records["flow_runs"] + records["logs"]


def test_invalid_parameters_are_logged_without_the_key(prefect_server: dict[str, str]) -> None:
    key = "7c1e9a40b2d85f367c1e9a40"
    environment = build_environment(prefect_server | LOUD)
    command = [sys.executable, "-c", PARAMETERS]
    done = subprocess.run(command, input=key, text=True, capture_output=True, check=False, env=environment)
    assert done.returncode == 1
    assert "Parameter validation failed for flow 'evaluate-model'" in done.stderr
    assert "config.models.0.api_key: Extra inputs" in done.stderr
    assert key[-12:] not in done.stdout + done.stderr


def test_keys_of_secret_blocks_open_the_storage_and_are_left_nowhere(
    moto: ObjectStorage, tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    save_blocks(KEYS, prefect_server)
    environment = prefect_server | {k: v for k, v in moto.environment.items() if k not in KEYS}
    root, storage = tmp_path / "data", {"shared": "s3://bucket/blocks"}
    config = write_config(tmp_path / "c.toml", root, storage=storage, knowledge={"relations": ["may_treat"]})
    outcome = run_process_command("build", config, folder=tmp_path, environment=environment | LOUD).require()
    secrets = [KEYS["AWS_SECRET_ACCESS_KEY"]]
    (manifest,) = read_bytes(root, "editions/*/manifest.json")
    with pytest.MonkeyPatch.context() as patch:
        moto.set_environment(patch)
        assert Bucket("s3://bucket/blocks").read(manifest) == (root / manifest).read_bytes()
    assert find_in_files(tmp_path, secrets) == []
    texts = read_records(prefect_server["PREFECT_API_URL"]) | {"out": outcome.out, "err": outcome.err}
    assert [name for name, text in texts.items() if any(secret in text for secret in secrets)] == []
