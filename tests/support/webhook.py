"""A web hook on loopback that keeps the notifications of Prefect's server."""

import json
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

Note = dict[str, str]


class WebhookServer(ThreadingHTTPServer):
    """A web server that keeps the notifications posted to it."""

    def __init__(self) -> None:
        super().__init__(("127.0.0.1", 0), _WebhookHandler)
        self.notes: list[Note] = []

    @property
    def address(self) -> str:
        return f"http://127.0.0.1:{self.server_port}/"

    def wait_for(self, word: str, timeout_s: float = 90) -> Note:
        """Wait for a note with the word in its subject, and return the first one."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            if found := [note for note in self.notes if word in note["subject"]]:
                return found[0]
            time.sleep(0.2)
        raise AssertionError(f"no note about {word!r}; the notes are: {self.notes}")


class _WebhookHandler(BaseHTTPRequestHandler):
    server: WebhookServer

    def do_POST(self) -> None:
        body = self.rfile.read(int(self.headers["Content-Length"]))
        self.server.notes.append(json.loads(body))
        self.send_response(200)
        self.end_headers()

    def log_message(self, format: str, *args: object) -> None:
        """Log nothing."""


@contextmanager
def serve_webhook() -> Iterator[WebhookServer]:
    """Run the web hook during the block."""
    with WebhookServer() as hook:
        thread = threading.Thread(target=hook.serve_forever)
        thread.start()
        try:
            yield hook
        finally:
            hook.shutdown()
            thread.join()
