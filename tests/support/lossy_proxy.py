"""A proxy before a real Prefect server that loses answers, so that Prefect's client repeats its requests."""

import http.client
import json
import socket
import threading
import time
from collections import Counter
from collections.abc import Iterator, Mapping
from contextlib import contextmanager, suppress
from dataclasses import dataclass, field
from urllib.parse import urlsplit

from tests.support.web_server import QuietHandler, serve

FINAL = ("COMPLETED", "FAILED")
HOP_HEADERS = ("connection", "transfer-encoding", "content-length", "keep-alive")


@dataclass
class LossyProxy:
    """The variables that name the server behind the proxy, what the proxy does, and what it did.

    The server handles the first request of every kind, but the client gets no answer; the second one is
    refused with 503; all others pass.
    """

    environment: dict[str, str]
    is_lossy: bool = True
    """Whether it loses answers at all."""
    only_ends: bool = True
    """Lose only the answers to requests that end a run, not those to all POST requests."""
    delay_s: float = 0
    """How long the client waits before the connection is closed without an answer."""
    n_lost: Counter[str] = field(default_factory=Counter)
    """Type of a state that was to be set, or path of the request -> lost answers."""


def read_state(path: str, body: bytes) -> str | None:
    """Return the type of the state that a request sets; None if it sets none."""
    return str(json.loads(body)["state"]["type"]) if path.endswith("/set_state") else None


@contextmanager
def lose_answers(server: Mapping[str, str]) -> Iterator[LossyProxy]:
    """Run a proxy before the server that the variables name."""
    upstream = urlsplit(server["PREFECT_API_URL"])
    place = (str(upstream.hostname), int(upstream.port or 80))
    lock, seen = threading.Lock(), Counter[str]()

    class Handler(QuietHandler):
        def handle_request(self) -> None:
            if self.headers.get("Upgrade"):
                self.tunnel()
                return
            body = self.rfile.read(int(self.headers["Content-Length"] or 0))
            number, state = 2, read_state(self.path, body)
            is_chosen = state in FINAL or not proxy.only_ends
            if self.command == "POST" and is_chosen and proxy.is_lossy:
                with lock:
                    number = seen[f"{self.path} {state}"]
                    seen[f"{self.path} {state}"] += 1
            if number == 1:
                self.send_response(503)
                self.send_header("Retry-After", "0.1")
                self.send_header("Content-Length", "0")
                self.end_headers()
                return
            status, headers, content = self.forward(body)
            if number == 0:
                with lock:
                    proxy.n_lost[state or self.path] += 1
                time.sleep(proxy.delay_s)
                return
            # The client may have lost patience.
            with suppress(OSError):
                self.send_response(status)
                for name, value in headers:
                    if name.lower() not in HOP_HEADERS:
                        self.send_header(name, value)
                self.send_header("Content-Length", str(len(content)))
                self.end_headers()
                self.wfile.write(content)

        do_GET = do_POST = do_PUT = do_PATCH = do_DELETE = handle_request

        def forward(self, body: bytes) -> tuple[int, list[tuple[str, str]], bytes]:
            connection = http.client.HTTPConnection(*place, timeout=300)
            headers = {name: value for name, value in self.headers.items() if name.lower() != "connection"}
            connection.request(self.command, self.path, body, headers)
            answer = connection.getresponse()
            found = (answer.status, answer.getheaders(), answer.read())
            connection.close()
            return found

        def tunnel(self) -> None:
            """Pass the bytes of a WebSocket on in both directions."""
            with socket.create_connection(place) as server_side:
                head = [self.requestline, *(f"{name}: {value}" for name, value in self.headers.items())]
                server_side.sendall("\r\n".join([*head, "", ""]).encode())
                there = threading.Thread(target=pump, args=(self.connection, server_side), daemon=True)
                there.start()
                pump(server_side, self.connection)
                there.join()

    with serve(Handler) as address:
        proxy = LossyProxy({**server, "PREFECT_API_URL": f"{address}/api"})
        yield proxy


def pump(source: socket.socket, target: socket.socket) -> None:
    """Copy bytes until one side closes the connection."""
    with suppress(OSError):
        while data := source.recv(65536):
            target.sendall(data)
    for side in (source, target):
        with suppress(OSError):
            side.shutdown(socket.SHUT_RDWR)
