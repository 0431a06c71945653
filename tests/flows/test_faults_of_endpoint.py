"""The endpoint of a model, vLLM's own server, is stopped during an evaluation and started again."""

import contextlib
import os
import re
import signal
import subprocess
import time
from contextlib import ExitStack
from dataclasses import dataclass
from pathlib import Path

import pytest

from tests.support.command import (
    REPOSITORY,
    build_command,
    build_environment,
    read_bytes,
    read_record,
    run_command,
    write_config,
)
from tests.support.fault_models import KNOWLEDGE, list_different_tables, wait_until
from tests.support.processes import find_free_port
from tests.support.vllm_server import VllmServer, start_vllm_server

pytestmark = pytest.mark.long

MODEL = REPOSITORY / "models" / "reference-small"
CONCURRENCY = 8


@dataclass(frozen=True)
class Outage:
    """A run whose endpoint was unavailable for a while, and an undisturbed run."""

    root: Path
    calm: Path
    kept: dict[str, str]
    """The files of answers when the endpoint was stopped."""
    status: int
    log: str
    gone_s: float
    n_answered: int
    """Requests that the endpoint answered during the run, from its log."""


def stop(server: VllmServer) -> None:
    """Stop the server as containers are stopped: terminate it, and kill it after 10 s."""
    server.process.terminate()
    with contextlib.suppress(subprocess.TimeoutExpired):
        server.process.wait(10)
    with contextlib.suppress(ProcessLookupError):
        os.killpg(server.process.pid, signal.SIGKILL)
    server.process.wait(10)


@pytest.fixture(scope="module")
def outage(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Outage:
    folder = tmp_path_factory.mktemp("outage")
    port, log = find_free_port(), folder / "vllm.log"
    # The answer is one token; what the model would write next takes most of the time.
    model = {
        "name": "small",
        "engine": "openai",
        "model": "tiny",
        "concurrency": CONCURRENCY,
        "max_tokens": 1,
        "pairs_per_relation": 45,
    }
    models = [model | {"base_url": f"http://127.0.0.1:{port}/v1"}]
    configs = [
        write_config(folder / f"{name}.toml", folder / name, knowledge=KNOWLEDGE, models=models)
        for name in ("disturbed", "calm")
    ]
    root, calm = folder / "disturbed", folder / "calm"
    with ExitStack() as stack:
        errors = stack.enter_context((folder / "errors").open("wb"))
        with start_vllm_server(MODEL, log, port=port, dtype="float32") as server:
            server.wait()
            command, environment = build_command("run", configs[0]), build_environment(prefect_server)
            process = subprocess.Popen(command, cwd=folder, env=environment, stderr=errors)
            stack.callback(process.kill)
            wait_until(lambda: read_bytes(root, "responses/*/part-*.parquet"), "first answers")
            # The second chunk is being asked now.
            time.sleep(1)
            kept = read_bytes(root, "responses/*/part-*.parquet")
            gone = time.monotonic()
            stop(server)
        server = stack.enter_context(start_vllm_server(MODEL, log, port=port, dtype="float32"))
        server.wait()
        gone_s = time.monotonic() - gone
        status = process.wait(200)
        n_answered = len(re.findall(r"POST /v1/completions HTTP/1.1. 200", log.read_text()))
        run_command("run", configs[1], folder=folder, environment=prefect_server).require()
    return Outage(root, calm, kept, status, (folder / "errors").read_text(), gone_s, n_answered)


def test_evaluation_waits_for_the_endpoint_and_continues(outage: Outage) -> None:
    assert outage.status == 0, outage.log
    assert outage.gone_s > 20
    assert re.search(r"waiting up to 600 s for http://127.0.0.1:\d+/v1", outage.log)


def test_no_answer_is_lost_or_asked_again(outage: Outage) -> None:
    assert outage.kept.items() <= read_bytes(outage.root, "responses/*/part-*.parquet").items()
    record = read_record(outage.root, "small")
    assert record["n_asked"] == record["n_samples"]
    assert record["n_errors"] == record["n_open"] == 0
    # The endpoint drops requests when it stops, and may log them as answered. The engine sends one probe.
    assert record["n_samples"] < outage.n_answered <= record["n_samples"] + CONCURRENCY + 1


def test_tables_equal_those_of_an_undisturbed_run(outage: Outage) -> None:
    assert list_different_tables(outage.root, outage.calm) == []
