"""Prefect's server of one command: its start, and its end with the command."""

import atexit
import os
import sqlite3
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from commands import prefect_server
from pretexeval.primitives.errors import InputError
from tests.support.command import build_environment, has_servers, wait_for_servers_to_end

# A server that ends before it answers as often as there are tokens, and then answers.
FAILING = """
import http.server, pathlib, sys
port, folder = int(sys.argv[2]), pathlib.Path(__file__).parent / "tokens"
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
    monkeypatch.setattr(prefect_server, "SERVER_FILE", tmp_path / "failing.py")
    monkeypatch.setattr(atexit, "register", lambda _, process, __: stopped.append(process))
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


def test_a_server_that_never_comes_up_is_an_error(tokens: Path, tmp_path: Path) -> None:
    for name in "abcd":
        (tokens / name).touch()
    prefect_server.start_server(tmp_path)
    with pytest.raises(InputError, match=r"did not start \(ended with status 3, .*delete .*prefect.db"):
        prefect_server.wait_for_server()
    assert len(list(tokens.iterdir())) == 1


@pytest.mark.parametrize("damage", ["text", "page"])
def test_a_damaged_history_is_named_in_one_sentence(tmp_path: Path, damage: str) -> None:
    path = tmp_path / "prefect.db"
    with sqlite3.connect(path) as connection:
        connection.execute("create table runs (name text)")
        connection.executemany("insert into runs values (?)", [(f"run {k}",) for k in range(5000)])
    connection.close()
    content = path.read_bytes()
    changed = {"text": b"no database" * 100, "page": content[:8192] + b"\xff" * 4096 + content[12288:]}[
        damage
    ]
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
