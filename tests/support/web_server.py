"""A web server on loopback with the answers that a test chooses; it records the requests."""

import json
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from dataclasses import dataclass, field
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer

import uvicorn

from tests.support.processes import find_free_port

Route = tuple[int, object]


@dataclass
class WebServer:
    """The address of the server, and the requests that it got: path and Authorization."""

    address: str
    requests: list[tuple[str, str | None]] = field(default_factory=list)


class QuietHandler(BaseHTTPRequestHandler):
    """A handler that logs nothing."""

    def log_message(self, format: str, *args: object) -> None:
        pass


class LocalServer(ThreadingHTTPServer):
    """A server with a long queue of new connections: if it is full, clients wait a second for their retry."""

    request_queue_size = 128


@contextmanager
def serve(handler: Callable[..., BaseHTTPRequestHandler]) -> Iterator[str]:
    """Run a server with this handler on a free port, and yield its address."""
    server = LocalServer(("127.0.0.1", 0), handler)
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


@contextmanager
def serve_app(app: object) -> Iterator[str]:
    """Run an ASGI application on a free port, and yield its address."""
    port = find_free_port()
    server = uvicorn.Server(
        uvicorn.Config(app, port=port, lifespan="off", log_level="critical")  # type: ignore[arg-type]
    )
    thread = threading.Thread(target=server.run)
    thread.start()
    try:
        while not server.started:
            assert thread.is_alive()
            time.sleep(0.01)
        yield f"http://127.0.0.1:{port}"
    finally:
        server.should_exit = True
        thread.join()


@contextmanager
def serve_routes(
    routes: Mapping[str, Route], headers: Mapping[str, str] | None = None
) -> Iterator[WebServer]:
    """Run a server that answers with JSON by path, and with 404 for every other path."""

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            self.rfile.read(int(self.headers["Content-Length"] or 0))
            web.requests.append((self.path, self.headers["Authorization"]))
            status, body = routes.get(self.path, (404, {}))
            content = json.dumps(body).encode()
            self.send_response(status)
            for name, value in (headers or {}).items():
                self.send_header(name, value)
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        do_POST = do_GET

    with serve(Handler) as address:
        web = WebServer(address)
        yield web
