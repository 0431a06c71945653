import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig
from tasks.asking.reasoning import find_marks, read_answers
from tasks.asking.thoughts import NO_MARKS, THINK_MARKS, ReasoningMarks, remove_reasoning


@pytest.mark.parametrize(
    ("response", "answer"),
    [
        ("True", "True"),
        ("", ""),
        ("<think>False might be right.</think> True", " True"),
        ("The template opened this thought: False? </think>\nTrue", "\nTrue"),
        ("<think>False?</think> Hm. <think>False!</think> True", " True"),
        ("<think></think>True", "True"),
        ("<think>False", None),
        ("<think>False?</think> True <think>or", None),
    ],
)
def test_answer_follows_the_last_thought(response: str, answer: str | None) -> None:
    assert remove_reasoning(response) == answer


def test_template_that_opens_every_thought_is_an_empty_opening_mark() -> None:
    marks = ReasoningMarks("", "</think>")
    assert remove_reasoning("False? </think> True", marks) == " True"
    assert remove_reasoning("False?", marks) is None


def test_without_marks_everything_is_the_answer() -> None:
    assert remove_reasoning("<think>False</think> True", NO_MARKS) == "<think>False</think> True"


@pytest.mark.parametrize(
    ("given", "expected"),
    [
        ({}, THINK_MARKS),
        ({"reasoning_marks": []}, NO_MARKS),
        ({"reasoning_marks": ["", "</think>"]}, ReasoningMarks("", "</think>")),
    ],
)
def test_marks_of_a_configuration(given: dict[str, object], expected: ReasoningMarks) -> None:
    assert find_marks(ModelConfig.model_validate({"name": "m", "model": "x", **given})) == expected


@pytest.mark.parametrize("marks", [["<think>"], ["<think>", ""], ["|", "|"], ["a", "b", "c"]])
def test_marks_that_cannot_be_told_apart_are_refused(marks: list[str]) -> None:
    with pytest.raises(ValueError, match="give the opening and the closing mark"):
        ModelConfig.model_validate({"name": "m", "model": "x", "reasoning_marks": marks})


def read(*rows: tuple[str | None, str | None], is_chat: bool = True) -> list[tuple[str | None, bool]]:
    """Return (answer, is_unfinished_reasoning) of rows (response, finish_reason)."""
    frame = pl.DataFrame(rows, {"response": pl.String, "finish_reason": pl.String}, orient="row")
    found = read_answers(frame, THINK_MARKS, is_chat=is_chat)
    return found.select("answer", "is_unfinished_reasoning").rows()


def test_thought_that_does_not_end_is_no_answer_and_is_counted() -> None:
    assert read(("<think>False", "length"), ("True", "stop"), (None, None)) == [
        (None, True),
        ("True", False),
        (None, False),
    ]


def test_empty_chat_reply_that_was_cut_is_a_thought_that_the_endpoint_keeps_to_itself() -> None:
    assert read(("", "length"), ("", "stop"), (" ", None)) == [(None, True), ("", False), (" ", False)]
    # Without a chat template, a model may well begin with line ends.
    assert read(("\n\n", "length"), is_chat=False) == [("\n\n", False)]


def test_thought_that_the_template_opened_and_that_was_cut_has_no_mark_but_is_known_from_the_others() -> None:
    others = [("False? </think> True", "stop"), ("Hm.</think> False", "stop"), ("No.", "stop")]
    assert read(("So it is false that", "length"), *others)[0] == (None, True)
    # One reply of three with a stray mark says nothing about the template.
    assert read(("True, because", "length"), *others[1:], others[2])[0] == ("True, because", False)
