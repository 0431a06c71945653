"""Replies of endpoints in all their forms: streams that nobody asked for, echoes, thoughts and refusals."""

import json
from dataclasses import replace
from typing import Any

import pytest

from pretexeval.engines.openai_engine import OpenaiEngine
from pretexeval.engines.openai_replies import AbortedAnswerError, UnreadableAnswerError, read_completion
from pretexeval.primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling
from tests.support.endpoint import Body, EndpointReply, ask_endpoint, build_model_config, serve_endpoint
from tests.support.raw_endpoint import RawReply, serve_bytes

KEY = "sk-0123456789-abcdefghij"
CHAT = Prompt("chat", '[{"content":"Fever?","role":"user"}]')
PLAIN = Prompt("completion", "Q: Is fever a symptom?\nA:")
DONE = "data: [DONE]\n\n"
TRUE = Completion("True", finish_reason="stop")
THOUGHT = replace(TRUE, reasoning="So?")


HEAD = b"HTTP/1.1 200 X\r\nContent-Type: text/event-stream\r\nConnection: close\r\n\r\n"


def event(delta: Body | None = None, end: str | None = None, **more: object) -> str:
    """Return an event with a chunk of a chat reply."""
    choice = {"index": 0, "delta": delta or {}, "finish_reason": end}
    return f"data: {json.dumps({'model': None, 'choices': [choice | more]})}\n\n"


def carry(value: object) -> str:
    """Return an event with any JSON value."""
    return f"data: {json.dumps(value)}\n\n"


def render_whole(message: Body, end: str | None = "stop") -> str:
    """Return a chat reply that comes as a whole."""
    return json.dumps({"choices": [{"index": 0, "message": message, "finish_reason": end}]})


def render_parts(*parts: object) -> str:
    """Return a chat reply whose content is a list of parts."""
    return render_whole({"content": list(parts)})


ROLE = event({"role": "assistant", "content": ""})
WORDS = event({"content": "Tr"}) + event({"content": "ue"})
END = event(end="stop")
USAGE = carry({"choices": [], "usage": {"prompt_tokens": 9, "completion_tokens": 2}, "model": "m"})
COUNTED = replace(TRUE, n_prompt_tokens=9, n_completion_tokens=2, served="m")
TOP = {"content": [{"top_logprobs": [{"token": "True", "logprob": -0.5}]}]}
SECOND = event({"content": "False"}, "stop", index=1)
ERROR = carry({"error": {"message": f"overloaded {KEY}"}})
TEXTS = [
    carry({"choices": [{"text": text, "finish_reason": end}]}) for text, end in ((" T", None), ("", "length"))
]
PLAIN_TOP = {"top_logprobs": [{" True": -0.1}]}
FIRST_TOKEN = carry({"choices": [{"text": " True", "logprobs": PLAIN_TOP, "finish_reason": "stop"}]})
THINKING = {"type": "thinking", "thinking": [{"type": "text", "text": "So?"}]}
TEXT = {"type": "text", "text": "True"}

LINES = "".join(f"data: {line}\n" for line in json.dumps(json.loads(END[6:]), indent=1).split("\n"))
REASONED = Completion("", finish_reason="length", reasoning="So?")
REFUSED, FILTERED = (Completion("", finish_reason=reason) for reason in ("refusal", "content_filter"))
NO_TOKEN = event({"content": ""}, logprobs={"content": []})
HALVES = event({"reasoning_content": "So"}) + event({"reasoning_content": "?"})

