"""Habits of servers that spoil a score: named while a model is asked, and an error if prompts are cut."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from schemas.exchange import Completion, Prompt
from tasks.asking.server_habits import (
    HABITS,
    count_habits,
    describe_change,
    find_equal_counts,
    find_low_counts,
    list_remarks,
    tabulate_replies,
)
from tests.support.endpoint import Body, EndpointReply, build_model_config, build_reply, serve_endpoint
from tests.support.evaluations import ask_in_session

N = 40
LOOKS_LIKE_A_THOUGHT = next(name for name in HABITS if "look like a thought" in name)
STATEMENT = "Statement number {n} says that{more} aspirin may treat a fever.\nAnswer:"
SHOTS = "A statement about medicine.\nAnswer: True\n\n" * 8
TEXTS = [SHOTS + STATEMENT.format(n=n, more=" and that" * (n % 9)) for n in range(N)]


def reply(text: str, **more: Any) -> EndpointReply:  # noqa: ANN401
    """Return the reply of a completion server with further fields beside the choices."""
    found = build_reply(text)
    assert isinstance(found.body, dict)
    return EndpointReply(body=found.body | more)


def ask(
    root: Path, answer: Callable[[Body, int], EndpointReply], texts: list[str], style: str = "completion"
) -> tuple[int, str | None, list[str | None]]:
    """Ask the prompts as a run does; return the number of requests, the error, and the stored answers."""
    prompts = {f"{hash(text) % 16**32:032x}": Prompt(style, text) for text in texts}
    with serve_endpoint(answer) as endpoint:
        config = build_model_config(endpoint.base_url, name="odd")
        store, error = ask_in_session(config, root, prompts)
    return len(endpoint.requests), error, store.read(["response"])["response"].to_list()


def count_words(body: Body) -> int:
    return len(body["prompt"].split())


@pytest.mark.parametrize(
    ("count", "n_requests", "said"),
    [
        (lambda _: 18, 32, "counts 18 tokens in every one of 32 prompts"),
        # A prompt that no server has cached decides.
        (lambda body: 3 + count_words(body) % 5, 33, "tokens in a prompt of"),
        (lambda body: (0 if body["prompt"].startswith(SHOTS) else 99) + count_words(body) % 5 + 3, N + 1, ""),
        (count_words, N, ""),
    ],
)
def test_prompts_that_the_server_cuts_are_an_error_after_the_first_ones(
    tmp_path: Path, count: Callable[[Body], int | None], n_requests: int, said: str
) -> None:
    """Their answers are stored as failed, so that they are asked again."""

    asked, error, answers = ask(
        tmp_path, lambda body, _: reply("True", usage={"prompt_tokens": count(body)}), TEXTS
    )
    assert asked == n_requests
    assert said in str(error)
    assert ("cuts the prompts" in str(error)) == bool(said)
    assert answers == ([None] * 32 if said else ["True"] * N)


@pytest.mark.parametrize(
    ("texts", "counts"),
    [
        (["Is it so?"] * 32, [5] * 32),
        ([f"{n} is" for n in range(32)], [3] * 32),
        ([text[:400] for text in TEXTS], [100] * N),
        (TEXTS[:5], [18] * 5),
        (TEXTS, [None] * N),
        (TEXTS, [0] * N),
        # A server that fills prompts up to a length.
        (TEXTS, [2048] * N),
        (TEXTS, [18] * (N - 1) + [19]),
    ],
)
def test_equal_counts_of_equal_or_few_prompts_are_no_cut(texts: list[str], counts: list[int | None]) -> None:
    prompts = [Prompt("completion", text) for text in texts]
    assert find_equal_counts(prompts, [Completion("", n_prompt_tokens=n) for n in counts]) == ""


def test_few_tokens_for_many_words_are_a_cut() -> None:
    prompt = Prompt("completion", "word " * 100)
    found = [find_low_counts([prompt], [Completion("", n_prompt_tokens=n)]) for n in (24, 25, 26, 0, None)]
    assert list(map(bool, found)) == [True, True, False, False, False]
    assert find_low_counts([Prompt("completion", "word " * 30)], [Completion("", n_prompt_tokens=2)]) == ""


THOUGHT = "It is often said, and the answer is True."
PROMPT = Prompt("completion", TEXTS[0])


@pytest.mark.parametrize(
    ("completion", "habit"),
    [
        (Completion("", finish_reason="stop", reasoning=THOUGHT), "a thought and no content"),
        (Completion(" \n", finish_reason="eos_token", reasoning=THOUGHT), "a thought and no content"),
        (Completion("", reasoning=THOUGHT), "a thought and no content"),
        (Completion("", finish_reason="MAX_TOKENS", reasoning=THOUGHT), ""),
        (Completion("", finish_reason="model_length", reasoning=THOUGHT), ""),
        (Completion("", finish_reason="content_filter", reasoning=THOUGHT), ""),
        (Completion("True", finish_reason="stop", reasoning=THOUGHT), ""),
        (Completion("", finish_reason="stop", reasoning=" "), ""),
        (Completion("", finish_reason="stop"), ""),
        (Completion(f"<s> {TEXTS[0]} True"), "the prompt again"),
        (Completion(TEXTS[0][200:].replace("\n", " ") + " True"), "the prompt again"),
        (Completion(" True\n\nStatement number 0 says that aspirin may treat a fever."), ""),
    ],
)
def test_a_habit_is_named_with_an_example_and_what_to_set(completion: Completion, habit: str) -> None:
    (remark,) = [*list_remarks(count_habits(tabulate_replies([PROMPT], [completion]))).values()] or [""]
    assert habit in remark
    assert bool(habit) == ("extra_body" in remark)
    assert THOUGHT in remark or habit != "a thought and no content"


def test_what_may_be_a_thought_that_is_not_understood_is_named() -> None:
    thought = (
        "It may be true that both are named, but this says little about how one causes the other one. " * 3
    )
    suspects = (
        f"⟦{thought}⟧False",
        f"<cogitate>{thought}</cogitate>False",
        f"[PLAN]{thought}[/PLAN]",
        f"Okay, {thought}",
    )
    fine = (
        "True",
        thought,
        f"<think>{thought}</think>True",
        f"<answer>True</answer> {thought}",
        f"Let me see. {thought}So: True",
    )
    for texts, n in ((suspects, len(suspects)), (fine, 0)):
        replies = tabulate_replies([Prompt("chat", "[]")] * len(texts), [Completion(text) for text in texts])
        assert count_habits(replies)[LOOKS_LIKE_A_THOUGHT][0] == n
    remark = list_remarks(count_habits(replies) | {LOOKS_LIKE_A_THOUGHT: (1, "⟦It")})[LOOKS_LIKE_A_THOUGHT]
    assert "reasoning_marks" in remark


def test_a_share_of_replies_without_content_is_named_once_after_the_first_prompts(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(_: Body, number: int) -> EndpointReply:
        message = {"content": "", "reasoning_content": THOUGHT} if number % 5 == 0 else {"content": "True"}
        return EndpointReply(body={"choices": [{"message": message, "finish_reason": "stop"}]})

    ask(tmp_path, answer, [json.dumps([{"content": text, "role": "user"}]) for text in TEXTS], "chat")
    (said,) = [record.getMessage() for record in caplog.records]
    assert said.startswith("model 'odd': 21.9 % of 32 replies: a thought and no content")
    assert repr(THOUGHT) in said


def test_another_model_behind_the_address_is_named_within_a_run_and_between_runs(
    tmp_path: Path, caplog: pytest.LogCaptureFixture
) -> None:
    def answer(_: Body, number: int) -> EndpointReply:
        return reply("True", model=f"m:{1 + (number > 34)}", system_fingerprint="fp")

    ask(tmp_path, answer, TEXTS)
    (said,) = [record.getMessage() for record in caplog.records]
    assert "names another model or configuration: m:2, fp, before m:1, fp." in said
    caplog.clear()
    ask(tmp_path, lambda *_: reply("True", model="m:2", system_fingerprint="fp"), ["known"])
    assert not caplog.records
    ask(tmp_path, lambda *_: reply("True", model="m:3"), ["new"])
    assert ["m:3, before m:1, fp; m:2, fp." in record.getMessage() for record in caplog.records] == [True]


def test_the_models_of_a_score_are_listed_with_their_replies() -> None:
    assert describe_change({}) == describe_change({"m:1": 9}) == ""
    said = describe_change({f"m:{n}": 9 for n in range(6)})
    assert "names 6 models or configurations" in said
    assert "m:3 (9 replies); and 2 more." in said
