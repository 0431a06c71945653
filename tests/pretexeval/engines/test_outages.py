import asyncio
from contextlib import closing

import pytest

from pretexeval.engines import openai_engine
from pretexeval.engines.base import IncrementalEngine
from pretexeval.engines.loading import load_engine
from pretexeval.engines.openai_answers import Answer
from pretexeval.engines.openai_engine import MAX_OUTAGES, ask_through_outages
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.endpoint import (
    Body,
    Endpoint,
    EndpointReply,
    ask_endpoint,
    build_error,
    build_model_config,
    build_reply,
    serve_endpoint,
)

GONE = Answer(Completion(None, status="error", error="gone"), "unreachable")
GOOD = Answer(Completion("True"))
BUSY = build_error(503, "nobody is behind this gateway")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waiting times; a busy machine needs some seconds for a few requests."""
    monkeypatch.setattr(openai_engine, "PROBE_INTERVAL_S", 0.1)
    monkeypatch.setattr(openai_engine, "MAX_WAIT_S", 10.0)


def play(script: dict[int, list[Answer]], n_at_once: int = 1) -> tuple[dict[int, Answer], list[int], int]:
    """Return the answers, the numbers asked in order, and the number of waits."""
    answers: dict[int, Answer] = {}
    asked: list[int] = []
    waits: list[Answer] = []

    async def ask_next(number: int) -> Answer:
        asked.append(number)
        return script[number].pop(0)

    async def wait(silence: Answer) -> None:
        waits.append(silence)

    asyncio.run(
        ask_through_outages(
            ask_next, sorted(script), answers, keep=answers.__setitem__, n_at_once=n_at_once, wait=wait
        )
    )
    return answers, asked, len(waits)


def test_only_prompts_without_an_answer_are_asked_after_an_outage() -> None:
    answers, asked, n_waits = play({0: [GOOD], 1: [GONE, GOOD], 2: [GOOD]})
    assert asked == [0, 1, 1, 2]
    assert answers == dict.fromkeys(range(3), GOOD)
    assert n_waits == 1


def test_prompt_that_brings_the_endpoint_down_becomes_an_error() -> None:
    answers, asked, n_waits = play({0: [GOOD], 1: [GONE] * MAX_OUTAGES, 2: [GOOD]})
    assert answers == {0: GOOD, 1: GONE, 2: GOOD}
    assert asked.count(1) == n_waits == MAX_OUTAGES
    assert asked.count(2) == 1


@pytest.mark.parametrize(
    "absence",
    [
        BUSY,
        EndpointReply(502, "<html>"),
        build_reply("", finish_reason="abort"),
    ],
)
def test_engine_waits_for_an_unavailable_endpoint(
    absence: EndpointReply, caplog: pytest.LogCaptureFixture
) -> None:
    """The outage is longer than the client's retries. No answered prompt is asked again."""

    def answer(body: Body, number: int) -> EndpointReply:
        return absence if 4 <= number < 10 else build_reply(f"re {body['prompt']}")

    prompts = [f"p{i}" for i in range(10)]
    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, prompts, Sampling(), max_attempts=2, concurrency=1)
    assert [each.response for each in completions] == [f"re {prompt}" for prompt in prompts]
    answered = [body["prompt"] for n, (_, _, body) in enumerate(endpoint.requests) if not 4 <= n < 10]
    assert sorted(answered) == sorted([*prompts, "Hello"])
    assert "waiting up to 10 s" in caplog.text


def ask_until_error(endpoint: Endpoint, message: str) -> dict[int, Completion]:
    """Ask six prompts one after the other; return the answers before the expected error."""
    engine = load_engine(build_model_config(endpoint.base_url, max_attempts=1, concurrency=1))
    assert isinstance(engine, IncrementalEngine)
    received: dict[int, Completion] = {}
    prompts = [Prompt("completion", f"p{i}") for i in range(6)]
    with closing(engine), pytest.raises(InputError, match=message):
        engine.generate_into(received, prompts, Sampling(), lambda _: None)
    return received


def test_lasting_outage_raises_an_error_with_the_answers_so_far(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(openai_engine, "MAX_WAIT_S", 0.5)
    with serve_endpoint(lambda _, n: build_reply("True") if n < 3 else BUSY) as endpoint:
        received = ask_until_error(endpoint, "gives no answer .* then a wait of 0.5 s")
    assert set(received) == {0, 1, 2}


def test_key_refused_in_the_middle_keeps_the_answers_so_far() -> None:
    refusal = build_error(401, "expired")
    with serve_endpoint(lambda _, n: build_reply("True") if n < 3 else refusal) as endpoint:
        received = ask_until_error(endpoint, "refuses the key")
    assert set(received) == {0, 1, 2}


def test_a_chat_endpoint_is_probed_in_its_own_style() -> None:
    """The model thinks first, so its reply to the probe, which is one token long, is empty."""

    def answer(body: Body, number: int) -> EndpointReply:
        content = "True" if body["max_tokens"] > 1 else None
        message = {"role": "assistant", "content": content}
        choice = {"index": 0, "finish_reason": "stop", "message": message}
        return BUSY if number == 1 else EndpointReply(body={"choices": [choice]})

    with serve_endpoint(answer) as endpoint:
        prompts = [Prompt("chat", f'[{{"content":"{i}","role":"user"}}]') for i in range(3)]
        completions = ask_endpoint(endpoint, prompts, Sampling(), max_attempts=1, concurrency=1)
    assert [each.response for each in completions] == ["True"] * 3
    assert {path for path, _, _ in endpoint.requests} == {"/v1/chat/completions"}