STREAMS: dict[str, tuple[str, Completion]] = {
    "plain": (ROLE + WORDS + END + DONE, TRUE),
    "one chunk": (event({"content": "True"}, "stop") + DONE, TRUE),
    "comments that keep it open": (": PROCESSING\n\n" + WORDS + ":\n\n" + END + DONE, TRUE),
    "words and empty lines that keep it open": ("data: ping\n\ndata:\n\n" + WORDS + END + DONE, TRUE),
    "CRLF": ((WORDS + END + DONE).replace("\n", "\r\n"), TRUE),
    "CR": ((WORDS + END + DONE).replace("\n", "\r"), TRUE),
    "byte order mark": ("\ufeff" + WORDS + END + DONE, TRUE),
    "no space after the colon": ((WORDS + END + DONE).replace("data: ", "data:"), TRUE),
    "no empty line between events": ((WORDS + END + DONE).replace("\n\n", "\n"), TRUE),
    "JSON over several lines": (WORDS + LINES + DONE, TRUE),
    "other fields": ("event: message\nid: 7\nretry: 10\n" + WORDS + END + DONE, TRUE),
    "usage alone at the end": (WORDS + END + USAGE + DONE, COUNTED),
    "no end of the stream": (WORDS + END, TRUE),
    "no end of the choice": (WORDS + event(end="") + DONE, replace(TRUE, finish_reason=None)),
    "cut off in the usage": (WORDS + END + USAGE[:30], TRUE),
    "a whole answer, then an end": (render_whole({"content": "True"}) + "\n\n" + DONE, TRUE),
    "a whole message in an event": (carry(json.loads(render_whole({"content": "True"}))) + DONE, TRUE),
    "a whole message after its words": (WORDS + event(end="stop", message={"content": "True"}), TRUE),
    "several choices": (SECOND + WORDS + END + DONE, TRUE),
    "reasoning_content": (HALVES + WORDS + END, THOUGHT),
    "reasoning": (event({"reasoning": "So?", "content": None}) + WORDS + END, THOUGHT),
    "thinking": (event({"thinking": "So?"}) + WORDS + END, THOUGHT),
    "parts, then texts": (event({"content": [THINKING]}) + WORDS + END, THOUGHT),
    "nothing but a thought": (event({"reasoning": "So?"}) + event(end="length"), REASONED),
    "log-probabilities of the first token": (
        ROLE + event({"content": "True"}, "stop", logprobs=TOP) + NO_TOKEN,
        replace(TRUE, logprob_true=-0.5),
    ),
    "a refusal": (event({"refusal": "I "}) + event({"refusal": "cannot."}) + END, REFUSED),
    "a filter": (WORDS + event(end="content_filter") + DONE, replace(TRUE, finish_reason="content_filter")),
    "no JSON object": (carry(None) + carry([1]) + WORDS + END, TRUE),
}


@pytest.mark.parametrize("name", STREAMS)
def test_a_stream_is_read_as_the_answer_that_it_would_be_as_a_whole(name: str) -> None:
    content, expected = STREAMS[name]
    assert read_completion(content.encode(), CHAT, str) == expected


def test_log_probabilities_tokens_and_names_are_those_of_the_answer() -> None:
    values = {"True": -0.25, " True": -4.0, "Falsehood": -2.0}
    tops = [{"token": text, "logprob": value} for text, value in values.items()]
    choice = {"message": {"content": "True."}, "logprobs": {"content": [{"top_logprobs": tops}]}}
    usage = {"prompt_tokens": 11, "completion_tokens": 2, "total_tokens": 13}
    reply = {"choices": [choice], "usage": usage, "model": "x-2026", "system_fingerprint": "fp_1"}
    said = read_completion(json.dumps(reply).encode(), CHAT, str)
    assert said == Completion("True.", "ok", None, None, 11, 2, -0.25, None, None, "x-2026, fp_1")
    top = {"top_logprobs": [{" True": -0.1, " False": -3.0, "True": -5.0}]}
    reply = {"choices": [{"text": " True", "logprobs": top}], "model": "x-2026"}
    said = read_completion(json.dumps(reply).encode(), PLAIN, str)
    assert said == Completion(" True", "ok", None, None, None, None, -0.1, -3.0, None, "x-2026")


def test_the_stream_of_a_completion_is_read() -> None:
    said = read_completion("".join(TEXTS).encode(), PLAIN, str)
    assert said == Completion(" T", finish_reason="length")
    assert read_completion(FIRST_TOKEN.encode(), PLAIN, str).logprob_true == -0.1


BROKEN = {
    "cut off between events": ROLE + WORDS,
    "cut off in an event": WORDS + END[:40],
    "cut off at once": "data: ",
    "another choice is complete": WORDS + SECOND,
    "an error after words": WORDS + ERROR + DONE,
    "an error at the start": ERROR,
    "vLLM's error": carry({"object": "error", "message": KEY}) + DONE,
    "an error page": WORDS + "<html>Bad gateway</html>",
    "no choice": USAGE + DONE,
    "several messages": event(message={"content": "Tr"}) + event(end="stop", message={"content": "ue"}),
    "no stream and no JSON": 'metadata: {"choices": []}',
    "a plain text": "True",
    "an empty list of choices": '{"choices": []}',
    "null for the choices": '{"choices": null}',
    "a choice without a message": '{"choices": [{"index": 0}]}',
    "a text for a choice": '{"choices": ["text"]}',
    "a list": "[1, 2]",
    "a number for a text": render_whole({"content": 17}),
    "half of an object": "{not json",
    "a page": "<html>It works!</html>",
    "nothing": "",
}


@pytest.mark.parametrize("name", BROKEN)
def test_a_stream_without_its_end_or_with_an_error_is_no_answer(name: str) -> None:
    with pytest.raises(UnreadableAnswerError) as caught:
        read_completion(BROKEN[name].encode(), CHAT, lambda text: text.replace(KEY, "*"))
    assert KEY not in str(caught.value)
    assert ("overloaded" in str(caught.value)) == ("overloaded" in BROKEN[name])


