"""Thoughts of a model that reasons, which are no part of its answer or reply."""

from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig, WriterConfig
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from tasks.asking.reasoning import find_marks, read_answers
from tasks.asking.thoughts import NO_MARKS, THINK_MARKS, ReasoningMarks, remove_reasoning
from tasks.asking.writers import UNFINISHED_REASONING, Reply, Writer, read_replies


def test_answer_follows_the_last_thought() -> None:
    answers = {
        "True": "True",
        "": "",
        "<think>False might be right.</think> True": " True",
        "The template opened this thought: False? </think>\nTrue": "\nTrue",
        "<think>False?</think> Hm. <think>False!</think> True": " True",
        "<think></think>True": "True",
        "<think>False": None,
        "<think>False?</think> True <think>or": None,
    }
    assert {response: remove_reasoning(response) for response in answers} == answers
    # A template that opens every thought is an empty opening mark.
    marks = ReasoningMarks("", "</think>")
    assert remove_reasoning("False? </think> True", marks) == " True"
    assert remove_reasoning("False?", marks) is None
    assert remove_reasoning("<think>False</think> True", NO_MARKS) == "<think>False</think> True"


def test_marks_of_a_configuration_can_be_told_apart() -> None:
    def find(**marks: object) -> ReasoningMarks:
        return find_marks(ModelConfig.model_validate({"name": "m", "model": "x", **marks}))

    assert find() == THINK_MARKS
    assert find(reasoning_marks=[]) == NO_MARKS
    assert find(reasoning_marks=["", "</think>"]) == ReasoningMarks("", "</think>")
    for marks in (["<think>"], ["<think>", ""], ["|", "|"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="give the opening and the closing mark"):
            find(reasoning_marks=marks)


def read(*rows: tuple[str | None, str | None], is_chat: bool = True) -> list[tuple[str | None, bool]]:
    """Return (answer, is_unfinished_reasoning) of rows (response, finish_reason)."""
    frame = pl.DataFrame(rows, {"response": pl.String, "finish_reason": pl.String}, orient="row")
    answers = read_answers(frame, THINK_MARKS, is_chat=is_chat)
    return answers.select("answer", "is_unfinished_reasoning").rows()


def test_thought_that_does_not_end_is_no_answer_and_is_counted() -> None:
    responses = (("<think>False", "length"), ("True", "stop"), (None, None))
    assert read(*responses) == [(None, True), ("True", False), (None, False)]
    # An empty chat reply that was cut is a thought that the endpoint keeps to itself.
    assert read(("", "length"), ("", "stop"), (" ", None)) == [(None, True), ("", False), (" ", False)]
    # Without a chat template, a model may well begin with line ends.
    assert read(("\n\n", "length"), is_chat=False) == [("\n\n", False)]


def test_thought_that_the_template_opened_and_that_was_cut_has_no_mark_but_is_known_from_the_others() -> None:
    others = [("False? </think> True", "stop"), ("Hm.</think> False", "stop"), ("No.", "stop")]
    assert read(("So it is false that", "length"), *others)[0] == (None, True)
    assert read(("So it is false that", "max_tokens"), *others)[0] == (None, True)
    # One reply of three with a stray mark says nothing about the template.
    assert read(("True, because", "length"), *others[1:], others[2])[0] == ("True, because", False)


def test_reasoning_is_no_part_of_a_reply_of_a_writer(tmp_path: Path) -> None:
    config = WriterConfig(name="w", engine="openai", model="x", base_url="http://a/v1")
    said = Reply("Fever may be present.")
    completions = {
        "a" * 32: (Completion("Fever may be present."), said),
        "b" * 32: (Completion("<think>Fever cannot be meant.</think>Fever may be present."), said),
        "c" * 32: (Completion("<think>Fever cannot"), Reply(None, UNFINISHED_REASONING)),
        "d" * 32: (Completion("Fever may be present.", reasoning="Fever cannot be meant."), said),
        "e" * 32: (Completion(None, "error", f"{PROMPT_TOO_LONG}: 9 of 8"), Reply(None, PROMPT_TOO_LONG)),
    }
    prompts = [Prompt("chat", "[]")] * len(completions)
    ResponseStore(tmp_path, "w-1").append(list(completions), prompts, [c for c, _ in completions.values()])
    expected = {key: reply for key, (_, reply) in completions.items()}
    assert read_replies(tmp_path, Writer(config, "w-1")) == expected
    # Other marks give other replies, although no file has changed.
    unmarked = Writer(config.model_copy(update={"reasoning_marks": ()}), "w-1")
    assert read_replies(tmp_path, unmarked)["c" * 32] == Reply("<think>Fever cannot")
