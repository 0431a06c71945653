"""Endpoints that break HTTP or send anything: answers are kept, and nothing is paid for twice."""

import gzip
import json
import ssl
import subprocess
import time
from collections.abc import Callable, Iterator
from contextlib import suppress
from copy import deepcopy
from dataclasses import dataclass, replace
from functools import partial
from itertools import permutations, product
from pathlib import Path
from typing import Any

import certifi
import pytest

from pretexeval.engines import openai_answers, openai_engine, openai_replies
from pretexeval.engines.endpoint_client import EndpointClient
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import Prompt
from tasks.asking import answer_stream
from tests.support.endpoint import build_model_config
from tests.support.evaluations import ask_in_session
from tests.support.raw_endpoint import (
    RawEndpoint,
    RawReply,
    build_prompts,
    render_answer,
    render_reply,
    serve_bytes,
)

KEY = "sk-0123456789-abcdefghij"
JSON_TYPE = {"Content-Type": "application/json"}
TEXTS = [f"p{n}" for n in range(6)]


@pytest.fixture(autouse=True)
def quick(monkeypatch: pytest.MonkeyPatch) -> None:
    """Shorten the waiting times."""
    monkeypatch.setattr(openai_engine, "PROBE_INTERVAL_S", 0.05)
    monkeypatch.setattr(openai_engine, "MAX_WAIT_S", 0.5)
    monkeypatch.setattr(openai_answers, "FIRST_PAUSE_S", 0.01)
    monkeypatch.setattr(openai_answers, "MAX_LIMITED_S", 1.0)
    monkeypatch.setattr(openai_answers, "MAX_LIMITED_AT_START_S", 0.5)
    monkeypatch.setattr(openai_answers, "MIN_LIMITED_ATTEMPTS", 3)
    monkeypatch.setenv("PRETEXEVAL_TEST_KEY", KEY)


@dataclass(frozen=True)
class Run:
    """Rows (prompt -> status, response and error) that a session left on the disk; why it ended early."""

    rows: dict[str, tuple[str, str | None, str | None]]
    error: str | None

    def list_answered(self) -> set[str]:
        """Return the prompts with an answer; it must be their own."""
        answered = {prompt: response for prompt, (status, response, _) in self.rows.items() if status == "ok"}
        assert answered == {prompt: f"re {prompt}" for prompt in answered}
        return set(answered)


def ask(
    endpoint: RawEndpoint,
    root: Path,
    texts: list[str],
    on_progress: Callable[[int], None] = lambda _: None,
    **more: object,
) -> Run:
    """Ask what has no answer on the disk, as a run does; only an InputError may come out of it."""
    table = {"api_key_env": "PRETEXEVAL_TEST_KEY", "timeout_s": 30, "max_attempts": 2} | more
    config = build_model_config(endpoint.base_url, **table)
    store, error = ask_in_session(config, root, build_prompts(*texts), on_progress)
    rows = store.read(["prompt", "status", "response", "error"]).rows()
    return Run({prompt: tuple(row) for prompt, *row in rows}, error)


def say(prompt: str, **reply: Any) -> RawReply:  # noqa: ANN401
    """Return the good reply to a prompt; the connection serves further requests."""
    return RawReply(render_answer(f"re {prompt}", "keep-alive"), keeps=True, **reply)


