"""The process of the command: its end by signals, and the Prefect server that lives as long as it."""

import atexit
import contextlib
import os
import signal
import sqlite3
import subprocess
import sys
import time
from collections.abc import Callable, Iterator
from pathlib import Path

import duckdb
import polars as pl
import pytest

from commands import prefect_server
from pretexeval.primitives.errors import InputError
from tests.support.command import (
    build_command,
    build_environment,
    has_servers,
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


@pytest.mark.long
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
    knowledge = write_base(tmp_path / "own.tsv", make_rows("may_treat"))
    with serve_bytes(lambda *_: RawReply(render_answer(), delay_s=0.5)) as endpoint:
        model = {"name": "m", "engine": "openai", "model": "m", "base_url": endpoint.base_url}
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


# A server that ends before it answers as often as there are tokens, and then answers.
FAILING = """
import http.server, pathlib, sys
port, folder = int(sys.argv[-1]), pathlib.Path(__file__).parent / "tokens"
tokens = sorted(folder.iterdir())
if tokens:
    tokens[0].unlink()
    sys.exit(3)
class Healthy(http.server.BaseHTTPRequestHandler):
    def do_GET(self):
        self.send_response(200)
        self.end_headers()
http.server.HTTPServer(("127.0.0.1", port), Healthy).serve_forever()
"""
# A command that uses its server until its standard input is closed.
COMMAND = """
import sys
from pathlib import Path
from commands.prefect_server import start_server, wait_for_server
start_server(Path(sys.argv[1]))
wait_for_server()
print("ready", flush=True)
sys.stdin.readline()
"""


@pytest.fixture
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file for every start that must fail."""
    folder = tmp_path / "tokens"
    folder.mkdir()
    stopped: list[subprocess.Popen[bytes]] = []
    (tmp_path / "failing.py").write_text(FAILING)
    monkeypatch.setattr(prefect_server, "SERVER", [str(tmp_path / "failing.py")])
    monkeypatch.setattr(atexit, "register", lambda _, process: stopped.append(process))
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        monkeypatch.setenv(name, "set back after the test")
    yield folder
    for process in stopped:
        process.kill()
        process.wait()


def test_a_server_that_ends_as_it_starts_is_restarted_at_the_same_address(
    tokens: Path, tmp_path: Path
) -> None:
    for name in "ab":
        (tokens / name).touch()
    prefect_server.start_server(tmp_path)
    address = os.environ["PREFECT_API_URL"]
    prefect_server.wait_for_server()
    assert os.environ["PREFECT_API_URL"] == address
    assert not list(tokens.iterdir())
    for name in "abcd":
        (tokens / name).touch()
    prefect_server.start_server(tmp_path)
    with pytest.raises(InputError, match=r"did not start \(ended with status 3, .*delete .*prefect.db"):
        prefect_server.wait_for_server()
    assert len(list(tokens.iterdir())) == 1


def test_a_damaged_history_is_named_in_one_sentence(tmp_path: Path) -> None:
    path = tmp_path / "prefect.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table runs (name text)")
        connection.executemany("insert into runs values (?)", [(f"run {k}",) for k in range(5000)])
    connection.close()
    content = path.read_bytes()
    # No database, and one with a damaged page.
    for changed in (b"no database" * 100, content[:8192] + b"\xff" * 4096 + content[12288:]):
        path.write_bytes(changed)
        with pytest.raises(InputError, match=r"^\S+prefect\.db is damaged \(.*\): delete it and run again"):
            prefect_server.start_server(tmp_path)
        assert path.read_bytes() == changed


@pytest.mark.long
def test_two_commands_share_a_new_history_and_no_server_outlives_its_command(tmp_path: Path) -> None:
    home = tmp_path / "prefect"
    home.mkdir()
    killed, ended = (
        subprocess.Popen(
            [sys.executable, "-c", COMMAND, home],
            env=build_environment({"PREFECT_HOME": str(home)}),
            stdin=subprocess.PIPE,
            stdout=subprocess.PIPE,
            text=True,
        )
        for _ in range(2)
    )
    try:
        assert killed.stdout is not None
        assert ended.stdout is not None
        assert [killed.stdout.readline(), ended.stdout.readline()] == ["ready\n", "ready\n"]
        ended.communicate(timeout=20)
        assert ended.returncode == 0
        assert has_servers(tmp_path)
        killed.kill()
        killed.wait(20)
        assert wait_for_servers_to_end(tmp_path)
    finally:
        for process in (killed, ended):
            process.kill()
            process.wait(20)
