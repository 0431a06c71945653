"""An OpenAI endpoint on this machine that answers completion requests by a rule."""

import json
import threading
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from http.server import BaseHTTPRequestHandler, ThreadingHTTPServer


@contextmanager
def serve_rule(reply: Callable[[str], str]) -> Iterator[str]:
    """Serve an endpoint on a free port of the loopback interface, and yield its base URL.

    Args:
        reply: prompt -> the text of the completion. Threads call it concurrently.
    """

    class Handler(BaseHTTPRequestHandler):
        protocol_version = "HTTP/1.1"

        def do_POST(self) -> None:
            prompt = json.loads(self.rfile.read(int(self.headers["Content-Length"])))["prompt"]
            choice = {"index": 0, "text": reply(prompt), "finish_reason": "stop"}
            body = {"id": "x", "object": "text_completion", "model": "rule", "choices": [choice]}
            content = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

        def log_message(self, format: str, *args: object) -> None:
            """Print nothing for each request."""

    server = ThreadingHTTPServer(("127.0.0.1", 0), Handler)
    thread = threading.Thread(target=server.serve_forever, daemon=True)
    thread.start()
    try:
        yield f"http://127.0.0.1:{server.server_port}/v1"
    finally:
        server.shutdown()
        thread.join()
        server.server_close()