WHOLE = render_answer()
OTHER = render_answer("re another prompt", "keep-alive")
INTERIM = b"HTTP/1.1 102 X\r\n\r\n"
LARGE = json.dumps({"choices": [{"text": "True " * 2_000_000}]}).encode()
ZIPPED = render_reply(200, JSON_TYPE | {"Content-Encoding": "gzip"}, gzip.compress(LARGE))
# Each replaces a part of a good reply, or its whole body.
ILLEGAL = {
    "a status that is no number": WHOLE.replace(b"HTTP/1.1 200", b"HTTP/1.1 2x0"),
    "a header without a colon": WHOLE.replace(b"Content-Type: ", b"Content-Type "),
    "a byte that no header holds": WHOLE.replace(b"Content-Type: ", b"Content-Type: \x00"),
    "two lengths": WHOLE.replace(b"Content-Type: application/json", b"Content-Length: 3"),
    "a header of 200 kB": WHOLE.replace(b"Content-Type: ", b"X: " + b"x" * 200_000 + b"\r\nContent-Type: "),
    "another coding than it says": WHOLE.replace(
        b"Content-Type: application/json", b"Content-Encoding: gzip"
    ),
    "no content": render_reply(204, {}, b""),
    "an unknown status": render_reply(999, {}, b"{}"),
    "nothing but space": render_reply(200, JSON_TYPE, b" " * 900_000),
    "a long number": render_reply(200, JSON_TYPE, b'{"choices": [{"text": ' + b"9" * 5000 + b"}]}"),
    "the key": render_reply(400, {"X-Key": KEY}, json.dumps({"error": {"message": KEY, "code": 7}}).encode()),
    "the key in a list": render_reply(422, JSON_TYPE, json.dumps({"error": [KEY]}).encode()),
}
# What is said about a reply that cannot be used -> such replies.
SAID = {
    "no complete answer within 2 s": {
        "piece by piece": RawReply(WHOLE, piece=9, pause_s=0.3),
        "half of the headers": RawReply(WHOLE[:40], hold_s=60),
        "no end of the body": RawReply(WHOLE[:-5], hold_s=60),
        "interim replies": RawReply(INTERIM * 1500, piece=18, pause_s=0.04),
    },
    "no answer within 2 s": {"silence": RawReply(b"", delay_s=20)},
    "larger than 1,032,768 bytes": {
        "too large": RawReply(render_reply(200, JSON_TYPE, LARGE)),
        "too large when decompressed": RawReply(ZIPPED),
    },
    "the answer was cut off": {"cut off": RawReply(WHOLE[:-5])},
    "nested too deeply": {"nested": RawReply(render_reply(200, JSON_TYPE, b"[" * 100_000))},
    "": {name: RawReply(content) for name, content in ILLEGAL.items()},
}


def test_a_reply_that_cannot_be_used_is_a_failed_row_and_not_asked_for_again(tmp_path: Path) -> None:
    faults = {name: reply for replies in SAID.values() for name, reply in replies.items()}
    texts = [text for fault in faults for text in (fault, f"beside {fault}")]
    started = time.monotonic()
    with serve_bytes(lambda prompt, _: faults.get(prompt, say(prompt))) as endpoint:
        run = ask(endpoint, tmp_path, texts, max_attempts=1, timeout_s=2, concurrency=len(texts))
    assert time.monotonic() - started < 30
    assert run.error is None
    assert run.list_answered() == set(texts) - set(faults)
    assert KEY not in repr(run)
    errors = {fault: (words, run.rows[fault][2]) for words, replies in SAID.items() for fault in replies}
    assert {fault: pair for fault, pair in errors.items() if pair[0] not in str(pair[1])} == {}
    assert {text: endpoint.asked[text] for text in texts} == dict.fromkeys(texts, 1)


def test_a_reply_that_nobody_asked_for_answers_no_prompt(tmp_path: Path) -> None:
    for n, unasked in enumerate((OTHER, OTHER[:90], OTHER * 3, b"\r\n\r\n", INTERIM)):
        answer = partial(lambda unasked, prompt, _: say(prompt, unasked=unasked), unasked)
        with serve_bytes(answer) as endpoint:
            run = ask(endpoint, tmp_path / str(n), TEXTS, concurrency=1)
        assert run.list_answered() == set(TEXTS)


def test_one_refused_prompt_is_a_failed_row_in_every_run_although_its_body_is_broken(tmp_path: Path) -> None:
    body = b'{"error": {"message": "no"}}'
    refusals = {"302": RawReply(render_reply(302, {"Location": "/x"}, body))}
    for status in (400, 401, 402, 403, 404, 413, 422, 451):
        refusals[str(status)] = RawReply(render_reply(status, {}, body))
    for status in (400, 401, 500, 503):
        for name, value in {
            "Content-Length": "90",
            "Content-Encoding": "gzip",
            "Retry-After": "1e999",
        }.items():
            refusals[f"{status} {name}"] = RawReply(render_reply(status, {name: value}, body[:10]))

    def reply(prompt: str, n_before: int) -> RawReply:
        is_temporary = prompt.startswith("50") and n_before > 0
        return say(prompt) if is_temporary else refusals.get(prompt, say(prompt))

    refused = {text for text in refusals if not text.startswith("50")}
    texts = [text for refusal in refusals for text in (refusal, f"beside {refusal}")]
    for texts_asked in (set(texts), refused):
        with serve_bytes(reply) as endpoint:
            run = ask(endpoint, tmp_path, texts)
        assert run.error is None
        assert {text for text, row in run.rows.items() if row[0] == "error"} == refused
        assert run.list_answered() == set(texts) - refused
        assert set(endpoint.asked) - {"Hello"} == texts_asked
        asked_again = {text for text in texts if endpoint.asked[text] > 1}
        assert asked_again == {text for text in texts_asked if text.startswith("50")}


