from dataclasses import replace

import pytest

from pretexeval.primitives.errors import InputError
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from tasks.asking.sampling import build_sampling
from tests.support.endpoint import (
    Body,
    EndpointReply,
    ask_endpoint,
    build_error,
    build_model_config,
    build_reply,
    reply_to_chat,
    serve_endpoint,
)

KEY = "sk-secret-0123456789"
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')


def test_sampling_is_sent() -> None:
    with serve_endpoint(lambda body, number: build_reply("True")) as endpoint:
        sampling = Sampling(max_tokens=3, temperature=0.5, seed=7, stop=("Statement",))
        ask_endpoint(endpoint, ["p"], sampling)
        ask_endpoint(endpoint, ["p"], Sampling(logprobs=True))
    (path, _, body), (_, _, with_logprobs) = endpoint.requests
    assert path == "/v1/completions"
    expected = {"model": "x", "prompt": "p", "max_tokens": 3, "temperature": 0.5, "seed": 7}
    assert body == expected | {"stop": ["Statement"]}
    assert with_logprobs["logprobs"] == 5


def test_parameters_are_added_renamed_and_left_out() -> None:
    config = build_model_config(
        "http://a/v1",
        extra_body={"reasoning_effort": "low", "chat_template_kwargs": {"enable_thinking": False}},
        rename={"max_tokens": "max_completion_tokens"},
        leave_out=["temperature", "stop"],
    )
    sampling = build_sampling(config, max_tokens=900, seed=7, stop=("Statement",))
    with serve_endpoint(lambda body, number: reply_to_chat({"content": "True"})) as endpoint:
        ask_endpoint(endpoint, [CHAT], sampling)
    (_, _, body), *_ = endpoint.requests
    expected = {"model": "x", "messages": [{"content": "Fever?", "role": "user"}], "seed": 7}
    expected |= {"max_completion_tokens": 900, "reasoning_effort": "low"}
    assert body == expected | {"chat_template_kwargs": {"enable_thinking": False}}


@pytest.mark.parametrize(
    ("message", "advice"),
    [
        (
            "Unsupported parameter: 'max_tokens' is not supported with this model. Use "
            "'max_completion_tokens' instead.",
            'set rename = { max_tokens = "max_completion_tokens" }',
        ),
        (
            "Unsupported value: 'temperature' does not support 0 with this model.",
            'leave_out = ["temperature"]',
        ),
        ("unknown field 'seed'", 'set leave_out = ["seed"]'),
        ("Unrecognized request argument supplied: effort", "change effort in extra_body"),
        ("logprobs are not supported with reasoning models", "set logprobs = false"),
        ("Invalid schema", None),
    ],
)
def test_refused_parameter_is_named_with_what_to_set(message: str, advice: str | None) -> None:
    sampling = Sampling(max_tokens=900, seed=7, logprobs=True, extra_body='{"effort":"low"}')
    refusal = EndpointReply(400, {"error": {"message": message, "code": "unsupported_parameter"}})
    with serve_endpoint(lambda body, number: refusal) as endpoint:
        error = str(ask_endpoint(endpoint, [CHAT], sampling)[0].error)
    assert message in error
    assert ("in the table of the model" in error) == (advice is not None)
    assert advice is None or advice in error


def test_chat_prompt_goes_to_the_chat_endpoint() -> None:
    top = [
        {"token": "True", "logprob": -0.25, "bytes": None},
        {"token": " True", "logprob": -4.0, "bytes": None},
        {"token": "Falsehood", "logprob": -2.0, "bytes": None},
    ]
    choice = {
        "index": 0,
        "finish_reason": "stop",
        "message": {"role": "assistant", "content": "True."},
        "logprobs": {"content": [{"token": "True", "logprob": -0.25, "top_logprobs": top}]},
    }
    usage = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
    with serve_endpoint(lambda b, n: EndpointReply(body={"choices": [choice], "usage": usage})) as endpoint:
        completions = ask_endpoint(endpoint, [CHAT], Sampling(logprobs=True))
    path, _, body = endpoint.requests[0]
    assert path == "/v1/chat/completions"
    assert body["messages"] == [{"content": "Fever?", "role": "user"}]
    assert completions == [Completion("True.", "ok", None, "stop", 11, 2, -0.25, None)]


@pytest.mark.parametrize(
    ("message", "finish_reason", "expected"),
    [
        ({"content": "True", "reasoning_content": "False?"}, "stop", Completion("True", reasoning="False?")),
        ({"content": "True", "reasoning": "False?"}, "stop", Completion("True", reasoning="False?")),
        ({"content": None, "reasoning": "False?"}, "length", Completion("", reasoning="False?")),
        ({"content": None}, "length", Completion("")),
        ({"content": None}, "stop", Completion("")),
        ({"content": "True", "reasoning_content": ""}, "stop", Completion("True")),
        (
            {
                "content": [
                    {"type": "thinking", "thinking": [{"type": "text", "text": "False?"}]},
                    {"type": "text", "text": "True"},
                ]
            },
            "stop",
            Completion("True", reasoning="False?"),
        ),
    ],
)
def test_reasoning_comes_apart_from_the_answer(
    message: dict[str, object], finish_reason: str, expected: Completion
) -> None:
    reply = reply_to_chat(message, finish_reason=finish_reason)
    with serve_endpoint(lambda body, number: reply) as endpoint:
        completions = ask_endpoint(endpoint, [CHAT], Sampling())
    assert completions == [replace(expected, finish_reason=finish_reason)]
    # A reply without content was paid for, so it is not asked for again.
    assert len(endpoint.requests) == 1


