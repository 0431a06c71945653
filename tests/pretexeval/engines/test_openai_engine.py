import threading
import time

import pytest

from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.endpoint import (
    Body,
    EndpointReply,
    ask_endpoint,
    build_error,
    build_model_config,
    build_reply,
    serve_endpoint,
)
from tests.support.processes import find_free_port


def test_answers_keep_the_order_of_the_prompts() -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        time.sleep(0.02 * (number % 4))
        return build_reply(f"re {body['prompt']}")

    prompts = [f"p{i}" for i in range(20)]
    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, prompts, Sampling(), concurrency=8)
    assert [c.response for c in completions] == [f"re {p}" for p in prompts]
    assert {c.finish_reason for c in completions} == {"stop"}


def test_requests_are_concurrent() -> None:
    counting, are_all_open = threading.Lock(), threading.Event()
    n_now: list[int] = [0, 0]  # current and maximum number of open requests

    def answer(body: Body, number: int) -> EndpointReply:
        with counting:
            n_now[0] += 1
            n_now[1] = max(n_now)
            if n_now[0] == 16:
                are_all_open.set()
        # The first request is sent alone, to detect an endpoint that refuses.
        if number:
            are_all_open.wait(20)
        with counting:
            n_now[0] -= 1
        return build_reply("True")

    with serve_endpoint(answer) as endpoint:
        ask_endpoint(endpoint, ["p"] * 40, Sampling(), concurrency=16)
    assert n_now[1] == 16


@pytest.mark.parametrize("status", [408, 429, 500, 503])
def test_temporary_failure_is_retried(status: int) -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        return build_reply("True") if number >= 2 else build_error(status, "busy")

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["p"], Sampling(), max_attempts=3)
    assert completions == [Completion("True", finish_reason="stop")]
    assert len(endpoint.requests) == 3


def test_permanent_failure_of_one_prompt_leaves_the_others() -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        is_bad = body["prompt"] == "bad"
        return build_error(500, "crash") if is_bad else build_reply("True")

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["a", "bad", "b"], Sampling(), max_attempts=2)
    assert [c.response for c in completions] == ["True", None, "True"]
    assert completions[1].status == "error"
    assert "HTTP 500" in str(completions[1].error)
    assert [body["prompt"] for _, _, body in endpoint.requests].count("bad") == 2


def test_endpoint_that_is_down_is_one_clear_message() -> None:
    address = f"127.0.0.1:{find_free_port()}/v1"
    engine = load_engine(build_model_config(f"http://{address}", max_attempts=2))
    prompts = [Prompt("completion", "p")] * 100
    started_at = time.monotonic()
    with pytest.raises(InputError) as caught:
        engine.generate(prompts, Sampling())
    assert f"http://{address} gives no answer" in str(caught.value)
    assert "2 attempts" in str(caught.value)
    assert time.monotonic() - started_at < 3
    engine.close()


def test_request_without_an_answer_in_time_is_sent_as_often_as_configured() -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        if body["prompt"] == "slow":
            time.sleep(0.6)
        return build_reply("True")

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["a", "slow"], Sampling(), timeout_s=0.2, max_attempts=2)
    assert completions[0].response == "True"
    assert [body["prompt"] for _, _, body in endpoint.requests].count("slow") == 2
    assert completions[1].error == "no answer within 0.2 s"


def test_progress_reaches_the_number_of_prompts() -> None:
    done: list[int] = []
    with serve_endpoint(lambda body, number: build_reply("True")) as endpoint:
        engine = load_engine(build_model_config(endpoint.base_url))
        assert engine.generate([], Sampling(), done.append) == []
        engine.generate([Prompt("completion", "p")] * 5, Sampling(), done.append)
        engine.close()
    assert sum(done) == 5