NUMBERS = (2**31, -1, 2**64, 10**30, 1.5, float("nan"), float("inf"), 1e300)
ODD: tuple[Any, ...] = (None, True, *NUMBERS, "\ud83d", "\x00", KEY, [], {}, [[]])
TOP = {"content": [{"top_logprobs": [{"token": "True", "logprob": -0.5}]}]}
CHOICE = {
    "text": " True",
    "message": {"content": "True", "reasoning": "hm"},
    "finish_reason": "stop",
    "logprobs": {"top_logprobs": [{" True": -0.5, " False": -1}], **TOP},
}
USAGE = {"prompt_tokens": 3, "completion_tokens": 1}
# Every field that is read, for both styles.
ANSWER = {"choices": [CHOICE], "usage": USAGE, "model": "x", "system_fingerprint": "f"}
Step = str | int


def list_paths(value: Any, *path: Step) -> Iterator[tuple[Step, ...]]:  # noqa: ANN401
    """Yield the path of every field in an answer."""
    inner = value.items() if isinstance(value, dict) else enumerate(value if isinstance(value, list) else ())
    for step, field in inner:
        yield (*path, step)
        yield from list_paths(field, *path, step)


def render_odd(path: tuple[Step, ...], value: object) -> bytes:
    """Return an answer with this value in one of its fields."""
    place: Any = (answer := deepcopy(ANSWER))
    for step in path[:-1]:
        place = place[step]
    place[path[-1]] = value
    return json.dumps(answer).encode()


def test_every_field_of_an_answer_fits_its_column_or_is_null(tmp_path: Path) -> None:
    completions = []
    for path, value, style in product(list_paths(ANSWER), ODD, ("completion", "chat")):
        with suppress(openai_replies.UnreadableAnswerError, openai_replies.AbortedAnswerError):
            content = render_odd(path, value)
            completions.append(
                openai_replies.read_completion(content, Prompt(style, "p"), lambda t: t.replace(KEY, "*"))
            )
    assert len(completions) > 400
    assert KEY not in repr(completions)
    prompts, store = build_prompts(*map(str, range(len(completions)))), ResponseStore(tmp_path, "m")
    store.append(list(prompts), list(prompts.values()), completions)
    for row in store.read().rows(named=True):
        assert row["status"] == "ok"
        assert row["response"] is not None
        assert row["n_prompt_tokens"] is None or 0 <= row["n_prompt_tokens"] < 2**31
        assert row["logprob_true"] is None or row["logprob_true"] <= 1e-3


