"""The watchdog ends the ephemeral servers of a process that is gone, however it ended."""

import os
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from pathlib import Path

import pytest

from deploy.local.watchdog import EPHEMERAL, SERVER_MARK, find_marked
from tests.support.command import build_environment

# A process with a watchdog. It starts a process that looks like a server of Prefect, and another one.
OWNER = f"""
import os, signal, subprocess, sys
from deploy.local.watchdog import SERVER_MARK, start_watchdog
start_watchdog()
start_watchdog()
print(os.environ[SERVER_MARK])
signal.signal(signal.SIGTERM, signal.{{on_term}})
sleep = [sys.executable, "-S", "-c", "import time; time.sleep(60)"]
for more in ({{{{"{EPHEMERAL.partition("=")[0]}": "1"}}}}, {{{{}}}}):
    print(subprocess.Popen(sleep, env=os.environ | more).pid)
print("ready", flush=True)
sys.stdin.readline()
"""
# How the process handles SIGTERM; its children inherit this.
OBEDIENT, STUBBORN = "SIG_DFL", "SIG_IGN"

pytestmark = pytest.mark.skipif(not Path("/proc/self/environ").exists(), reason="there is no /proc")


def find_servers(mark: str) -> Iterator[int]:
    return find_marked([f"{SERVER_MARK}={mark}", EPHEMERAL])


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def wait_for_end(pid: int, timeout_s: float = 20) -> bool:
    deadline = time.monotonic() + timeout_s
    while is_running(pid) and time.monotonic() < deadline:
        time.sleep(0.05)
    return not is_running(pid)


@pytest.fixture
def bystanders() -> Iterator[list[int]]:
    """Return a list of process ids; the processes in it are killed after the test."""
    pids: list[int] = []
    yield pids
    for pid in filter(is_running, pids):
        os.kill(pid, signal.SIGKILL)


def start_owner(on_term: str = OBEDIENT) -> tuple["subprocess.Popen[str]", str, int, int]:
    """Return the process, its mark, its server, and its other child."""
    owner = subprocess.Popen(
        [sys.executable, "-c", OWNER.format(on_term=on_term)],
        env=build_environment(),
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert owner.stdout is not None
    mark, server, other, ready = (owner.stdout.readline().strip() for _ in range(4))
    assert ready == "ready"
    return owner, mark, int(server), int(other)


@pytest.mark.parametrize(
    ("number", "on_term"),
    [(signal.SIGKILL, OBEDIENT), (signal.SIGTERM, OBEDIENT), (signal.SIGKILL, STUBBORN)],
)
def test_the_servers_of_a_killed_process_end(
    bystanders: list[int], number: signal.Signals, on_term: str
) -> None:
    owner, mark, server, other = start_owner(on_term)
    bystanders += [server, other]
    assert list(find_servers(mark)) == [server]
    owner.send_signal(number)
    assert owner.wait(20) == -number
    assert wait_for_end(server)
    assert is_running(other)


def test_the_servers_of_other_processes_keep_running(bystanders: list[int]) -> None:
    owner, _, server, other = start_owner()
    neighbour, mark, its_server, its_other = start_owner()
    bystanders += [server, other, its_server, its_other]
    owner.kill()
    owner.wait(20)
    assert wait_for_end(server)
    assert list(find_servers(mark)) == [its_server]
    assert neighbour.stdin is not None
    neighbour.stdin.close()
    assert neighbour.wait(20) == 0
    assert wait_for_end(its_server)


def test_no_process_has_an_unknown_mark() -> None:
    assert SERVER_MARK not in os.environ or os.environ[SERVER_MARK] != "none"
    assert list(find_servers("none")) == []
