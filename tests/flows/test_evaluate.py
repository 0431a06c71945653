"""`pretexeval evaluate` with real endpoints: failures, and which prompts are asked again."""

import os
import signal
import socket
import subprocess
import time
from collections.abc import Iterator
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from tasks.asking.model_session import TRIAL_CHUNK
from tests.support.command import (
    Outcome,
    build_command,
    build_environment,
    list_half_written,
    make_rows,
    read_bytes,
    read_record,
    read_stamps,
    run_command,
    wait_for_servers_to_end,
    write_base,
    write_config,
)
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint
from tests.support.fault_models import answer_by_checksum

pytestmark = pytest.mark.slow

RELATIONS = ("may_prevent", "may_treat", "occurs_after")
SAMPLES_OF_A_PAIR = 16


@dataclass
class Bench:
    """A folder with a knowledge base, an endpoint that answers, and one that sends HTML instead."""

    folder: Path
    server: dict[str, str]
    good: Endpoint
    garbage: Endpoint
    outcomes: list[Outcome] = field(default_factory=list)
    records: list[dict[str, Any]] = field(default_factory=list)

    @property
    def root(self) -> Path:
        return self.folder / "data"

    def evaluate(self, pairs: int, **others: str) -> Outcome:
        """Evaluate the other endpoints, given by name, and then the good one.

        Args:
            pairs: the number of pairs per relation.
        """
        addresses = others | {"good": self.good.base_url}
        models = [
            {
                "name": name,
                "engine": "openai",
                "model": "x",
                "base_url": url,
                "timeout_s": 5,
                "max_attempts": 2,
                "pairs_per_relation": pairs,
            }
            for name, url in addresses.items()
        ]
        knowledge = {"name": "own", "format": "table", "path": str(self.folder / "own.tsv")}
        config = write_config(self.folder / "c.toml", self.root, knowledge=knowledge, models=models)
        return run_command("evaluate", config, folder=self.folder, environment=self.server)

    def list_parts(self) -> list[Path]:
        return sorted(self.root.glob("responses/good-*/part-*.parquet"))

    def take_asked(self) -> list[str]:
        """Return the prompts that the good endpoint received since the last call."""
        asked = [str(body["prompt"]) for _, _, body in self.good.requests]
        self.good.requests.clear()
        return asked


def find_closed_port() -> str:
    with socket.socket() as listener:
        listener.bind(("127.0.0.1", 0))
        return f"http://127.0.0.1:{listener.getsockname()[1]}/v1"


@pytest.fixture(scope="module")
def bench(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Bench]:
    """Return a bench after an evaluation with two pairs of each relation and two failing endpoints."""
    folder = tmp_path_factory.mktemp("bench")
    write_base(folder / "own.tsv", make_rows(*RELATIONS))
    nonsense = EndpointReply(body="<html>welcome to nginx</html>", content_type="text/html")
    with serve_endpoint(answer_by_checksum) as good, serve_endpoint(lambda body, number: nonsense) as garbage:
        bench = Bench(folder, prefect_server, good, garbage)
        bench.outcomes.append(bench.evaluate(2, down=find_closed_port(), garbage=garbage.base_url))
        yield bench


@pytest.fixture(scope="module")
def two_parts(bench: Bench) -> Bench:
    """Return the bench after an evaluation with two further pairs of each relation."""
    bench.take_asked()
    bench.outcomes.append(bench.evaluate(4).require())
    bench.records.append(read_record(bench.root, "good"))
    return bench


def test_failing_endpoint_is_reported_and_stops_no_other(bench: Bench) -> None:
    first = bench.outcomes[0]
    assert first.status == 1
    assert "Traceback" not in first.err
    lines = {name: [s for s in first.err.splitlines() if f"'{name}'" in s] for name in ("down", "garbage")}
    for name, messages in lines.items():
        assert len(messages) == 1
        assert messages[0].startswith(f"pretexeval: {name}: ")
        assert "gives no answer" in messages[0]
        assert "check that it is up and that base_url" in messages[0]
        assert not list(bench.root.glob(f"responses/{name}-*/part-*"))
        # The requests were written before the model was asked; nothing else is there.
        (folder,) = bench.root.glob(f"predictions/*/{name}-*")
        assert [path.name for path in folder.iterdir()] == ["next"]
    assert bench.garbage.requests
    assert list_half_written(bench.root) == []


