"""An endpoint that sends any bytes at any speed, and remembers what it was asked and what it sent."""

import contextlib
import json
import socketserver
import ssl
import threading
import time
from collections import Counter
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from dataclasses import dataclass, field
from itertools import takewhile
from typing import Any

from schemas.exchange import Prompt


@dataclass(frozen=True)
class RawReply:
    """Bytes to send, and the seconds after each piece of them."""

    content: bytes
    delay_s: float = 0.0
    """Seconds before the first byte."""
    piece: int = 1 << 20
    pause_s: float = 0.0
    hold_s: float = 0.0
    """How long the connection stays open after the last byte."""
    unasked: bytes = b""
    """What the endpoint sends at the end, although nobody asked for it."""
    keeps: bool = False
    """Whether the connection then serves further requests, unless the client closes it."""


@dataclass
class RawEndpoint:
    """The address of the endpoint; what it was asked, and what it answered in full."""

    port: int
    origin: str = "http://127.0.0.1"
    asked: Counter[str] = field(default_factory=Counter)
    answered: Counter[str] = field(default_factory=Counter)

    @property
    def base_url(self) -> str:
        return f"{self.origin}:{self.port}/v1"


def render_reply(status: int | str, headers: dict[str, str], body: bytes, connection: str = "close") -> bytes:
    """Return an HTTP reply; Content-Length is added unless the headers say something else of the length."""
    if not {"Content-Length", "Transfer-Encoding"} & set(headers):
        headers = headers | {"Content-Length": str(len(body))}
    headers = headers | {"Connection": connection}
    lines = [f"HTTP/1.1 {status} X", *(f"{name}: {value}" for name, value in headers.items()), "", ""]
    return "\r\n".join(lines).encode("latin-1") + body


def render_answer(text: str = " True", connection: str = "close", **more: object) -> bytes:
    """Return a good reply to a completion or chat request."""
    choice = {"text": text, "message": {"content": text}, "finish_reason": "stop"}
    body = json.dumps({"choices": [choice], **more}).encode()
    return render_reply(200, {"Content-Type": "application/json"}, body, connection)


@contextmanager
def serve_bytes(
    reply: Callable[[str, int], RawReply], context: ssl.SSLContext | None = None
) -> Iterator[RawEndpoint]:
    """Run an endpoint on a free port; ``reply`` gets a prompt and how often it was asked before.

    Args:
        context: the certificate of an endpoint with TLS.
    """
    lock = threading.Lock()

    class Handler(socketserver.StreamRequestHandler):
        def handle(self) -> None:
            # The client may end the connection at any time.
            with contextlib.suppress(OSError, ValueError):
                while self.serve_request():
                    pass

        def serve_request(self) -> bool:
            """Answer the next request of this connection; return whether it may serve another one."""
            head = takewhile(lambda line: line.strip(), iter(self.rfile.readline, None))
            lengths = [int(line[15:]) for line in head if line.lower().startswith(b"content-length:")]
            if not lengths:
                return False
            prompt = _read_prompt(json.loads(self.rfile.read(lengths[0])))
            with lock:
                n_before = endpoint.asked[prompt]
                endpoint.asked[prompt] += 1
            chosen = reply(prompt, n_before)
            time.sleep(chosen.delay_s)
            for start in range(0, len(chosen.content), chosen.piece):
                self.connection.sendall(chosen.content[start : start + chosen.piece])
                time.sleep(chosen.pause_s)
            self.connection.sendall(chosen.unasked)
            time.sleep(chosen.hold_s)
            with lock:
                endpoint.answered[prompt] += 1
            return chosen.keeps

    class Server(socketserver.ThreadingTCPServer):
        allow_reuse_address = True
        daemon_threads = True
        request_queue_size = 128

    server = Server(("127.0.0.1", 0), Handler)
    if context is not None:
        server.socket = context.wrap_socket(server.socket, server_side=True)
    endpoint = RawEndpoint(server.server_address[1])
    thread = threading.Thread(target=server.serve_forever, args=(0.01,))
    thread.start()
    try:
        yield endpoint
    finally:
        server.shutdown()
        thread.join()
        server.server_close()


def _read_prompt(body: dict[str, Any]) -> str:
    return str(body["prompt"] if "prompt" in body else body["messages"][-1]["content"])


def build_prompts(*texts: str, style: str = "completion") -> dict[str, Prompt]:
    """Return prompt key -> prompt."""
    prompts = (
        Prompt(style, text if style == "completion" else json.dumps([{"content": text, "role": "user"}]))
        for text in texts
    )
    return {f"{n:032x}": prompt for n, prompt in enumerate(prompts, 1)}
