"""A service: its readiness, its log, its end."""

import os
import signal
import sys
import time
from pathlib import Path

import pytest

from deploy.local.service import Service
from primitives.errors import InputError


def build_service(tmp_path: Path, code: str) -> Service:
    ready = tmp_path / "ready"
    return Service(
        name="sleeper",
        command=[sys.executable, "-S", "-c", code],
        environment={"READY": str(ready)},
        log=tmp_path / "logs" / "sleeper.log",
        is_ready=ready.exists,
        folder=tmp_path,
    )


SLEEPER = "import os, time; print('hello', flush=True); open(os.environ['READY'], 'w'); time.sleep(60)"
STUBBORN = f"import signal; signal.signal(15, lambda *_: print('asked', flush=True)); {SLEEPER}"
# Its child has the same session; its id is written to the file `child`.
PARENT = """
import os, subprocess, sys, time
child = subprocess.Popen([sys.executable, "-S", "-c", "import time; time.sleep(60)"])
open("child", "w").write(str(child.pid))
open(os.environ["READY"], "w")
time.sleep(60)
"""


def is_running(pid: int) -> bool:
    try:
        return ") Z " not in Path(f"/proc/{pid}/stat").read_text()
    except FileNotFoundError:
        return False


def test_a_service_becomes_ready_and_ends_when_asked(tmp_path: Path) -> None:
    service = build_service(tmp_path, SLEEPER)
    service.start()
    service.wait()
    assert service.process.poll() is None
    service.end()
    assert service.process.returncode == -signal.SIGTERM
    assert service.read_end_of_log() == "hello"


def test_a_service_is_asked_to_end_only_once(tmp_path: Path) -> None:
    service = build_service(tmp_path, STUBBORN)
    service.start()
    service.wait()
    service.ask_to_end()
    service.end(patience_s=0.5)
    assert service.process.returncode == -signal.SIGKILL
    assert service.read_end_of_log().splitlines() == ["hello", "asked"]


def test_the_error_of_a_service_that_ends_too_soon_quotes_its_log(tmp_path: Path) -> None:
    service = build_service(tmp_path, "raise SystemExit('no such disk')")
    service.start()
    with pytest.raises(InputError, match=r"(?s)sleeper ended with 1; .*no such disk"):
        service.wait()


def test_a_kill_also_kills_the_children(tmp_path: Path) -> None:
    service = build_service(tmp_path, PARENT)
    service.start()
    service.wait()
    child = int((tmp_path / "child").read_text())
    service.kill()
    assert service.process.returncode == -signal.SIGKILL
    try:
        deadline = time.monotonic() + 5
        while is_running(child) and time.monotonic() < deadline:
            time.sleep(0.05)
        assert not is_running(child)
    finally:
        if is_running(child):
            os.kill(child, signal.SIGKILL)