def test_good_endpoint_is_evaluated_despite_failures_of_others(two_parts: Bench) -> None:
    n_first = len(RELATIONS) * 2 * SAMPLES_OF_A_PAIR
    record = two_parts.records[0]
    assert record["n_errors"] == 0
    assert record["n_samples"] == 2 * n_first
    answers = [pl.read_parquet(path) for path in two_parts.list_parts()]
    n_rest = n_first - TRIAL_CHUNK
    assert sorted(frame.height for frame in answers) == sorted([TRIAL_CHUNK, n_rest] * 2)
    for frame in answers:
        for prompt, response in frame.select("prompt", "response").iter_rows():
            assert answer_by_checksum({"prompt": prompt}, 0) == build_reply(response)


def test_only_lost_responses_are_asked_again(two_parts: Bench) -> None:
    """A file of responses is truncated after the evaluation was complete."""
    *kept, cut = two_parts.list_parts()
    lost = pl.read_parquet(cut)
    (record,) = two_parts.root.glob("predictions/*/good-*/run.json")
    before, stamps = read_bytes(record.parent, "*/*"), read_stamps(cut.parent)
    cut.write_bytes(cut.read_bytes()[:-50])
    two_parts.take_asked()
    two_parts.evaluate(4).require()
    assert sorted(two_parts.take_asked()) == sorted(lost["prompt"])
    assert cut.with_suffix(".damaged").exists()
    now = read_stamps(cut.parent)
    assert [now[path.name] for path in kept] == [stamps[path.name] for path in kept]
    assert read_bytes(record.parent, "*/*") == before
    counts = read_record(two_parts.root, "good")
    assert (counts["n_asked"], counts["n_reused"]) == (lost.height, counts["n_samples"] - lost.height)


def test_lost_file_of_predictions_is_written_again_without_asking(two_parts: Bench) -> None:
    (record,) = two_parts.root.glob("predictions/*/good-*/run.json")
    before = read_bytes(record.parent, "*/*")
    lost = record.parent / "predictions" / "occurs_after.parquet"
    lost.write_bytes(lost.read_bytes()[:-50])
    two_parts.take_asked()
    two_parts.evaluate(4).require()
    assert two_parts.take_asked() == []
    assert read_bytes(record.parent, "*/*") == before
    assert read_record(two_parts.root, "good")["n_asked"] == 0


def test_ctrl_c_prints_one_message(tmp_path: Path) -> None:
    """A terminal sends Ctrl-C to every process of the group, including Prefect's server."""
    knowledge = {"name": "own", "format": "table", "path": str(tmp_path / "own.tsv")}
    write_base(tmp_path / "own.tsv", make_rows(*RELATIONS))

    def answer_slowly(body: Body, number: int) -> EndpointReply:
        time.sleep(0.3)
        return answer_by_checksum(body, number)

    with serve_endpoint(answer_slowly) as slow, (tmp_path / "log").open("w") as log:
        models = [{"name": "slow", "engine": "openai", "model": "x", "base_url": slow.base_url}]
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=models)
        process = subprocess.Popen(
            build_command("run", config),
            cwd=tmp_path,
            env=build_environment(),
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
        try:
            while not slow.requests:
                assert process.poll() is None, (tmp_path / "log").read_text()
                time.sleep(0.05)
            os.killpg(process.pid, signal.SIGINT)
            assert process.wait(60) == 130, (tmp_path / "log").read_text()
        finally:
            process.kill()
    log_text = (tmp_path / "log").read_text()
    assert log_text.splitlines()[-1] == "pretexeval: interrupted; run the same command again to continue"
    assert "Traceback" not in log_text
    assert wait_for_servers_to_end(tmp_path / "data")
