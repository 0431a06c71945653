"""A web hook on loopback: what Prefect's server is told to notify."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Note = dict[str, str]


class Hook(ThreadingHTTPServer):
    """Keeps what is posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _Taker)
        self.notes: list[Note] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def wait_for(self, word: str, timeout_s: float = 90) -> Note:
        """The first note whose subject holds the word."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if found := [note for note in self.notes if word in note["subject"]]:
                return found[0]
            time.sleep(0.2)
        raise AssertionError(f"no note of {word!r}; there are: {self.notes}")


class _Taker(BaseHTTPRequestHandler):
    server: Hook

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.notes.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Says nothing."""


@contextmanager
def open_hook() -> Iterator[Hook]:
    """It takes notes while the block lasts."""
    with Hook() as hook:
        thread = threading.Thread(target=hook.serve_forever)
        thread.start()
        try:
            yield hook
        finally:
            hook.shutdown()
            thread.join()
