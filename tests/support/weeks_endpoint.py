"""A process that serves the models of weekly editions: python -m tests.support.weeks_endpoint PORT.

Every model answers from a rule, so that its accuracy on an edition is known beforehand. GET /asked returns
when each prompt of each model was asked; POST /change changes the answers of one model from then on.
"""

import hashlib
import json
import re
import sys
import time

from prototypes.pool import load_pool
from tests.support.web_server import LocalServer, QuietHandler

RELATION = "may_treat"
# Of the heads, five are held out as demonstrations, and each week tests 12 others. Each head has ten tails.
N_HEADS, N_TESTED, N_TAILS, STEP = 23, 12, 40, 4
# Of a hundred statements, how many a model judges wrongly.
ERRORS = {"steady": 4, "changing": 9, "newcomer": 14}
CHANGED_ERRORS = ERRORS | {"changing": 27}
HEAD = re.compile(r"\bdrug (\d+)\b", re.IGNORECASE)
TAIL = re.compile(r"\bdisease (\d+)\b", re.IGNORECASE)
STATEMENT = re.compile(r'Statement: "([^"]*)"')


def is_fact(head: int, tail: int) -> bool:
    """Return whether the base has the fact: every head has N_TAILS / STEP tails."""
    return (7 * head + tail) % STEP == 0


def list_facts() -> list[tuple[str, str, str]]:
    """Return the rows of the base: head, relation, tail."""
    return [
        (f"Drug {head}", RELATION, f"Disease {tail}")
        for head in range(N_HEADS)
        for tail in range(N_TAILS)
        if is_fact(head, tail)
    ]


class Rules:
    """The rules of the models, which read a statement as a person would: by the templates of the pool."""

    def __init__(self) -> None:
        self._is_denial = {
            _fold(text): name.endswith("dn")
            for name, cell in load_pool("revised").relations[RELATION].cells.items()
            for text in cell.texts
        }

    def is_true(self, statement: str) -> bool:
        """Return whether a statement is true."""
        head, tail, is_denied = self.read(statement)
        return is_fact(head, tail) != is_denied

    def read(self, statement: str) -> tuple[int, int, bool]:
        """Return the numbers of the head and of the tail, and whether the statement denies the fact."""
        head, tail = HEAD.findall(statement), TAIL.findall(statement)
        template = TAIL.sub("[Y]", HEAD.sub("[X]", statement))
        return int(head[0]), int(tail[0]), self._is_denial[_fold(template)]

    def answer(self, model: str, statement: str, *, has_changed: bool) -> bool:
        """Return what the model says of a statement."""
        draw = int(hashlib.sha256(f"{model}\n{statement}".encode()).hexdigest()[:8], 16) % 100
        return self.is_true(statement) == (draw >= (CHANGED_ERRORS if has_changed else ERRORS)[model])


def _fold(text: str) -> str:
    return re.sub(r"[^\w\[\]]+", " ", text).strip().lower()


def serve_models(port: int) -> None:
    """Serve until the process is ended."""
    rules, asked, state = Rules(), list[tuple[float, str, str]](), {"has_changed": False}

    class Handler(QuietHandler):
        protocol_version = "HTTP/1.1"
        disable_nagle_algorithm = True

        def do_GET(self) -> None:
            self._send(asked if self.path == "/asked" else {})

        def do_POST(self) -> None:
            body = json.loads(self.rfile.read(int(self.headers["Content-Length"])))
            if self.path == "/change":
                state["has_changed"] = body
                self._send({})
                return
            model, prompt = body["model"], body["prompt"]
            asked.append((time.time(), model, prompt))
            statement = STATEMENT.findall(prompt)[-1]
            text = f" {rules.answer(model, statement, **state)}"
            self._send({"model": model, "choices": [{"index": 0, "text": text, "finish_reason": "stop"}]})

        def _send(self, body: object) -> None:
            content = json.dumps(body).encode()
            self.send_response(200)
            self.send_header("Content-Type", "application/json")
            self.send_header("Content-Length", str(len(content)))
            self.end_headers()
            self.wfile.write(content)

    class Server(LocalServer):
        daemon_threads = True

        def handle_error(self, *_: object) -> None:
            """Say nothing when a client is killed."""

    Server(("127.0.0.1", port), Handler).serve_forever()


if __name__ == "__main__":
    serve_models(int(sys.argv[1]))
