"""An endpoint whose models think, each in its own way, and all give the same answers."""

import hashlib
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from tests.support.endpoint import Body, Endpoint, EndpointReply, reply_to_chat, serve_endpoint

Way = Callable[[str, str], EndpointReply]
"""Takes an answer and its opposite, which the model considers first."""


def think_in_parts(answer: str, other: str) -> EndpointReply:
    thought = {"type": "thinking", "thinking": [{"type": "text", "text": f"{other}?"}]}
    return reply_to_chat({"content": [thought, {"type": "text", "text": answer}]})


WAYS: dict[str, Way] = {
    "plain": lambda answer, _: reply_to_chat({"content": answer}),
    "field": lambda answer, other: reply_to_chat({"content": answer, "reasoning_content": f"{other}?"}),
    "short-field": lambda answer, other: reply_to_chat({"content": answer, "reasoning": f"{other}?"}),
    "parts": think_in_parts,
    "marks": lambda answer, other: reply_to_chat({"content": f"<think>{other}?</think>\n{answer}"}),
    "closing-mark": lambda answer, other: reply_to_chat({"content": f"{other}?</think> {answer}"}),
    "brackets": lambda answer, other: reply_to_chat({"content": f"[THINK]{other}?[/THINK] {answer}"}),
}
# Ways in which the thought of half of the prompts does not end.
UNFINISHED: dict[str, Way] = {
    "cut-field": lambda answer, other: reply_to_chat({"content": None, "reasoning": f"{other}"}),
    "cut-hidden": lambda answer, other: reply_to_chat({"content": None}),
    "cut-mark": lambda answer, other: reply_to_chat({"content": f"<think>{other}"}),
    "cut-template": lambda answer, other: reply_to_chat({"content": f"{other}"}),
}


@contextmanager
def serve_thinkers() -> Iterator[Endpoint]:
    """Run the endpoint; the name of the model says how it thinks.

    `vendor` knows max_tokens as max_completion_tokens and takes no temperature.
    """
    with serve_endpoint(_answer) as endpoint:
        yield endpoint


def _answer(body: Body, _: int) -> EndpointReply:
    name, prompt = body["model"], body["messages"][-1]["content"]
    bits = hashlib.sha256(prompt.encode()).digest()
    answer, other = ("True", "False") if bits[0] % 2 else ("False", "True")
    if name == "vendor":
        for parameter, instead in (
            ("max_tokens", " Use 'max_completion_tokens' instead."),
            ("temperature", ""),
        ):
            if parameter in body:
                message = f"Unsupported parameter: '{parameter}' is not supported with this model.{instead}"
                return EndpointReply(400, {"error": {"message": message, "code": "unsupported_parameter"}})
        return WAYS["plain"](answer, other)
    if name in UNFINISHED and bits[1] % 2:
        return _cut(UNFINISHED[name](answer, other))
    way = {"cut-template": "closing-mark"}.get(name, "plain" if name in UNFINISHED else name)
    reply = WAYS[way](answer, other)
    return _describe(reply, f"{name}-2026", f"fp_{bits[2] % 2}")


def _cut(reply: EndpointReply) -> EndpointReply:
    assert isinstance(reply.body, dict)
    (choice,) = reply.body["choices"]
    return EndpointReply(body=reply.body | {"choices": [choice | {"finish_reason": "length"}]})


def _describe(reply: EndpointReply, model: str, fingerprint: str) -> EndpointReply:
    assert isinstance(reply.body, dict)
    return EndpointReply(body=reply.body | {"model": model, "system_fingerprint": fingerprint})
