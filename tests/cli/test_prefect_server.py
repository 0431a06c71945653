"""Prefect's server of one command, if it does not come up at once."""

import atexit
import os
import subprocess
import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from cli import prefect_server
from primitives.errors import InputError

# A server that ends before it answers as often as there are tokens, and then answers.
FAILING = """
import http.server, pathlib, sys
port, folder = int(sys.argv[1]), pathlib.Path(sys.argv[2])
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


@pytest.fixture
def tokens(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Path]:
    """A folder with a file for every start that must fail."""
    folder = tmp_path / "tokens"
    folder.mkdir()
    stopped: list[subprocess.Popen[bytes]] = []
    monkeypatch.setattr(
        prefect_server, "_build_command", lambda port: [sys.executable, "-c", FAILING, str(port), str(folder)]
    )
    monkeypatch.setattr(atexit, "register", lambda _, process: stopped.append(process))
    for name in ("PREFECT_API_URL", "PREFECT_API_AUTH_STRING", "PREFECT_SERVER_API_AUTH_STRING"):
        monkeypatch.setenv(name, "set back after the test")
    yield folder
    for process in stopped:
        process.kill()
        process.wait()


def test_a_server_that_ends_as_it_starts_is_restarted_at_the_same_address(tokens: Path) -> None:
    for name in "ab":
        (tokens / name).touch()
    prefect_server.start_server()
    address = os.environ["PREFECT_API_URL"]
    prefect_server.wait_for_server()
    assert os.environ["PREFECT_API_URL"] == address
    assert not list(tokens.iterdir())


def test_a_server_that_never_comes_up_is_an_error(tokens: Path) -> None:
    for name in "abcd":
        (tokens / name).touch()
    prefect_server.start_server()
    with pytest.raises(InputError, match=r"did not start \(ended with status 3\)"):
        prefect_server.wait_for_server()
    assert len(list(tokens.iterdir())) == 1