def test_a_stream_that_the_server_aborts_is_asked_for_again() -> None:
    with pytest.raises(AbortedAnswerError):
        read_completion((WORDS + event(end="abort")).encode(), CHAT, str)


def test_thoughts_refusals_and_filters_are_told_from_the_answer() -> None:
    cases: list[tuple[str, Completion]] = [
        (render_whole({"content": "True", "reasoning_content": "So?"}), THOUGHT),
        (render_whole({"content": "True", "reasoning": "So?"}), THOUGHT),
        (render_whole({"content": "True", "reasoning_content": ""}), TRUE),
        # It was paid for, so it is an answer.
        (render_whole({"content": None}, "length"), replace(REASONED, reasoning=None)),
        (render_parts(THINKING, TEXT), THOUGHT),
        (render_parts({"type": "reasoning", "text": "So?"}, "True"), THOUGHT),
        (render_parts({"reasoning": "So?"}, {"type": "output_text", "text": {"value": "True"}}), THOUGHT),
        (render_parts({"type": "refusal", "refusal": "No."}), REFUSED),
        (render_whole({"content": None, "refusal": "No."}), REFUSED),
        (render_whole({"content": "True", "refusal": "No."}), TRUE),
        (render_whole({"content": "True", "refusal": ""}), TRUE),
        (render_whole({"refusal": "No."}, None), REFUSED),
        (render_whole({"refusal": "No."}, "content_filter"), FILTERED),
        (render_whole({}, "content_filter"), FILTERED),
        (render_whole({"thinking": "So?"}, "length"), REASONED),
        ('{"choices": [{"finish_reason": "content_filter"}]}', FILTERED),
    ]
    for content, expected in cases:
        assert read_completion(content.encode(), CHAT, str) == expected, content


def test_the_prompt_is_taken_off_an_answer_that_begins_with_it() -> None:
    """The log-probabilities at the first place are then those of the prompt."""
    cases: list[tuple[str, str, float | None]] = [
        (PLAIN.text + " True", " True", None),
        (PLAIN.text, "", None),
        (" True. " + PLAIN.text, " True. " + PLAIN.text, -0.1),
        (PLAIN.text[3:] + " True", PLAIN.text[3:] + " True", -0.1),
    ]
    for text, expected, logprob in cases:
        content = json.dumps({"choices": [{"text": text, "logprobs": PLAIN_TOP}]}).encode()
        said = read_completion(content, PLAIN, str)
        assert (said.response, said.logprob_true) == (expected, logprob), text


def test_no_stream_is_asked_for_and_one_that_comes_is_read() -> None:
    def answer(body: Body, _: int) -> EndpointReply:
        if body.get("stream", True):
            return EndpointReply(body=WORDS + END + DONE, content_type="text/event-stream")
        return EndpointReply(body=json.loads(render_whole({"content": "True"})))

    settings: list[dict[str, Any]] = [{}, {"extra_body": {"stream": False}}, {"leave_out": ["stream"]}]
    with serve_endpoint(answer) as endpoint:
        said = [ask_endpoint(endpoint, [CHAT], Sampling(), **more) for more in settings]
    assert said == [[TRUE]] * 3
    assert [body.get("stream") for _, _, body in endpoint.requests] == [False, False, None]
    with pytest.raises(ValueError, match="stream must not be in extra_body"):
        build_model_config("http://a/v1", extra_body={"stream": True})


def test_a_stream_has_the_limits_of_an_answer_and_ends_where_it_says_so() -> None:
    """A server may keep the connection open after the end, or never end."""
    texts = {"open": WORDS + END + DONE, "endless": WORDS * 20_000, "slow": WORDS}
    replies = {name: RawReply(HEAD + text.encode(), hold_s=30) for name, text in texts.items()}
    prompts = [Prompt("chat", json.dumps([{"content": name, "role": "user"}])) for name in replies]
    with serve_bytes(lambda prompt, _: replies[prompt]) as endpoint:
        config = build_model_config(endpoint.base_url, timeout_s=3, max_attempts=1)
        engine = OpenaiEngine(config)
        first, *failed = engine.generate(prompts, Sampling())
        engine.close()
    assert first == TRUE
    assert [each.error for each in failed] == [
        "the answer is larger than 1,002,048 bytes",
        "no complete answer within 3 s",
    ]


def test_authorities_that_cannot_be_read_are_named(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SSL_CERT_FILE", "missing.pem")
    with pytest.raises(InputError, match=r"SSL_CERT_FILE \(missing.pem\) cannot be read"):
        OpenaiEngine(build_model_config("https://127.0.0.1:9/v1"))
