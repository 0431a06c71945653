"""Endpoints that send anything: what was paid for is on the disk, and nothing is paid for twice."""

import gzip
import json
import time
from collections.abc import Callable
from dataclasses import dataclass, field
from pathlib import Path
from tempfile import TemporaryDirectory
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st

from pretexeval.config.tables import StorageConfig
from pretexeval.engines import openai_answers, openai_engine, openai_replies
from pretexeval.engines.endpoint_client import EndpointClient
from pretexeval.primitives.errors import InputError
from pretexeval.storage.responses import ResponseStore
from pretexeval.storage.store import Store
from schemas.exchange import Prompt, Sampling
from tasks.asking import model_session
from tasks.asking.model_session import ModelSession
from tests.support.endpoint import build_model_config
from tests.support.examples import count_examples
from tests.support.raw_endpoint import (
    RawEndpoint,
    RawReply,
    build_prompts,
    render_answer,
    render_reply,
    serve_bytes,
)

KEY = "sk-0123456789-abcdefghij"
GOOD = RawReply(render_answer())
TIMEOUT_S = 30
JSON_TYPE = {"Content-Type": "application/json"}


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


@dataclass
class Run:
    """What a session with the endpoint left on the disk."""

    rows: dict[str, tuple[str, str | None, str | None]]
    """Prompt -> status, response and error."""
    error: str | None
    """Why the session ended early."""
    store: ResponseStore = field(repr=False)

    def list_answered(self) -> set[str]:
        return {prompt for prompt, (status, _, _) in self.rows.items() if status == "ok"}


def ask(
    endpoint: RawEndpoint,
    root: Path,
    prompts: dict[str, Prompt],
    on_progress: Callable[[int], None] = lambda _: None,
    **more: object,
) -> Run:
    """Ask what has no answer on the disk, as a run does; only an InputError may come out of it."""
    table = {"api_key_env": "PRETEXEVAL_TEST_KEY", "timeout_s": TIMEOUT_S, "max_attempts": 2} | more
    config = build_model_config(endpoint.base_url, **table)
    error = None
    with ModelSession(config, Store(StorageConfig(root=root))) as session:
        settled = session.store.read_settled_keys()
        try:
            waiting = {key: prompt for key, prompt in prompts.items() if key not in settled}
            session.ask(waiting, Sampling(logprobs=True), on_progress)
        except InputError as raised:
            error = str(raised)
    found = session.store.read(["prompt", "status", "response", "error"])
    return Run({row[0]: row[1:] for row in found.iter_rows()}, error, session.store)


JSON = st.recursive(
    st.none()
    | st.booleans()
    | st.integers()
    | st.sampled_from([2**31, -1, 2**63, 2**64, 10**30, 1.5, -0.25, float("nan"), float("inf"), 1e300])
    | st.sampled_from(["True", "\ud83d", "\x00", KEY, "stop", "abort", ""]),
    lambda inner: (
        st.lists(inner, max_size=2)
        | st.dictionaries(
            st.sampled_from(["content", "text", "token", "logprob", " True"]), inner, max_size=3
        )
    ),
    max_leaves=6,
)
FIELDS = (
    ("choices",),
    ("choices", 0),
    *((("choices", 0, name)) for name in ("text", "message", "finish_reason", "logprobs")),
    ("choices", 0, "message", "content"),
    ("choices", 0, "message", "reasoning"),
    ("choices", 0, "logprobs", "top_logprobs"),
    ("choices", 0, "logprobs", "content"),
    ("usage",),
    ("usage", "prompt_tokens"),
    ("usage", "completion_tokens"),
    ("model",),
    ("system_fingerprint",),
)


def build_answer() -> dict[str, Any]:
    """Return an answer with every field that is read, for both styles."""
    logprobs = {
        "top_logprobs": [{" True": -0.5, " False": -1}],
        "content": [{"top_logprobs": [{"token": "True", "logprob": -0.5}]}],
    }
    message = {"content": "True", "reasoning": "hm"}
    choice = {"text": " True", "message": message, "finish_reason": "stop", "logprobs": logprobs}
    usage = {"prompt_tokens": 3, "completion_tokens": 1}
    return {"choices": [choice], "usage": usage, "model": "x", "system_fingerprint": "f"}


@st.composite
def mutate_answers(draw: st.DrawFn) -> bytes:
    """Return an answer in which one to three fields are replaced by anything, and one may be repeated."""
    answer = build_answer()
    for *path, last in draw(st.lists(st.sampled_from(FIELDS), min_size=1, max_size=3)):
        place: Any = answer
        try:
            for step in path:
                place = place[step]
            place[last] = draw(JSON)
        except (TypeError, KeyError, IndexError):
            continue
    content = json.dumps(answer).encode()
    return content.replace(b'{"choices"', b'{"choices": 1, "choices"') if draw(st.booleans()) else content


