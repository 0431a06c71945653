"""What the tests of faults share: a model that anybody can check, and the tables that have to be equal."""

import hashlib
import time
from collections import Counter
from collections.abc import Callable
from pathlib import Path

from tests.support.command import Table
from tests.support.endpoint import Body, Endpoint, Reply, say
from warehouse.query import run_query

# 141 heads, 2,256 samples: three chunks of answers.
KNOWLEDGE = {"relations": ["affected_sites", "symptoms"]}
TABLES = ("editions", "triplets", "samples", "models", "responses", "predictions", "runs")
# When it was, and how much of it this very run had to ask.
NOT_COMPARED = {"runs": "exclude (n_asked, n_reused, finished_at, duration_s)"}


def say_by_checksum(body: Body, _: int) -> Reply:
    """True or False, as the checksum of the prompt falls: always the same, and known to nobody."""
    digest = hashlib.sha256(body["prompt"].encode()).digest()
    return say(" True" if digest[0] % 2 else " False")


def say_slowly(body: Body, number: int) -> Reply:
    """The same, so that 2,256 samples take half a minute at 8 at a time."""
    time.sleep(0.1)
    return say_by_checksum(body, number)


def name_model(name: str, endpoint: Endpoint, **settings: object) -> Table:
    """A model behind that address."""
    table = {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url}
    return table | {"timeout_s": 20, "concurrency": 8} | settings


def count_asked(endpoint: Endpoint, name: str) -> Counter[str]:
    """Prompt -> how often the model of that name was asked it."""
    return Counter(str(body["prompt"]) for _, _, body in list(endpoint.requests) if body["model"] == name)


def read_tables(root: Path) -> dict[str, list[tuple[object, ...]]]:
    """Every table of the warehouse that an undisturbed run has to give as well, rows in order."""
    sql = "select * {} from {} order by all"
    return {name: run_query(root, sql.format(NOT_COMPARED.get(name, ""), name))[1] for name in TABLES}


def list_differing(one: Path, other: Path) -> list[str]:
    """The tables of the one root that are not those of the other; what differs is too long to be shown."""
    first, second = read_tables(one), read_tables(other)
    return [name for name in TABLES if first[name] != second[name] or not first[name]]


def wait_until(
    is_so: Callable[[], object], what: str, timeout_s: float = 240, meanwhile: Callable[[], object] = list
) -> float:
    """How many seconds it took to be so."""
    began = time.monotonic()
    while not is_so():
        assert time.monotonic() < began + timeout_s, f"{what}: not in {timeout_s:g} s"
        meanwhile()
        time.sleep(0.1)
    return time.monotonic() - began
