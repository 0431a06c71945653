"""Signals end the command within 5 s with status 130, wherever it is, and no answer is lost."""

import contextlib
import os
import signal
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path

import duckdb
import polars as pl
import pytest

from tests.support.command import (
    build_command,
    build_environment,
    make_rows,
    wait_for_servers_to_end,
    write_base,
    write_config,
)
from tests.support.raw_endpoint import RawReply, render_answer, serve_bytes

LIMIT_S = 5.0
MESSAGE = "pretexeval: interrupted; run the same command again to continue\n"
# The main thread computes in a library that lets no signal through; another one never ends.
STUCK = """
import hashlib, threading, time
from commands import interrupts
interrupts.end_on_signals()
threading.Thread(target=time.sleep, args=(60,)).start()
try:
    print("ready", flush=True)
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
except KeyboardInterrupt:  # The signal came before the computation.
    hashlib.pbkdf2_hmac("sha256", b"", b"", 2**31 - 1)
"""
# The interrupt is turned into another exception, as libraries do.
TURNED = """
import time
from commands import main, start
def command(_):
    print("ready", flush=True)
    try:
        time.sleep(60)
    except KeyboardInterrupt:
        raise RuntimeError("a task crashed") from None
main._run_command = command
import sys
sys.argv[1:] = ["sql"]
start.run()
"""
# DuckDB runs a query that does not end.
QUERY = """
import sys, threading
from commands import main, start
from warehouse import query
slow = "select sum(hash(a.range * b.range)) from range(10_000_000) a, range(10_000_000) b"
sys.argv[1:] = ["sql", slow, "--root", "."]
threading.Timer(1, print, ["ready"], {"flush": True}).start()
start.run()
"""


def interrupt(
    process: "subprocess.Popen[str]", number: int, kill: Callable[[int, int], None] = os.kill
) -> tuple[int, float, str]:
    """Send the signal three times, as an impatient user does; return status, seconds and standard error."""
    started = time.monotonic()
    for _ in range(3):
        with contextlib.suppress(ProcessLookupError):
            kill(process.pid, number)
        time.sleep(0.05)
    _, said = process.communicate(timeout=30)
    return process.returncode, time.monotonic() - started, said


@pytest.mark.parametrize(
    ("program", "number"), [(STUCK, signal.SIGTERM), (TURNED, signal.SIGHUP), (QUERY, signal.SIGINT)]
)
def test_a_process_that_is_stuck_or_crashes_at_a_signal_ends(
    tmp_path: Path, program: str, number: int
) -> None:
    duckdb.connect(tmp_path / "warehouse.duckdb").close()
    process = subprocess.Popen(
        [sys.executable, "-c", program],
        cwd=tmp_path,
        env=build_environment(),
        # A signal that the tests ignore, as nohup lets them, would stay ignored.
        preexec_fn=lambda: signal.signal(number, signal.SIG_DFL),
        stdout=subprocess.PIPE,
        stderr=subprocess.PIPE,
        text=True,
    )
    assert process.stdout is not None
    assert process.stdout.readline() == "ready\n"
    status, seconds, said = interrupt(process, number)
    assert (status, said) == (130, MESSAGE)
    assert seconds < LIMIT_S


def test_signals_that_the_caller_ignores_stay_ignored() -> None:
    program = "from commands import interrupts; import signal; interrupts.end_on_signals(); " + (
        "print(signal.getsignal(signal.SIGHUP) == signal.SIG_IGN)"
    )
    command = ["nohup", sys.executable, "-c", program]
    done = subprocess.run(command, env=build_environment(), stdin=subprocess.DEVNULL, capture_output=True)
    assert done.stdout == b"True\n"


@pytest.mark.long
def test_ctrl_c_keeps_every_answer_and_leaves_no_server(tmp_path: Path) -> None:
    base = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    with serve_bytes(lambda *_: RawReply(render_answer(), delay_s=0.5)) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "m", "base_url": endpoint.base_url}
        knowledge = {"name": "own", "format": "table", "path": str(base)}
        models = [model | {"concurrency": 3}]
        config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, models=models)
        process = subprocess.Popen(
            build_command("run", config),
            cwd=tmp_path,
            env=build_environment(),
            stderr=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        while sum(endpoint.answered.values()) < 12:
            assert process.poll() is None
            time.sleep(0.05)
        n_answered = sum(endpoint.answered.values())
        # A terminal signals the whole group.
        status, seconds, said = interrupt(process, signal.SIGINT, os.killpg)
    assert (status, said.endswith(MESSAGE)) == (130, True)
    assert "Traceback" not in said
    assert seconds < LIMIT_S
    assert wait_for_servers_to_end(tmp_path / "data")
    parts = [pl.read_parquet(path) for path in tmp_path.glob("data/responses/*/part-*.parquet")]
    assert pl.concat(parts).filter(status="ok").height >= n_answered