@given(mutate_answers() | st.binary(max_size=40) | JSON.map(lambda value: json.dumps(value).encode()))
@settings(max_examples=count_examples(100), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_every_field_of_an_answer_fits_its_column_or_is_null(content: bytes) -> None:
    for style in ("completion", "chat"):
        try:
            completion = openai_replies.read_completion(content, style, lambda text: text.replace(KEY, "*"))
        except (openai_replies.UnreadableAnswerError, openai_replies.AbortedAnswerError):
            continue
        assert KEY not in repr(completion)
        with TemporaryDirectory() as folder:
            store = ResponseStore(Path(folder), "m")
            prompts = list(build_prompts("a").values())
            store.append(["1" * 32], prompts, [completion])
            (row,) = store.read().rows(named=True)
        assert row["status"] == "ok"
        assert row["response"] is not None
        assert row["n_prompt_tokens"] is None or 0 <= row["n_prompt_tokens"] < 2**31
        assert row["logprob_true"] is None or row["logprob_true"] <= 1e-3


# JSON as some endpoints write it: a number of any length, control characters, and bytes that are no text.
NEEDLESS = st.sampled_from(
    [b"9" * 6000, b"-" + b"9" * 6000, b"1e999", b"NaN", b'"\n\x01\t"', b'"\xff\xfe"', b'"\xed\xa0\x80"']
)


@given(
    needless=st.lists(NEEDLESS, min_size=1, max_size=3),
    indices=st.permutations([0, 1, 2]),
    style=st.sampled_from(["completion", "chat"]),
)
def test_an_answer_is_read_whatever_is_in_a_field_that_nobody_needs(
    needless: list[bytes], indices: list[int], style: str
) -> None:
    """The answer is the choice of index 0, wherever it stands."""
    choices = [{"index": n, "text": f"re {n}", "message": {"content": f"re {n}"}} for n in indices]
    fields = [b'"x%d": %s' % (n, value) for n, value in enumerate(needless)]
    usage = b'"usage": {"prompt_tokens": 3, %s}' % fields[0]
    content = b"{%s}" % b", ".join([*fields, usage, b'"choices": %s' % json.dumps(choices).encode()])
    completion = openai_replies.read_completion(content, style, str)
    assert (completion.response, completion.n_prompt_tokens) == ("re 0", 3)


@st.composite
def draw_replies(draw: st.DrawFn) -> RawReply:
    """Return a reply of any status, headers and body, cut anywhere, at any speed."""
    status = draw(
        st.sampled_from([200, 200, 200, 204, 301, 307, 400, 401, 403, 404, 413, 429, 451, 500, 999])
    )
    headers = draw(
        st.dictionaries(
            st.sampled_from(["Content-Encoding", "Location", "Retry-After", "Content-Type", "X-Key"]),
            st.sampled_from(["gzip", "br", "http://127.0.0.1:1/v1", "1e999", "-1", "0.05", "text/html", KEY]),
            max_size=3,
        )
    )
    body = draw(
        mutate_answers()
        | st.binary(max_size=30)
        | st.sampled_from(
            [
                b"[" * 100_000,
                b'{"a":' * 50_000,
                b" " * 3_000_000,
                gzip.compress(b" " * 30_000_000),
                b'{"choices": [{"text": ' + b"9" * 5000 + b"}]}",
                json.dumps({"error": {"message": f"content_filter {KEY}", "code": 7}}).encode(),
                json.dumps({"error": [KEY]}).encode(),
            ]
        )
    )
    if draw(st.integers(0, 3)) == 0:
        headers |= {"Content-Length": draw(st.sampled_from(["0", "5", "-3", "999999", "x"]))}
    content = render_reply(status, headers, body)
    if draw(st.integers(0, 3)) == 0:
        content = content[: draw(st.integers(0, min(len(content), 400)))]
    is_slow = draw(st.integers(0, 11)) == 0
    return RawReply(content, piece=1, pause_s=0.1) if is_slow else RawReply(content)


@given(reply=draw_replies(), is_odd_first=st.booleans(), style=st.sampled_from(["completion", "chat"]))
@settings(max_examples=count_examples(15), suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_whatever_comes_back_answers_are_kept_and_nothing_is_paid_for_twice(
    reply: RawReply, is_odd_first: bool, style: str
) -> None:
    """One prompt gets the reply, five others and the throwaway prompt get a good one."""
    texts = [f"good {n}" for n in range(5)]
    texts.insert(0 if is_odd_first else 3, "odd")
    prompts = build_prompts(*texts, style=style)
    with TemporaryDirectory() as folder, serve_bytes(lambda p, _: reply if p == "odd" else GOOD) as endpoint:
        # A busy machine needs some time for a good reply.
        runs = [ask(endpoint, Path(folder), prompts, timeout_s=1) for _ in range(2)]
        written = b"".join(path.read_bytes() for path in Path(folder).rglob("*") if path.is_file())
    for run in runs:
        assert {prompts[key].text for key in prompts} == set(run.rows) or run.error is not None
        assert KEY not in repr(run.rows) + str(run.error)
    assert KEY.encode() not in written
    goods = {prompt.text for prompt in prompts.values() if "good" in prompt.text}
    assert goods <= runs[1].list_answered()
    assert {text: endpoint.asked[text] for text in texts if text != "odd"} == dict.fromkeys(
        (text for text in texts if text != "odd"), 1
    )
    if prompts_answered := runs[0].list_answered() - goods:
        assert (len(prompts_answered), endpoint.asked["odd"]) == (1, 1)


@given(reply=draw_replies())
@settings(max_examples=10, suppress_health_check=[HealthCheck.function_scoped_fixture])
def test_an_endpoint_that_sends_only_this_ends_in_rows_or_one_clear_error(reply: RawReply) -> None:
    prompts = build_prompts("a", "b", "c")
    with TemporaryDirectory() as folder, serve_bytes(lambda *_: reply) as endpoint:
        run = ask(endpoint, Path(folder), prompts)
    assert run.error is not None or len(run.rows) == 3
    assert KEY not in repr(run.rows) + str(run.error)
    assert run.error is None or run.error.startswith("model 'm': the endpoint ")


@pytest.fixture
def serve(tmp_path: Path) -> Callable[..., Any]:
    """Return a function that asks an endpoint with this habit some prompts."""

    def play(reply: Callable[[str, int], RawReply], n: int = 6, **more: Any) -> tuple[Run, RawEndpoint]:  # noqa: ANN401
        with serve_bytes(reply) as endpoint:
            return ask(endpoint, tmp_path, build_prompts(*(f"p{i}" for i in range(n))), **more), endpoint

    return play


LARGE = json.dumps({"choices": [{"text": "True " * 2_000_000}]}).encode()
# Each of them lasts longer than a test may take.
SLOW = {
    "piece by piece": (
        RawReply(render_answer("True " * 5000), piece=100, pause_s=0.3),
        "no complete answer within 2 s",
    ),
    "half of the headers, then silence": (
        RawReply(GOOD.content[:40], hold_s=60),
        "no complete answer within 2 s",
    ),
    "silence": (RawReply(b"", delay_s=20), "no answer within 2 s"),
    "body, then silence": (RawReply(GOOD.content[:-5], hold_s=60), "no complete answer within 2 s"),
    "informational replies for ever": (
        RawReply(b"HTTP/1.1 102 X\r\n\r\n" * 1500, piece=18, pause_s=0.04),
        "no complete answer within 2 s",
    ),
}
UNUSABLE = {
    "too large": (RawReply(render_reply(200, JSON_TYPE, LARGE)), "larger than 1,032,768 bytes"),
    "too large when decompressed": (
        RawReply(render_reply(200, JSON_TYPE | {"Content-Encoding": "gzip"}, gzip.compress(LARGE))),
        "larger than 1,032,768 bytes",
    ),
    "cut off": (RawReply(GOOD.content[:-5]), "the answer was cut off"),
    "nested": (RawReply(render_reply(200, JSON_TYPE, b"[" * 100_000)), "nested too deeply"),
}


@pytest.mark.parametrize("habit", [*SLOW, *UNUSABLE])
def test_answer_that_is_too_slow_or_too_large_is_a_failed_row(serve: Callable[..., Any], habit: str) -> None:
    reply, words = (SLOW | UNUSABLE)[habit]
    # Good answers come in time on a busy machine too.
    timeout_s = 2 if habit in SLOW else TIMEOUT_S
    started = time.monotonic()
    run, endpoint = serve(
        lambda prompt, _: reply if prompt == "p2" else GOOD, max_attempts=1, timeout_s=timeout_s
    )
    assert time.monotonic() - started < TIMEOUT_S
    assert run.error is None
    assert len(run.list_answered()) == 5
    assert words in str(run.rows["p2"][2])
    assert endpoint.asked["p2"] == 1


# HTTP status, and the reply's further headers.
REFUSED = [(400, {}), (401, {}), (402, {}), (403, {}), (404, {}), (422, {}), (302, {"Location": "/x"})]


@pytest.mark.parametrize(("status", "headers"), REFUSED)
def test_one_refused_prompt_is_a_failed_row_in_every_run(
    serve: Callable[..., Any], status: int, headers: dict[str, str]
) -> None:
    refusal = RawReply(render_reply(status, headers, b'{"error": {"message": "content_filter"}}'))
    run, _ = serve(lambda prompt, _: refusal if prompt == "p4" else GOOD)
    again, endpoint = serve(lambda prompt, _: refusal if prompt == "p4" else GOOD)
    assert (run.error, len(run.list_answered())) == (None, 5)
    assert (again.error, again.rows["p4"][0]) == (None, "error")
    assert {prompt for prompt in endpoint.asked if prompt != "Hello"} == {"p4"}


def test_rate_limit_fails_no_prompt(serve: Callable[..., Any]) -> None:
    """The endpoint takes three prompts in a fifth of a second, and says to the others when to come back."""
    taken: list[float] = []
    busy = RawReply(render_reply(429, {"Retry-After": "0.2"}, b"{}"))

    def limit(prompt: str, _: int) -> RawReply:
        now = time.monotonic()
        if sum(moment > now - 0.2 for moment in taken) >= 3:
            return busy
        taken.append(now)
        return GOOD

    run, endpoint = serve(limit, n=30, max_attempts=1)
    assert run.error is None
    assert len(run.list_answered()) == 30
    assert sum(endpoint.asked.values()) > 30


def test_quota_that_is_used_up_ends_the_run_and_keeps_the_answers(serve: Callable[..., Any]) -> None:
    used_up = RawReply(render_reply(429, {"Retry-After": "86400"}, b'{"error": {"message": "quota"}}'))
    run, _ = serve(lambda prompt, _: GOOD if prompt in ("p0", "p1") else used_up, concurrency=1)
    assert "HTTP 429: Error code: 429 - quota" in run.error
    assert run.list_answered() == {"p0", "p1"}


def test_answers_are_on_the_disk_while_the_chunk_is_asked(
    serve: Callable[..., Any], monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    monkeypatch.setattr(model_session, "MIN_INTERVAL_S", 0.3)
    n_files: list[int] = []
    reply = RawReply(GOOD.content, piece=100, pause_s=0.1)
    run, _ = serve(
        lambda *_: reply,
        n=20,
        concurrency=2,
        timeout_s=5,
        on_progress=lambda _: n_files.append(len(list(tmp_path.rglob("part-*.parquet")))),
    )
    assert len(run.list_answered()) == 20
    assert 2 <= max(n_files) <= 20


@pytest.mark.parametrize("stop", [KeyboardInterrupt, SystemExit, RuntimeError])
def test_interrupt_keeps_what_was_answered(stop: type[BaseException], tmp_path: Path) -> None:
    def interrupt(_: int) -> None:
        if sum(endpoint.answered.values()) >= 6:
            raise stop

    slow = RawReply(GOOD.content, delay_s=0.3)
    prompts = build_prompts(*(f"p{n}" for n in range(30)))
    with serve_bytes(lambda *_: slow) as endpoint:
        started = time.monotonic()
        if stop is RuntimeError:
            assert "RuntimeError" in str(ask(endpoint, tmp_path, prompts, interrupt, concurrency=2).error)
        else:
            with pytest.raises(stop):
                ask(endpoint, tmp_path, prompts, interrupt, concurrency=2)
        assert time.monotonic() - started < 5
        n_asked = sum(endpoint.asked.values())
        run = ask(endpoint, tmp_path, prompts, concurrency=10)
    assert len(run.list_answered()) == 30
    assert n_asked < 15
    assert sum(endpoint.asked.values()) == 30


def test_redirect_sends_neither_key_nor_prompt_to_another_address(serve: Callable[..., Any]) -> None:
    with serve_bytes(lambda *_: GOOD) as other:
        for status in (301, 302, 303, 307, 308):
            moved = render_reply(status, {"Location": f"{other.base_url}/completions"}, b"")
            run, _ = serve(lambda *_, moved=moved: RawReply(moved), n=2)
            assert "redirected to http://127.0.0.1" in run.error
            assert "check base_url" in run.error
    assert other.asked == {}


def test_loopback_is_reached_past_the_proxy_of_the_environment(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    assert EndpointClient("http://127.0.0.1:1/v1", KEY, 1)._client.trust_env is False
    assert EndpointClient("https://example.org/v1", KEY, 1)._client.trust_env is True
