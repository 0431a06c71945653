"""Keys of endpoints that echo them: keys come from the environment or a Secret block, and appear nowhere."""

import hashlib
import subprocess
import sys
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import polars as pl
import pytest

from tests.support.command import (
    Outcome,
    Table,
    build_environment,
    make_rows,
    run_process_command,
    write_base,
    write_config,
)
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint
from tests.support.secret_search import find_in_files, read_records

pytestmark = pytest.mark.long

KEY = "sk-far-7c1e9a40b2d85f36"
# A truncated text may contain a part of the key.
PARTS = [KEY[:14], KEY[-12:]]
SAVE_BLOCK = """
import sys
from prefect.blocks.system import Secret
Secret(value=sys.stdin.read()).save("far-key", overwrite=True)
"""
# All log messages, headers of answers among them, go to the console, and those of this project and of Prefect
# to the server too. Messages of httpx must not go there: Prefect sends its log messages with httpx, so that
# each would cause the next one, and a process can wait for the end of this forever when it exits.
LOUD = {"PREFECT_LOGGING_LEVEL": "DEBUG", "PREFECT_LOGGING_ROOT_LEVEL": "DEBUG"}


@dataclass(frozen=True)
class Run:
    """The output of a run, its folder, and its endpoint with the requests."""

    outcome: Outcome
    folder: Path
    endpoint: Endpoint
    server: dict[str, str]


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
        return EndpointReply(
            body=build_reply([f" True {KEY}", " True", " False"][kind - 1]).body, content_type=echo
        )

    with serve_endpoint(answer) as endpoint:
        endpoints.append(endpoint)
        yield endpoint


def configure(name: str, endpoint: Endpoint, variable: str) -> Table:
    address = {"base_url": endpoint.base_url, "max_attempts": 1, "pairs_per_relation": 2}
    return {"name": name, "engine": "openai", "model": name, "api_key_env": variable} | address


def write_run(folder: Path, models: Sequence[Table]) -> Path:
    write_base(folder / "own.tsv", make_rows("may_treat"))
    knowledge = {"name": "own", "format": "table", "path": str(folder / "own.tsv")}
    return write_config(folder / "c.toml", folder / "data", knowledge=knowledge, models=models)


@pytest.fixture(scope="module")
def from_environment(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> Iterator[Run]:
    folder = tmp_path_factory.mktemp("environment")
    with serve_echoes() as endpoint:
        models = [configure(name, endpoint, "FAR_KEY") for name in ("far", "refused")]
        environment = prefect_server | LOUD | {"FAR_KEY": KEY}
        outcome = run_process_command(
            "run", write_run(folder, models), folder=folder, environment=environment
        )
        yield Run(outcome.require(1), folder, endpoint, prefect_server)


@pytest.fixture(scope="module")
def from_block(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Run]:
    """Run with a key that only a block contains, and with a model whose key does not exist."""
    folder = tmp_path_factory.mktemp("block")
    save = [sys.executable, "-c", SAVE_BLOCK]
    subprocess.run(save, input=KEY, text=True, check=True, env=build_environment(prefect_server))
    with serve_echoes() as endpoint:
        models = [configure("far", endpoint, "FAR_KEY"), configure("lost", endpoint, "LOST_KEY")]
        config = write_run(folder, models)
        outcome = run_process_command("evaluate", config, folder=folder, environment=prefect_server | LOUD)
        yield Run(outcome.require(1), folder, endpoint, prefect_server)


def read_answers(run: Run) -> pl.DataFrame:
    return pl.concat([pl.read_parquet(path) for path in run.folder.glob("data/responses/far-*/*.parquet")])


def test_key_was_sent_and_its_echo_is_hidden(from_environment: Run) -> None:
    run = from_environment
    assert {key for _, key, _ in run.endpoint.requests} == {f"Bearer {KEY}"}
    answers = read_answers(run)
    assert " True ***" in answers["response"].to_list()
    assert any("not with ***, '***'" in error for error in answers["error"].drop_nulls())
    assert "*** may not use it" in run.outcome.err
    records = read_records(run.server["PREFECT_API_URL"])
    # The header that echoes the key was logged.
    assert "b'application/json; key=***'" in run.outcome.err
    for name in ("evaluate-model", "evaluate-far"):
        assert name in "".join(records.values())


def test_key_is_in_no_file(from_environment: Run) -> None:
    run = from_environment
    files = [path.suffix for path in run.folder.rglob("*")]
    assert {".parquet", ".duckdb", ".json", ".html"} <= set(files)
    assert find_in_files(run.folder, PARTS) == []
    assert (Path(run.server["PREFECT_HOME"]) / "prefect.db").exists()
    assert find_in_files(Path(run.server["PREFECT_HOME"]), PARTS) == []


def test_key_is_neither_on_the_console_nor_in_the_server(from_environment: Run) -> None:
    run = from_environment
    records = read_records(run.server["PREFECT_API_URL"])
    texts = records | {"out": run.outcome.out, "err": run.outcome.err}
    assert [name for name, text in texts.items() if any(part in text for part in PARTS)] == []
    for name in ("flow_runs", "task_runs", "logs", "artifacts", "events"):
        assert len(records[name]) > 100, f"the server has no {name}"
    assert "FAR_KEY" in records["flow_runs"]


def test_key_of_a_block_is_sent_and_left_nowhere(from_block: Run) -> None:
    run = from_block
    assert {key for _, key, _ in run.endpoint.requests} == {f"Bearer {KEY}"}
    assert " True ***" in read_answers(run)["response"].to_list()
    assert find_in_files(run.folder, PARTS) == []
    assert find_in_files(Path(run.server["PREFECT_HOME"]), PARTS) == []
    texts = read_records(run.server["PREFECT_API_URL"]) | {"out": run.outcome.out, "err": run.outcome.err}
    assert [name for name, text in texts.items() if any(part in text for part in PARTS)] == []


PARAMETERS = """
import sys
from flows.evaluate_model import evaluate_model
config = {"models": [{"name": "a", "model": "m", "api_key": sys.stdin.read()}]}
evaluate_model("e", "a", config=config)
"""


def test_invalid_parameters_are_logged_without_the_key(prefect_server: dict[str, str]) -> None:
    key = "7c1e9a40b2d85f367c1e9a40"
    environment = build_environment(prefect_server | LOUD)
    done = subprocess.run(
        [sys.executable, "-c", PARAMETERS],
        input=key,
        text=True,
        capture_output=True,
        check=False,
        env=environment,
    )
    assert done.returncode == 1
    assert "Parameter validation failed for flow 'evaluate-model'" in done.stderr
    assert "config.models.0.api_key: Extra inputs" in done.stderr
    assert key[-12:] not in done.stdout + done.stderr
