"""What becomes of marked processes when the one that started them is gone."""

import os
import signal
import subprocess
import sys
import time

import pytest

from deploy.local.guard import MARK, end_processes, find_processes, start_guard

SLEEP = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(60)"]
# As a worker that waits for its flow run: it ignores that it is asked to end.
STUBBORN = [*SLEEP[:-1], f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP[-1]}"]


def start_marked(mark: str, command: list[str]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(command, env=os.environ | {MARK: mark}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_only_the_marked_ones_end() -> None:
    marked, other = start_marked("guard-one", SLEEP), start_marked("guard-two", SLEEP)
    try:
        assert list(find_processes("guard-one")) == [marked.pid]
        end_processes("guard-one")
        assert marked.wait(5) == -15
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_guard_acts_when_its_input_is_closed(monkeypatch: pytest.MonkeyPatch) -> None:
    marked = start_marked("guard-three", SLEEP)
    guard = start_guard("guard-three")
    time.sleep(0.3)
    assert marked.poll() is None
    guard.communicate()
    assert marked.wait(5) == -15


def test_one_that_will_not_end_is_asked_otherwise(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr("deploy.local.guard.STEPS", [(signal.SIGTERM, 0.5), (signal.SIGINT, 3.0)])
    marked = start_marked("guard-four", STUBBORN)
    end_processes("guard-four")
    # SIGINT, which Python turns into KeyboardInterrupt.
    assert marked.wait(5) in (-2, 1, 130)
