"""Runs end as they ended, although answers of Prefect's server are lost and its client repeats requests."""

import re
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from tests.support.command import make_rows, run_command, use_server, write_base, write_config
from tests.support.endpoint import Body, EndpointReply, build_error, serve_endpoint
from tests.support.fault_models import answer_by_checksum, count_requests
from tests.support.lossy_proxy import LossyProxy, lose_answers

pytestmark = pytest.mark.slow

# Prefect's client waits for 60 s.
TOO_LONG_S = 70


def reply(body: Body, number: int) -> EndpointReply:
    return build_error(401, "no key") if body["model"] == "bad" else answer_by_checksum(body, number)


@pytest.fixture(scope="session")
def started_proxy(prefect_server: dict[str, str]) -> Iterator[LossyProxy]:
    """One address until the process ends: some clients of Prefect keep the first one for all later tests."""
    with lose_answers(prefect_server) as started:
        yield started


@pytest.fixture
def proxy(started_proxy: LossyProxy) -> Iterator[LossyProxy]:
    """The proxy, which passes all requests on after the test."""
    started_proxy.n_lost.clear()
    started_proxy.is_lossy = True
    yield started_proxy
    started_proxy.is_lossy = False


@pytest.mark.parametrize(
    ("only_ends", "delay_s"),
    [
        pytest.param(True, 0, id="answers to the ends of runs are lost"),
        pytest.param(False, 0, id="answers to all requests are lost", marks=pytest.mark.long),
        pytest.param(True, TOO_LONG_S, id="answers come too late", marks=pytest.mark.long),
    ],
)
def test_lost_answers_change_no_outcome(
    tmp_path: Path, proxy: LossyProxy, only_ends: bool, delay_s: float
) -> None:
    proxy.only_ends, proxy.delay_s = only_ends, delay_s
    with serve_endpoint(reply) as endpoint:
        models = [
            {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url}
            | {"pairs_per_relation": 4}
            for name in ("bad", "far")
        ]
        base = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
        knowledge = {"name": "own", "format": "table", "path": str(base)}
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=models)

        # One model fails and the other is evaluated.
        run = run_command("run", config, folder=tmp_path, environment=proxy.environment).require(1)
        assert re.search(r"^pretexeval: bad: .*401.*no key", run.err, re.MULTILINE)
        assert len([line for line in run.err.splitlines() if line.startswith("pretexeval: ")]) == 1
        assert re.search(r"^1 +far +\d", run.out, re.MULTILINE)

        # A publication leaves a damaged file out, and says so.
        (predictions,) = tmp_path.glob("data/predictions/*/far-*/predictions/*.parquet")
        predictions.write_bytes(b"damaged")
        published = run_command("publish", config, folder=tmp_path, environment=proxy.environment).require(2)
        assert "everything else was published, but 1 part was left out" in published.err

        # A run with all other flows as its subflows.
        with use_server(proxy.environment, tmp_path):
            from flows.regenerate import regenerate

            with pytest.raises(InputError, match=r"^1 of 2 models failed on own-2026-W48-.*; bad: .*401"):
                regenerate(config, moment=datetime(2026, 11, 23, 3, tzinfo=UTC))
        assert max(count_requests(endpoint, "far").values()) == 1
    # Every run has lost the answer to its end: of a failed one and three others, and the same in regenerate.
    assert proxy.n_lost["FAILED"] >= 4
    assert proxy.n_lost["COMPLETED"] >= 5
