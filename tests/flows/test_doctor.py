"""`pretexeval doctor` against a real Prefect server, first without work pools and then with both."""

import json
import urllib.request
from pathlib import Path

import pytest

from tests.support.command import run_command

pytestmark = pytest.mark.slow


def create_pool(server: dict[str, str], **pool: object) -> None:
    request = urllib.request.Request(
        f"{server['PREFECT_API_URL']}/work_pools/",
        json.dumps({"type": "process", **pool}).encode(),
        {"Content-Type": "application/json"},
    )
    urllib.request.urlopen(request, timeout=20).close()


def delete_pool(server: dict[str, str], name: str) -> None:
    """Delete a pool, because other tests use the same server."""
    request = urllib.request.Request(f"{server['PREFECT_API_URL']}/work_pools/{name}", method="DELETE")
    urllib.request.urlopen(request, timeout=20).close()


def read_lines(server: dict[str, str], folder: Path) -> dict[str, str]:
    """Run the doctor; return name of a finding -> its state and text."""
    output = run_command("doctor", folder=folder, environment=server).require().out
    lines = [line.split(maxsplit=1) for line in output.splitlines() if line[:1] in "owf" and "  " in line]
    return {rest.split("  ")[0]: f"{state} {rest}" for state, rest in lines}


def test_server_and_pools_are_found(prefect_server: dict[str, str], tmp_path: Path) -> None:
    before = read_lines(prefect_server, tmp_path)
    assert before["Prefect"].startswith("ok ")
    assert "version 3." in before["Prefect"]
    for pool in ("pool pretexeval-cpu", "pool pretexeval-gpu"):
        assert before[pool].startswith("warning ")
        assert "does not exist" in before[pool]
    create_pool(prefect_server, name="pretexeval-cpu")
    create_pool(prefect_server, name="pretexeval-gpu", concurrency_limit=1)
    try:
        after = read_lines(prefect_server, tmp_path)
    finally:
        for name in ("pretexeval-cpu", "pretexeval-gpu"):
            delete_pool(prefect_server, name)
    # No worker polls them yet.
    assert "process, no limit, no worker" in after["pool pretexeval-cpu"]
    assert "process, 1 at once, no worker" in after["pool pretexeval-gpu"]
