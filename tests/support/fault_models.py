"""What the fault tests share: a model with predictable answers, and the tables that have to be equal."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.support.command import REPOSITORY, Table
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply
from warehouse.query import run_query

# 141 heads, 2,256 samples.
KNOWLEDGE = {"relations": ["affected_sites", "symptoms"]}
TABLES = ("editions", "triplets", "samples", "models", "responses", "answers", "runs")
# A busy machine may need ten times as long as an idle one, so this limit only ends a test that hangs.
WAIT_S = 1200.0
# Columns that differ between runs: times, and how many prompts this run had to ask.
NOT_COMPARED = {
    "editions": "exclude (withdrawn_at)",
    "runs": "exclude (n_asked, n_reused, finished_at, duration_s)",
}


def answer_by_checksum(body: Body, _: int) -> EndpointReply:
    """Answer True or False by the checksum of the prompt: deterministic, and independent of the facts."""
    digest = hashlib.sha256(body["prompt"].encode()).digest()
    return build_reply(" True" if digest[0] % 2 else " False")


def answer_slowly(body: Body, number: int) -> EndpointReply:
    """Answer by checksum after 0.1 s: at 8 requests at a time, 2,256 samples take half a minute."""
    time.sleep(0.1)
    return answer_by_checksum(body, number)


def build_model_table(name: str, endpoint: Endpoint, **settings: object) -> Table:
    """Return the table [[models]] of a model behind the endpoint."""
    table = {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url}
    # In the pool whose workers the tests end.
    return table | {"pool": "gpu", "timeout_s": 120, "concurrency": 8} | settings


def build_reference_table(name: str, **settings: object) -> Table:
    """Return the table [[models]] of a reference model, which answers the same in every batch.

    In bfloat16 a near-tie may change, and what it writes after its answer depends on the batch of the prompt.
    """
    path = str(REPOSITORY / "models" / f"reference-{name}")
    return {"name": name, "model": path, "dtype": "float32", "max_tokens": 1, **settings}


def count_requests(endpoint: Endpoint, name: str) -> Counter[str]:
    """Return prompt -> how many requests for it the model of that name got."""
    return Counter(str(body["prompt"]) for _, _, body in list(endpoint.requests) if body["model"] == name)


def read_tables(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Return the sorted rows of every table that must be equal to that of an undisturbed run."""
    sql = "select * {} from {} order by all"
    return {name: run_query(root, sql.format(NOT_COMPARED.get(name, ""), name))[1] for name in TABLES}


def list_different_tables(one: Path, other: Path) -> list[str]:
    """Return the names of the tables that are empty or differ between both roots."""
    first, second = read_tables(one), read_tables(other)
    return [name for name in TABLES if first[name] != second[name] or not first[name]]


def wait_until(condition: Callable[[], object], what: str, timeout_s: float = WAIT_S) -> float:
    """Wait for the condition, and return the seconds that it took."""
    began = time.monotonic()
    while not condition():
        assert time.monotonic() < began + timeout_s, f"{what}: not within {timeout_s:g} s"
        time.sleep(0.5)
    return time.monotonic() - began
