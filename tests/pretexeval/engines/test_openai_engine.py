"""The engine for endpoints of the OpenAI protocol: what it sends, reads, retries, and keeps secret."""

import asyncio
import os
import resource
import threading
import time
from contextlib import closing

import pytest

from pretexeval.engines import openai_engine
from pretexeval.engines.base import Engine
from pretexeval.engines.loading import load_engine
from pretexeval.engines.openai_answers import Answer, find_pause_of_limit
from pretexeval.engines.openai_engine import MAX_OUTAGES, ask_through_outages
from pretexeval.engines.spending import TEMPLATE_TOKENS
from pretexeval.primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from tests.support.endpoint import (
    Body,
    Endpoint,
    EndpointReply,
    ask_endpoint,
    build_error,
    build_model_config,
    build_reply,
    reply_to_chat,
    serve_endpoint,
)
from tests.support.processes import find_free_port

KEY = "sk-secret-0123456789"
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')
TRUE = build_reply("True")
BUSY = build_error(503, "nobody is behind this gateway")


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waiting times; a busy machine needs some seconds for a few requests."""
    monkeypatch.setattr(openai_engine, "PROBE_INTERVAL_S", 0.1)
    monkeypatch.setattr(openai_engine, "MAX_WAIT_S", 10.0)
    monkeypatch.setenv("PRETEXEVAL_TEST_KEY", KEY)


def list_texts(endpoint: Endpoint) -> list[str]:
    """Return the prompts of all requests, in their order."""
    return [body["prompt"] for _, _, body in endpoint.requests]


def test_sampling_is_sent_and_parameters_are_added_renamed_and_left_out() -> None:
    config = build_model_config(
        "http://a/v1",
        extra_body={"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
        rename={"max_tokens": "max_completion_tokens"},
        leave_out=["temperature", "stop"],
    )
    changed = config.adapt(Sampling(max_tokens=900, seed=7, stop=("Statement",)))
    plain = Sampling(max_tokens=3, temperature=0.5, seed=7, stop=("Statement",))
    with serve_endpoint(
        lambda body, number: TRUE if number != 1 else reply_to_chat({"content": "a"})
    ) as endpoint:
        ask_endpoint(endpoint, ["p"], plain)
        ask_endpoint(endpoint, [CHAT], changed)
        ask_endpoint(endpoint, ["p"], Sampling(logprobs=True))
    (path, _, first), (_, _, second), (_, _, third) = endpoint.requests
    assert path == "/v1/completions"
    sent = {"model": "x", "seed": 7, "stream": False}
    own = {"prompt": "p", "max_tokens": 3, "temperature": 0.5, "stop": ["Statement"]}
    assert first == sent | own
    sent |= {"messages": [{"content": "Fever?", "role": "user"}], "max_completion_tokens": 900}
    added = {"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}}
    assert second == sent | added
    assert third["logprobs"] == 5


OTHER_NAME = "'max_tokens' is not supported with this model. Use 'max_completion_tokens' instead."


def test_refused_parameter_is_named_with_what_to_set() -> None:
    cases: list[tuple[str, str | None]] = [
        (f"Unsupported parameter: {OTHER_NAME}", 'set rename = { max_tokens = "max_completion_tokens" }'),
        ("Unsupported value: 'temperature' does not support 0 here.", 'leave_out = ["temperature"]'),
        ("unknown field 'seed'", 'set leave_out = ["seed"]'),
        ("Unrecognized request argument supplied: effort", "change effort in extra_body"),
        ("logprobs are not supported with reasoning models", "set logprobs = false"),
        ("Invalid schema", None),
    ]
    for message, advice in cases:
        sampling = Sampling(max_tokens=900, seed=7, logprobs=True, extra_body='{"effort":"low"}')
        refusal = EndpointReply(400, {"error": {"message": message, "code": "unsupported_parameter"}})
        with serve_endpoint(lambda *_, refusal=refusal: refusal) as endpoint:
            error = str(ask_endpoint(endpoint, [CHAT], sampling)[0].error)
        assert message in error, message
        assert ("in the table of the model" in error) == (advice is not None), message
        assert advice is None or advice in error, message


def test_an_endpoint_that_sends_only_garbage_stops_the_run() -> None:
    garbage = EndpointReply(body={"choices": []})
    with serve_endpoint(lambda body, _: TRUE if body["prompt"] == "a" else garbage) as endpoint:
        first, bad = ask_endpoint(endpoint, ["a", "b"], Sampling(), max_attempts=1)
    assert (first.status, bad.status, bad.response) == ("ok", "error", None)
    with (
        serve_endpoint(lambda *_: garbage) as endpoint,
        pytest.raises(InputError, match=r"gives no answer .*check that it is up"),
    ):
        ask_endpoint(endpoint, ["a", "b"], Sampling(), max_attempts=1)


@pytest.mark.parametrize(("status", "said"), [(401, "refuses the key"), (404, "does not know")])
def test_refusal_stops_the_run_at_once_and_hides_the_key(status: int, said: str) -> None:
    refusal = build_error(status, f"Incorrect API key provided: {KEY}")
    with serve_endpoint(lambda body, number: refusal) as endpoint, pytest.raises(InputError) as caught:
        ask_endpoint(endpoint, ["a"] * 50, Sampling(), api_key_env="PRETEXEVAL_TEST_KEY")
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    # The first prompt and a throwaway prompt.
    assert [key for _, key, _ in endpoint.requests] == [f"Bearer {KEY}"] * 2


def test_prompt_that_does_not_fit_is_an_error_row() -> None:
    for message in ("This model's maximum context length is 256 tokens. However, …", "too many"):
        refusal = EndpointReply(400, {"error": {"message": message, "code": "context_length_exceeded"}})

        def answer(body: Body, _: int, refusal: EndpointReply = refusal) -> EndpointReply:
            return refusal if len(body["prompt"]) > 9 else TRUE

        with serve_endpoint(answer) as endpoint:
            # The same holds for a single prompt: if it is too long, the endpoint is still in order.
            alone = ask_endpoint(endpoint, ["much too long"], Sampling())
            completions = ask_endpoint(endpoint, ["a", "much too long"], Sampling())
        assert [c.status for c in completions] == ["ok", "error"]
        assert alone == completions[1:]
        assert str(completions[1].error).startswith(PROMPT_TOO_LONG)


def test_temporary_failure_is_retried() -> None:
    statuses = [408, 429, 500, 503]
    failures = [build_error(status, "busy") for status in statuses]
    with serve_endpoint(lambda body, number: [*failures, TRUE][number]) as endpoint:
        completions = ask_endpoint(endpoint, ["p"], Sampling(), max_attempts=5)
    assert completions == [Completion("True", finish_reason="stop")]
    assert len(endpoint.requests) == 5


def test_an_endpoint_that_asks_for_no_pause_again_and_again_is_given_longer_ones() -> None:
    pauses = [find_pause_of_limit(0.0, n, 1.0, max_attempts=5, has_answered=True) for n in (1, 5, 9, 40)]
    assert pauses == [0.02, 0.32, 5.12, 8.0]


def test_endpoint_that_is_down_is_one_clear_message() -> None:
    address = f"127.0.0.1:{find_free_port()}/v1"
    started_at = time.monotonic()
    with (
        closing(load_engine(build_model_config(f"http://{address}", max_attempts=2))) as engine,
        pytest.raises(InputError, match=f"http://{address} gives no answer .*2 attempts"),
    ):
        engine.generate([Prompt("completion", "p")] * 100, Sampling())
    assert time.monotonic() - started_at < 3


def test_request_without_an_answer_in_time_is_sent_as_often_as_configured() -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        if body["prompt"] == "slow":
            time.sleep(0.6)
        return TRUE

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["a", "slow"], Sampling(), timeout_s=0.2, max_attempts=2)
    assert completions[0].response == "True"
    assert list_texts(endpoint).count("slow") == 2
    assert completions[1].error == "no answer within 0.2 s"


GONE = Answer(Completion(None, status="error", error="gone"), "unreachable")
GOOD = Answer(Completion("True"))


@pytest.mark.parametrize(
    ("said", "n_at_once", "n_waits"),
    [
        ([[GOOD], [GONE, GOOD], [GOOD]], 1, 1),
        # A prompt that brings the endpoint down each time becomes an error.
        ([[GOOD], [GONE] * MAX_OUTAGES, [GOOD]], 1, MAX_OUTAGES),
        # Every prompt of an outage counts it.
        ([[GONE] * MAX_OUTAGES] * 2, 2, MAX_OUTAGES),
    ],
)
def test_only_a_prompt_without_an_answer_is_asked_after_an_outage_and_not_for_ever(
    said: list[list[Answer]], n_at_once: int, n_waits: int
) -> None:
    answers, numbers, waits = dict[int, Answer](), list[int](), list[Answer]()

    async def ask_next(prompt: Prompt) -> Answer:
        number = int(prompt.text)
        numbers.append(number)
        await asyncio.sleep(0)
        return said[number][numbers.count(number) - 1]

    async def wait(_: Prompt, silence: Answer) -> None:
        waits.append(silence)

    keep, asked = answers.__setitem__, range(len(said))
    prompts = ((number, Prompt("completion", str(number))) for number in asked)
    asyncio.run(ask_through_outages(ask_next, prompts, keep=keep, n_at_once=n_at_once, wait=wait))
    assert answers == {number: replies[-1] for number, replies in enumerate(said)}
    assert [numbers.count(number) for number in asked] == [len(replies) for replies in said]
    assert len(waits) == n_waits


@pytest.mark.parametrize(
    "absence", [BUSY, EndpointReply(502, "<html>"), build_reply("", finish_reason="abort")]
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
    texts = list_texts(endpoint)
    assert sorted(texts[:4] + texts[10:]) == sorted([*prompts, "Hello"])
    assert "waiting up to 10 s" in caplog.text


@pytest.mark.parametrize(
    ("refusal", "message"),
    [(BUSY, "gives no answer .* then a wait of 0.5 s"), (build_error(401, "expired"), "refuses the key")],
)
def test_an_endpoint_that_stays_away_leaves_the_answers_so_far(
    monkeypatch: pytest.MonkeyPatch, refusal: EndpointReply, message: str
) -> None:
    monkeypatch.setattr(openai_engine, "MAX_WAIT_S", 0.5)
    received: dict[int, Completion] = {}
    prompts = [Prompt("completion", f"p{i}") for i in range(6)]
    with serve_endpoint(lambda _, n: TRUE if n < 3 else refusal) as endpoint:
        engine = load_engine(build_model_config(endpoint.base_url, max_attempts=1, concurrency=1))
        assert isinstance(engine, Engine)
        with closing(engine), pytest.raises(InputError, match=message):
            engine.answer(prompts, Sampling(), received.__setitem__, lambda: None)
    assert set(received) == {0, 1, 2}


def test_no_request_is_sent_that_could_cost_more_than_the_limit() -> None:
    prompts = [Prompt("completion", f"prompt {i:04}") for i in range(200)]
    usage = {"prompt_tokens": 40, "completion_tokens": 2}
    reply = EndpointReply(body={"choices": [{"index": 0, "text": "True"}], "usage": usage})
    bound, cost = len("prompt 0000") + TEMPLATE_TOKENS + 2 * 8, 40 + 2 * 2
    limits = {"price_input": 1e6, "price_output": 2e6, "max_cost": bound + 99 * cost}
    received: dict[int, Completion] = {}
    with serve_endpoint(lambda *_: reply) as endpoint:
        engine = load_engine(build_model_config(endpoint.base_url, concurrency=8, **limits))
        assert isinstance(engine, Engine)
        message = r"100 answers have cost 4400\); the answers are kept"
        with closing(engine), pytest.raises(InputError, match=message):
            engine.answer(prompts, Sampling(max_tokens=8), received.__setitem__, lambda: None)
    assert len(received) == len(endpoint.requests) == 100


def test_a_request_that_fails_may_cost_what_it_could_at_most() -> None:
    prompt = Prompt("completion", "p")
    bound = 1 + TEMPLATE_TOKENS + 8
    limits = {"price_input": 1e6, "price_output": 1e6, "max_cost": 2.5 * bound}
    with serve_endpoint(lambda *_: EndpointReply(200, "no JSON")) as endpoint:
        engine = load_engine(build_model_config(endpoint.base_url, max_attempts=1, concurrency=1, **limits))
        with closing(engine), pytest.raises(InputError):
            engine.generate([prompt] * 9, Sampling(max_tokens=8))
    assert len(endpoint.requests) == 2


def test_a_chat_endpoint_is_probed_in_its_own_style() -> None:
    """The model thinks first, so its reply to the probe, which is one token long, is empty."""

    def answer(body: Body, number: int) -> EndpointReply:
        content = "True" if body["max_tokens"] > 1 else None
        return BUSY if number == 1 else reply_to_chat({"content": content})

    with serve_endpoint(answer) as endpoint:
        prompts = [Prompt("chat", f'[{{"content":"{i}","role":"user"}}]') for i in range(3)]
        completions = ask_endpoint(endpoint, prompts, Sampling(), max_attempts=1, concurrency=1)
    assert [each.response for each in completions] == ["True"] * 3
    assert {path for path, _, _ in endpoint.requests} == {"/v1/chat/completions"}


def test_more_requests_are_open_than_the_system_allows_files_and_answers_keep_their_order() -> None:
    n, all_are_open, counting = 120, threading.Barrier(120), threading.Lock()
    n_open: list[int] = [0, 0]  # current and maximum number of open requests

    def reply(body: Body, number: int) -> EndpointReply:
        with counting:
            n_open[0] += 1
            n_open[1] = max(n_open)
        # The first request is sent alone, to detect an endpoint that refuses.
        if 0 < number <= n:
            all_are_open.wait(60)
            time.sleep(0.02 * (number % 4))
        with counting:
            n_open[0] -= 1
        return build_reply(f"re {body['prompt']}")

    limits = resource.getrlimit(resource.RLIMIT_NOFILE)
    # The server is in this process, too, so each request takes two files beside those of other tests.
    n_files = len(os.listdir("/proc/self/fd"))
    resource.setrlimit(resource.RLIMIT_NOFILE, (n_files + n + n // 2, limits[1]))
    prompts = [Prompt("completion", f"p{k}") for k in range(n + 20)]
    try:
        with serve_endpoint(reply) as endpoint:
            config = build_model_config(endpoint.base_url, concurrency=n, max_attempts=1, timeout_s=60)
            with closing(load_engine(config)) as engine:
                assert engine.generate([], Sampling()) == []
                completions = engine.generate(prompts, Sampling())
    finally:
        resource.setrlimit(resource.RLIMIT_NOFILE, limits)
    assert [completion.response for completion in completions] == [f"re {each.text}" for each in prompts]
    assert (n_open[1], len(endpoint.requests)) == (n, len(prompts))