def test_an_answer_is_read_whatever_is_in_a_field_that_nobody_needs() -> None:
    """The answer is the choice of index 0, wherever it stands.

    Some endpoints write numbers of any length, control characters, and bytes that are no text.
    """
    texts = (b'"\n\x01\t"', b'"\xff\xfe"', b'"\xed\xa0\x80"')
    needless = (b"9" * 6000, b"-" + b"9" * 6000, b"1e999", b"NaN", *texts)
    for value, indices, style in product(needless, permutations(range(3)), ("completion", "chat")):
        choices = [{"index": n, "text": f"re {n}", "message": {"content": f"re {n}"}} for n in indices]
        fields = b'"x": %s, "usage": {"prompt_tokens": 3, "x": %s}' % (value, value)
        content = b'{%s, "choices": %s}' % (fields, json.dumps(choices).encode())
        completion = openai_replies.read_completion(content, Prompt(style, "p"), str)
        assert (completion.response, completion.n_prompt_tokens) == ("re 0", 3)


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that asks an endpoint with this habit some prompts."""

    def play(reply: Callable[[str, int], RawReply], n: int = 6, **more: Any) -> tuple[Run, RawEndpoint]:  # noqa: ANN401
        with serve_bytes(reply) as endpoint:
            return ask(endpoint, tmp_path, [f"p{i}" for i in range(n)], **more), endpoint

    return play


def test_rate_limit_fails_no_prompt(serve: Callable[..., Any]) -> None:
    """The endpoint says of each prompt twice when to come back, which is no attempt."""
    busy = RawReply(render_reply(429, {"Retry-After": "0.2"}, b"{}"))
    run, endpoint = serve(
        lambda prompt, n_before: busy if n_before < 2 else say(prompt), n=15, max_attempts=1
    )
    assert run.error is None
    assert len(run.list_answered()) == 15
    assert set(endpoint.asked.values()) == {3}


def test_quota_that_is_used_up_ends_the_run_and_keeps_the_answers(serve: Callable[..., Any]) -> None:
    used_up = RawReply(render_reply(429, {"Retry-After": "86400"}, b'{"error": {"message": "quota"}}'))
    run, _ = serve(lambda prompt, _: say(prompt) if prompt in ("p0", "p1") else used_up, concurrency=1)
    assert "HTTP 429: Error code: 429 - quota" in run.error
    assert run.list_answered() == {"p0", "p1"}


def test_answers_are_on_the_disk_while_others_are_asked(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(answer_stream, "MIN_INTERVAL_S", 0.2)
    n_files: list[int] = []
    run, _ = serve(
        lambda prompt, _: say(prompt, piece=100, pause_s=0.1),
        n=20,
        concurrency=2,
        timeout_s=5,
        on_progress=lambda _: n_files.append(len(list(tmp_path.rglob("part-*.parquet")))),
    )
    assert len(run.list_answered()) == 20
    assert 2 <= max(n_files) <= 20


def test_interrupt_and_crash_keep_what_was_answered(tmp_path: Path) -> None:
    texts = [f"p{n}" for n in range(30)]
    for stop in (KeyboardInterrupt, RuntimeError):

        def interrupt(_: int, stop: type[BaseException] = stop) -> None:
            if sum(endpoint.answered.values()) >= 6:
                raise stop

        root = tmp_path / stop.__name__
        with serve_bytes(lambda prompt, _: say(prompt, delay_s=0.2)) as endpoint:
            if stop is RuntimeError:
                assert "RuntimeError" in str(ask(endpoint, root, texts, interrupt, concurrency=2).error)
            else:
                with pytest.raises(stop):
                    ask(endpoint, root, texts, interrupt, concurrency=2)
            assert sum(endpoint.asked.values()) < 15
            assert len(ask(endpoint, root, texts, concurrency=10).list_answered()) == 30
        assert sum(endpoint.asked.values()) == 30


def test_redirect_sends_neither_key_nor_prompt_to_another_address(serve: Callable[..., Any]) -> None:
    with serve_bytes(lambda prompt, _: say(prompt)) as other:
        for status in (301, 302, 303, 307, 308):
            moved = render_reply(status, {"Location": f"{other.base_url}/completions"}, b"")
            run, _ = serve(lambda *_, moved=moved: RawReply(moved), n=2)
            assert "redirected to http://127.0.0.1" in run.error
            assert "check base_url" in run.error
    assert other.asked == {}


def test_loopback_is_reached_past_the_proxy_of_the_environment_by_its_authorities(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    certificate, key = tmp_path / "own.pem", tmp_path / "own.key"
    subject = ["-subj", "/CN=localhost", "-addext", "subjectAltName=DNS:localhost,IP:127.0.0.1"]
    made = ["req", "-x509", "-newkey", "rsa:2048", "-nodes", "-keyout", str(key), "-out", str(certificate)]
    subprocess.run(["openssl", *made, *subject], check=True, capture_output=True)
    monkeypatch.setenv("https_proxy", "http://127.0.0.1:9")
    context = ssl.SSLContext(ssl.PROTOCOL_TLS_SERVER)
    context.load_cert_chain(certificate, key)
    with serve_bytes(lambda prompt, _: say(prompt), context) as endpoint:
        for host, trusted in product(("localhost", "127.0.0.1"), (str(certificate), certifi.where())):
            monkeypatch.setenv("SSL_CERT_FILE", trusted)
            here = replace(endpoint, origin=f"https://{host}")
            run = ask(here, tmp_path / host / Path(trusted).name, ["a"])
            assert ("CERTIFICATE_VERIFY_FAILED" in str(run.error)) == (trusted != str(certificate))
    clients = EndpointClient("https://example.org/v1", KEY, 1, 100)._clients
    assert [client.trust_env for client in clients] == [True, True]