def test_name_and_fingerprint_of_what_answered_are_kept() -> None:
    served: list[dict[str, object]] = [
        {"model": "x-2026", "system_fingerprint": "fp_1"},
        {"model": "x-2026"},
        {"model": 7},
    ]

    def answer(body: Body, number: int) -> EndpointReply:
        reply = build_reply("True")
        assert isinstance(reply.body, dict)
        return EndpointReply(body=reply.body | served[number])

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["p"] * 3, Sampling(), concurrency=1)
    assert [c.served for c in completions] == ["x-2026, fp_1", "x-2026", None]


def test_log_probabilities_of_a_completion() -> None:
    top = {"tokens": [" True"], "top_logprobs": [{" True": -0.1, " False": -3.0, "True": -5.0}]}
    with serve_endpoint(lambda b, n: build_reply(" True", logprobs=top)) as endpoint:
        completion = ask_endpoint(endpoint, ["p"], Sampling(logprobs=True))[0]
    assert (completion.logprob_true, completion.logprob_false) == (-0.1, -3.0)


GARBAGE = [
    EndpointReply(body={"choices": []}),
    EndpointReply(body={"choices": None}),
    EndpointReply(body={"choices": [{"index": 0}]}),
    EndpointReply(body={"choices": ["text"]}),
    EndpointReply(body=[1, 2]),
    EndpointReply(body={}),
    build_reply(None),
    build_reply(17),
    EndpointReply(body="{not json"),
    EndpointReply(body="<html>It works!</html>", content_type="text/html"),
    EndpointReply(body=""),
]


@pytest.mark.parametrize("garbage", GARBAGE)
def test_garbage_for_one_prompt_is_an_error_row(garbage: EndpointReply) -> None:
    def answer(body: Body, number: int) -> EndpointReply:
        return garbage if body["prompt"] == "bad" else build_reply("True")

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["a", "bad", "b"], Sampling(), max_attempts=1)
    assert [c.status for c in completions] == ["ok", "error", "ok"]
    assert completions[1].response is None
    assert "answer" in str(completions[1].error)


def test_endpoint_that_only_answers_garbage_stops_the_run() -> None:
    with (
        serve_endpoint(lambda body, number: GARBAGE[0]) as endpoint,
        pytest.raises(InputError, match=r"gives no answer .*check that it is up"),
    ):
        ask_endpoint(endpoint, ["a", "b"], Sampling(), max_attempts=1)


@pytest.mark.parametrize(("status", "said"), [(401, "refuses the key"), (404, "does not know")])
def test_refusal_stops_the_run_at_once_and_hides_the_key(
    status: int, said: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setenv("PRETEXEVAL_TEST_KEY", KEY)
    refusal = build_error(status, f"Incorrect API key provided: {KEY}")
    with serve_endpoint(lambda body, number: refusal) as endpoint, pytest.raises(InputError) as caught:
        ask_endpoint(endpoint, ["a"] * 50, Sampling(), api_key_env="PRETEXEVAL_TEST_KEY")
    assert said in str(caught.value)
    assert KEY not in str(caught.value)
    # The first prompt and a throwaway prompt.
    assert [key for _, key, _ in endpoint.requests] == [f"Bearer {KEY}"] * 2


@pytest.mark.parametrize("status", [403, 422])
def test_key_is_in_no_error_row(status: int, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PRETEXEVAL_TEST_KEY", KEY)
    refusal = build_error(status, f"not for {KEY}")

    def answer(body: Body, number: int) -> EndpointReply:
        return refusal if body["prompt"] == "bad" else build_reply("True")

    with serve_endpoint(answer) as endpoint:
        completions = ask_endpoint(endpoint, ["a", "bad"], Sampling(), api_key_env="PRETEXEVAL_TEST_KEY")
    assert completions[1].status == "error"
    assert KEY not in str(completions[1].error)


@pytest.mark.parametrize(
    "message", ["This model's maximum context length is 256 tokens. However, …", "too many"]
)
def test_prompt_that_does_not_fit_is_an_error_row(message: str) -> None:
    refusal = EndpointReply(400, {"error": {"message": message, "code": "context_length_exceeded"}})

    def answer(body: Body, number: int) -> EndpointReply:
        return refusal if len(body["prompt"]) > 9 else build_reply("True")

    with serve_endpoint(answer) as endpoint:
        # The same holds for a single prompt: if it is too long, the endpoint is still in order.
        alone = ask_endpoint(endpoint, ["much too long"], Sampling())
        completions = ask_endpoint(endpoint, ["a", "much too long"], Sampling())
    assert [c.status for c in completions] == ["ok", "error"]
    assert alone == completions[1:]
    assert str(completions[1].error).startswith(PROMPT_TOO_LONG)
