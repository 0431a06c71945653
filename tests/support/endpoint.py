"""A real HTTP endpoint whose answers and faults a test chooses."""

import json
import threading
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass, field
from typing import Any

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.loading import load_engine
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.web_server import QuietHandler, serve

Body = dict[str, Any]


@dataclass(frozen=True)
class EndpointReply:
    """A response of the endpoint; its headers ask the client to wait 1 ms before a retry."""

    status: int = 200
    body: object = None
    content_type: str = "application/json"


@dataclass
class Endpoint:
    """The address of the endpoint, and the requests that it got: path, key and body."""

    base_url: str
    requests: list[tuple[str, str, Body]] = field(default_factory=list)


def build_reply(text: object, **more: object) -> EndpointReply:
    """Return a well-formed response to a completion request."""
    choice = {"index": 0, "text": text, "finish_reason": "stop", **more}
    return EndpointReply(body={"id": "x", "object": "text_completion", "choices": [choice]})


def build_error(status: int, message: str) -> EndpointReply:
    """Return a response that reports an error in the way of the OpenAI API."""
    return EndpointReply(status, {"error": {"message": message}})


def reply_to_chat(message: Body, **more: object) -> EndpointReply:
    """Return a well-formed response to a chat request; the message needs no role."""
    choice = {"index": 0, "finish_reason": "stop", "message": {"role": "assistant"} | message}
    return EndpointReply(body={"object": "chat.completion", "choices": [choice | more]})


@contextmanager
def serve_endpoint(answer: Callable[[Body, int], EndpointReply]) -> Iterator[Endpoint]:
    """Run an endpoint on a free port; ``answer`` gets the body of a request and how many came before it."""
    lock = threading.Lock()

    class Handler(QuietHandler):
        def do_GET(self) -> None:
            """Refuse to list models, as some gateways do."""
            self.send_error(404)

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            with lock:
                number = len(endpoint.requests)
                endpoint.requests.append((self.path, self.headers["Authorization"], body))
            reply = answer(body, number)
            content = reply.body if isinstance(reply.body, str) else json.dumps(reply.body)
            self.send_response(reply.status)
            self.send_header("Content-Type", reply.content_type)
            self.send_header("Content-Length", str(len(content)))
            self.send_header("Retry-After-Ms", "1")
            self.end_headers()
            self.wfile.write(content.encode())

    with serve(Handler) as address:
        endpoint = Endpoint(f"{address}/v1")
        yield endpoint


def build_model_config(base_url: str, **settings: object) -> ModelConfig:
    """Return the configuration of a model behind the address, with short timeouts."""
    given = {"name": "m", "engine": "openai", "model": "x", "base_url": base_url, "timeout_s": 5}
    return ModelConfig.model_validate(given | {"max_attempts": 3} | settings)


def ask_endpoint(
    endpoint: Endpoint, prompts: Sequence[str | Prompt], sampling: Sampling, **settings: object
) -> list[Completion]:
    """Return the completions of a new engine for the prompts; a plain text is a completion prompt."""
    engine = load_engine(build_model_config(endpoint.base_url, **settings))
    try:
        asked = [p if isinstance(p, Prompt) else Prompt("completion", p) for p in prompts]
        return engine.generate(asked, sampling)
    finally:
        engine.close()
