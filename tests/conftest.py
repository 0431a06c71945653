"""Fixtures that tests of several folders use."""

import gc
import os
import sys
from collections.abc import Iterator
from importlib import import_module
from pathlib import Path
from typing import Any
from unittest import mock

import duckdb
import polars as pl
import pytest
from hypothesis import settings

from tests.support.examples import PROFILES
from tests.support.object_storage import ObjectStorage, serve_moto
from tests.support.prefect_server import start_prefect
from tests.support.quickstart import Quickstart, share_quickstart
from tests.support.session_process import share
from tests.support.tiny_llama import build_tiny_llama

# When pip is imported, as by the tests of the installation, a hook of setuptools brings back the distutils of
# Python, with which vLLM cannot be loaded.
_FINDERS = [
    finder
    for finder in sys.meta_path
    if getattr(finder, "__name__", type(finder).__name__) != "DistutilsMetaFinder"
]
with mock.patch.object(sys, "meta_path", _FINDERS):
    import_module("pip")

# A `make` that a test starts takes no flags, jobs or variables from a `make` that runs the tests.
os.environ.pop("MAKEFLAGS", None)

# Until all tests are collected, which imports everything: objects that stay would be scanned again and again.
gc.disable()

# A busy machine may need seconds for an example. The same examples are tried in every run of the suite.
for name, n_examples in PROFILES.items():
    settings.register_profile(name, deadline=None, derandomize=True, max_examples=n_examples)
settings.load_profile("suite")

# The longest files, in an order in which those that mostly wait run beside those that compute.
LONGEST = (
    *("weeks", "faults", "planted_errors", "cards", "documented_commands", "deployed", "training"),
    *("cancelled", "default", "other_tools"),
)


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Run the longest files first, and then the other files with slow tests, which wait for servers."""
    marks = ("slow", "long", "interop")
    slow = {item.path for item in items if any(map(item.get_closest_marker, marks))}
    ranks = {f"test_{name}.py": rank for rank, name in enumerate(LONGEST)}
    items.sort(key=lambda item: (ranks.get(item.path.name, len(ranks)), item.path not in slow))


def pytest_collection_finish() -> None:
    gc.freeze()
    gc.enable()


def pytest_sessionfinish() -> None:
    """Let the collector see all objects again: DuckDB and vLLM complain about those that are never freed."""
    gc.unfreeze()


@pytest.fixture(scope="session", autouse=True)
def duckdb_threads() -> Iterator[None]:
    """Let DuckDB in this process use as many threads as Polars, which reads the variable itself."""
    connect = duckdb.connect
    threads = {"threads": pl.thread_pool_size()}

    def connect_with_threads(
        path: str | Path = ":memory:", *, read_only: bool = False, config: dict[str, Any] | None = None
    ) -> duckdb.DuckDBPyConnection:
        return connect(path, read_only=read_only, config=threads | (config or {}))

    with mock.patch.object(duckdb, "connect", connect_with_threads):
        yield


@pytest.fixture(scope="session")
def moto() -> Iterator[ObjectStorage]:
    """An S3 server that keeps conditional writes; every test makes an address of its own."""
    with serve_moto() as storage:
        yield storage


@pytest.fixture(scope="session")
def prefect_server(tmp_path_factory: pytest.TempPathFactory) -> dict[str, str]:
    """The environment that names a real Prefect server, which all workers of the session share.

    Commands that use it log what they would log without it.
    """
    return share(tmp_path_factory, "prefect", start_prefect)


@pytest.fixture
def variables_of_server(prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch) -> None:
    """Let processes that a test starts use the server: each of their own takes 8 s of processor time."""
    for variable, value in prefect_server.items():
        monkeypatch.setenv(variable, value)


@pytest.fixture(scope="session")
def quickstart(tmp_path_factory: pytest.TempPathFactory) -> Quickstart:
    return share_quickstart(tmp_path_factory)


@pytest.fixture(scope="session")
def tiny_llama(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return build_tiny_llama(tmp_path_factory.mktemp("models") / "tiny-a", seed=1)
