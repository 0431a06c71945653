"""The watchdog of an installation ends all marked processes, and only those."""

import os
import signal
import subprocess
import sys
import time

from deploy.local.watchdog import (
    INSTALLATION_MARK,
    INSTALLATION_STEPS,
    end_marked,
    start_installation_watchdog,
)
from tests.support.installation import find_processes

SLEEP = [sys.executable, "-S", "-c", "import time; print(flush=True); time.sleep(60)"]
# Ignores SIGTERM, as a worker does that waits for its flow run.
STUBBORN = [*SLEEP[:-1], f"import signal; signal.signal(15, signal.SIG_IGN); {SLEEP[-1]}"]


def start_marked(mark: str, command: list[str]) -> "subprocess.Popen[bytes]":
    process = subprocess.Popen(command, env=os.environ | {INSTALLATION_MARK: mark}, stdout=subprocess.PIPE)
    assert process.stdout is not None
    process.stdout.readline()
    return process


def test_only_marked_processes_end() -> None:
    marked, other = start_marked("marked-one", SLEEP), start_marked("marked-two", SLEEP)
    try:
        assert list(find_processes("marked-one")) == [marked.pid]
        end_marked([f"{INSTALLATION_MARK}=marked-one"], INSTALLATION_STEPS)
        assert marked.wait(5) == -15
        assert other.poll() is None
    finally:
        other.kill()
        other.wait()


def test_the_watchdog_acts_when_its_input_is_closed() -> None:
    marked = start_marked("marked-three", SLEEP)
    watchdog = start_installation_watchdog("marked-three")
    time.sleep(0.3)
    assert marked.poll() is None
    watchdog.communicate()
    assert marked.wait(5) == -15


def test_a_process_that_ignores_a_signal_gets_the_next_one() -> None:
    assert [number for number, _ in INSTALLATION_STEPS[:2]] == [signal.SIGTERM, signal.SIGINT]
    marked = start_marked("marked-four", STUBBORN)
    end_marked([f"{INSTALLATION_MARK}=marked-four"], [(signal.SIGTERM, 0.5), (signal.SIGINT, 3.0)])
    # Python turns SIGINT into KeyboardInterrupt.
    assert marked.wait(5) in (-2, 1, 130)
