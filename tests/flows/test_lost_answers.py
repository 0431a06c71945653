"""Runs end as they ended, although answers of Prefect's server are lost and its client repeats requests."""

import json
import re
from collections import Counter
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import httpx
import pytest

from pretexeval.primitives.errors import InputError
from tests.support.command import make_rows, run_command, use_server, write_base, write_config
from tests.support.endpoint import Body, EndpointReply, build_error, serve_endpoint
from tests.support.fault_models import answer_by_checksum, count_requests

pytestmark = pytest.mark.long

FINAL = ("COMPLETED", "FAILED")


def reply(body: Body, number: int) -> EndpointReply:
    return build_error(401, "no key") if body["model"] == "bad" else answer_by_checksum(body, number)


@pytest.fixture
def n_lost(monkeypatch: pytest.MonkeyPatch) -> Counter[str]:
    """Lose answers to requests that end a run, and return how many, by the type of the state.

    The server handles the first request of every run, but the client gets no answer; the second one is
    refused with 503; all others pass.
    """
    seen, n_lost, send = Counter[str](), Counter[str](), httpx.Client.send

    def lose(client: httpx.Client, request: httpx.Request, **options: Any) -> httpx.Response:  # noqa: ANN401
        path = request.url.path
        state = json.loads(request.content)["state"]["type"] if path.endswith("/set_state") else None
        if state not in FINAL:
            return send(client, request, **options)
        seen[path] += 1
        if seen[path] == 2:
            return httpx.Response(503, headers={"Retry-After": "0.1"}, request=request)
        answer = send(client, request, **options)
        if seen[path] == 1:
            n_lost[state] += 1
            raise httpx.RemoteProtocolError("the connection was closed without an answer")
        return answer

    monkeypatch.setattr(httpx.Client, "send", lose)
    return n_lost


def test_lost_answers_change_no_outcome(
    tmp_path: Path, prefect_server: dict[str, str], n_lost: Counter[str]
) -> None:
    with serve_endpoint(reply) as endpoint:
        models = [
            {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url}
            | {"pairs_per_relation": 4}
            for name in ("bad", "far")
        ]
        knowledge = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=models)

        # One model fails and the other is evaluated.
        run = run_command("run", config, folder=tmp_path, environment=prefect_server).require(1)
        assert re.search(r"^pretexeval: bad: .*401.*no key", run.err, re.MULTILINE)
        assert len([line for line in run.err.splitlines() if line.startswith("pretexeval: ")]) == 1
        assert re.search(r"^1 +far +\d", run.out, re.MULTILINE)

        # A publication leaves a damaged file out, and says so.
        (predictions,) = tmp_path.glob("data/predictions/*/far-*/predictions/*.parquet")
        predictions.write_bytes(b"damaged")
        published = run_command("publish", config, folder=tmp_path, environment=prefect_server).require(1)
        holds, said, *_ = published.err.splitlines()[-3:]
        assert holds.startswith("The warehouse holds 1 edition and 0 evaluations")
        assert said == "pretexeval: everything else was published, but 1 part was left out:"
        assert published.out.splitlines()[0] == str(tmp_path / "data" / "warehouse.duckdb")

        # A run with all other flows as its subflows.
        with use_server(prefect_server, tmp_path):
            from flows.regenerate import regenerate

            with pytest.raises(InputError, match=r"^1 of 2 models failed on own-2026-W48-.*; bad: .*401"):
                regenerate(config, moment=datetime(2026, 11, 23, 3, tzinfo=UTC))
        assert max(count_requests(endpoint, "far").values()) == 1
    # Every run has lost the answer to its end: of a failed one and three others, and the same in regenerate.
    assert n_lost["FAILED"] >= 4
    assert n_lost["COMPLETED"] >= 5
