"""Endpoints that break HTTP: an answer belongs to its prompt, and what may be paid for is not sent again."""

from pathlib import Path
from tempfile import TemporaryDirectory

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

from pretexeval.config.tables import StorageConfig
from pretexeval.engines import openai_answers, openai_engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.store import Store
from schemas.exchange import Sampling
from tasks.asking.model_session import ModelSession
from tests.support.endpoint import build_model_config
from tests.support.raw_endpoint import (
    RawEndpoint,
    RawReply,
    build_prompts,
    render_answer,
    render_reply,
    serve_bytes,
)

Rows = dict[str, tuple[str, str | None]]
"""Prompt -> status and response."""


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waiting times."""
    monkeypatch.setattr(openai_engine, "PROBE_INTERVAL_S", 0.02)
    monkeypatch.setattr(openai_answers, "FIRST_PAUSE_S", 0.01)


def ask(endpoint: RawEndpoint, texts: list[str], concurrency: int) -> Rows:
    """Ask the prompts in one session of its own folder; return the rows that it stored."""
    config = build_model_config(endpoint.base_url, timeout_s=3, concurrency=concurrency)
    with TemporaryDirectory() as folder:
        with ModelSession(config, Store(StorageConfig(root=Path(folder)))) as session:
            try:
                session.ask(build_prompts(*texts), Sampling(), lambda _: None)
            except InputError as error:
                # A run without any usable answer says so.
                assert "gives no answer" in str(error)  # noqa: PT017
        found = session.store.read(["prompt", "status", "response"])
    return {prompt: (status, response) for prompt, status, response in found.iter_rows()}


def answer(prompt: str) -> bytes:
    return render_answer(f"re {prompt}", "keep-alive")


# Each replaces a part of a good reply.
ILLEGAL = {
    "a status that is no number": (b"HTTP/1.1 200", b"HTTP/1.1 2x0"),
    "another protocol": (b"HTTP/1.1", b"ICY"),
    "a header without a colon": (b"Content-Type: ", b"Content Type "),
    "a space before the colon": (b"Content-Type:", b"Content-Type :"),
    "a header without a name": (b"Content-Type:", b":"),
    "a byte that no header holds": (b"Content-Type: ", b"Content-Type: \x00"),
    "a length that is no number": (b"Content-Length: ", b"Content-Length: x"),
    "two lengths": (b"Content-Type: application/json", b"Content-Length: 3"),
    "an unknown coding": (b"Content-Type: application/json", b"Transfer-Encoding: odd"),
    "a header of 200 kB": (b"Content-Type: ", b"X: " + b"x" * 200_000 + b"\r\nContent-Type: "),
}


@pytest.mark.parametrize("fault", ILLEGAL)
def test_a_reply_with_an_illegal_header_is_not_asked_for_again(fault: str) -> None:
    old, new = ILLEGAL[fault]
    broken = RawReply(answer("p2").replace(old, new, 1))
    assert broken.content != answer("p2")
    with serve_bytes(lambda p, _: broken if p == "p2" else RawReply(answer(p))) as endpoint:
        rows = ask(endpoint, [f"p{n}" for n in range(6)], concurrency=2)
    assert rows.pop("p2")[0] == "error"
    assert rows == {f"p{n}": ("ok", f"re p{n}") for n in (0, 1, 3, 4, 5)}
    assert endpoint.asked == dict.fromkeys((f"p{n}" for n in range(6)), 1)


@pytest.mark.parametrize("status", [400, 401, 500, 503])
@pytest.mark.parametrize("fault", ["cut off", "not compressed"])
def test_a_status_counts_although_its_body_is_broken(status: int, fault: str) -> None:
    headers = {"Content-Length": "90"} if fault == "cut off" else {"Content-Encoding": "gzip"}
    refusal = RawReply(render_reply(status, headers, b'{"error": '))

    def reply(prompt: str, n_before: int) -> RawReply:
        return refusal if prompt == "p2" and n_before == 0 else RawReply(answer(prompt))

    with serve_bytes(reply) as endpoint:
        rows = ask(endpoint, [f"p{n}" for n in range(6)], concurrency=2)
    is_refused = status in (400, 401)
    assert rows["p2"] == (("error", None) if is_refused else ("ok", "re p2"))
    assert endpoint.asked["p2"] == (1 if is_refused else 2)


OTHER = render_answer("re another prompt", "keep-alive")


@st.composite
def misbehave(draw: st.DrawFn, prompt: str) -> RawReply:
    """Return the reply to a prompt: good, illegal or cut off, and perhaps one more that nobody asked for."""
    content = answer(prompt)
    kind = draw(st.sampled_from(["good", "good", "illegal", "cut", "interim", "rejected", "closed"]))
    if kind == "illegal":
        content = content.replace(*draw(st.sampled_from(list(ILLEGAL.values()))), 1)
    elif kind == "cut":
        content = content[: draw(st.integers(1, len(content) - 1))]
    elif kind == "interim":
        content = b"HTTP/1.1 102 Processing\r\n\r\n" * draw(st.integers(1, 3)) + content
    elif kind == "rejected":
        content = render_reply(draw(st.sampled_from([400, 422])), {}, b"{}", "keep-alive")
    elif kind == "closed":
        return RawReply(b"")
    unasked = draw(
        st.sampled_from([b"", OTHER, OTHER[:90], b"\r\n\r\n", b"HTTP/1.1 102 X\r\n\r\n", OTHER * 3])
    )
    return RawReply(content, unasked=unasked, unasked_s=draw(st.sampled_from([0, 0, 0.01])), keeps=True)


@given(data=st.data(), concurrency=st.integers(1, 4))
@settings(
    max_examples=8,
    phases=[Phase.explicit, Phase.reuse, Phase.generate],
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)
def test_an_answer_belongs_to_its_prompt_and_nothing_that_began_is_sent_again(
    data: st.DataObject, concurrency: int
) -> None:
    texts = [f"p{n}" for n in range(10)]
    replies = {text: data.draw(misbehave(text), text) for text in texts}

    def reply(prompt: str, n_before: int) -> RawReply:
        # An endpoint that closes the connection without a byte is asked again, and answers then.
        is_good = prompt not in replies or (n_before and not replies[prompt].content)
        return RawReply(answer(prompt)) if is_good else replies[prompt]

    with serve_bytes(reply) as endpoint:
        rows = ask(endpoint, texts, concurrency)
    assert {response for _, response in rows.values()} <= {None, *(f"re {text}" for text in texts)}
    for text, (status, response) in rows.items():
        assert response == (f"re {text}" if status == "ok" else None)
        assert status == "ok" or replies[text].content not in (b"", answer(text))
    asked_again = {text for text in texts if endpoint.asked[text] > 1}
    assert asked_again <= {text for text in texts if not replies[text].content}
