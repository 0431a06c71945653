"""Thoughts of a model that reasons, which are no part of its answer or reply."""

import csv
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.engines import ModelConfig, WriterConfig
from pretexeval.engines.thoughts import SplitReply, opens_thought, split_reply
from pretexeval.storage.responses import ResponseStore
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from tasks.answers.reading import read_statement
from tasks.asking.reasoning import name_ending, read_answers
from tasks.asking.writers import UNFINISHED_REASONING, Reply, Writer, read_replies


def test_answer_follows_the_last_thought() -> None:
    answers = {
        "True": "True",
        "": "",
        "<think>False might be right.</think> True": " True",
        "The template opened this thought: False? </think>\nTrue": "\nTrue",
        "<think>False?</think> Hm. <think>False!</think> True": " True",
        "<think></think>True": "True",
        "It is true.</think>\n": "\n",
        "<think>False": None,
        "<think>False?</think> True <think>or": None,
        "<think>B?</think>It is <|begin_of_box|>C<|end_of_box|>.": "It is <|begin_of_box|>C<|end_of_box|>.",
        "<a>C</a><reason>B fails.</reason></a>": "<a>C</a><reason>B fails.</reason></a>",
    }
    assert {response: split_reply(response).answer for response in answers} == answers


# Families of models: what stands before and after a thought, as in their templates or reasoning parsers.
with Path(__file__).with_name("thoughts.csv").open(encoding="utf-8", newline="") as file:
    FAMILIES = {row["family"]: (row["opening"], row["rest"]) for row in csv.DictReader(file)}


@pytest.mark.parametrize("family", FAMILIES)
def test_thought_of_a_family_of_models_is_removed_and_a_cut_one_is_no_answer(family: str) -> None:
    thought = "It is true that both are named, but"
    opening, rest = FAMILIES[family]
    is_tag = opening[0] in "<[◁⟨"
    glued = (opening.strip(), rest.replace("\n", "")) if is_tag else (opening, rest)
    for begin, end in ((opening, rest), glued, ("", rest)):
        assert read_statement(split_reply(begin + thought + end).answer) is False
        place = split_reply(begin + thought + end).thought
        assert place is not None
        assert thought in (begin + thought + end)[slice(*place)] or not begin
    assert split_reply(opening + thought).answer is None
    # The marks of a thought that the template opens are at the end of the prompt.
    assert opens_thought(f"True or false?\n{opening}") == (not opening.startswith("analysis"))


def test_what_looks_like_a_mark_is_none() -> None:
    plain = (
        "The analysis is true.",
        "Thought: true",
        "A reasonable <b>answer</b>: True",
        "[1] True",
        "<5 True",
    )
    assert tuple(split_reply(text).answer for text in plain) == plain
    # A heading closes only the thought that a heading opens, and opens none below an answer.
    for text in ("False\n\n## Reasoning\nIt is true of mice.", "It is not.\n\n## Final Answer\nFalse"):
        assert split_reply(text) == SplitReply(text)
    assert split_reply("**Thinking:**\nTrue?\n\n**Answer:** False").answer == "False"
    assert split_reply("<think>\n## Final Answer\nTrue. But").answer is None
    assert split_reply('<details type="reasoning" done="true">\nTrue?\n</details>\nFalse').answer == "\nFalse"
    assert split_reply("### Reasoning\n\nIt is true, but").answer is None
    # A thought after the answer explains it.
    assert split_reply("True\n<reasoning>It is not false.</reasoning>").answer == "True\n"


def test_marks_of_a_configuration_are_those_of_known_families_unless_it_names_some() -> None:
    def find(**marks: object) -> object:
        return ModelConfig.model_validate({"name": "m", "model": "x", **marks}).reasoning_marks

    assert find() is None
    assert find(reasoning_marks=[]) == ()
    assert find(reasoning_marks=["", "</think>"]) == ("", "</think>")
    for marks in (["<think>"], ["<think>", ""], ["|", "|"], ["a", "b", "c"]):
        with pytest.raises(ValueError, match="give the opening and the closing mark"):
            find(reasoning_marks=marks)
    assert split_reply("<think>False</think> True", ()).answer == "<think>False</think> True"
    # A template that opens every thought is an empty opening mark.
    assert split_reply("False? ⟦ True", ("", "⟦")).answer == " True"
    assert split_reply("False?", ("", "⟦")).answer is None


def test_every_finish_reason_is_one_of_few_endings() -> None:
    endings = {
        "natural": ("stop", "STOP", "eos_token", "end_turn", "COMPLETE", "FINISH_REASON_STOP", "toolCalls"),
        "cut": ("length", "MAX_TOKENS", "model_length", "REASON_MAX_LEN", "NOT_FINISHED", "ERROR_LIMIT"),
        "refused": ("refusal",),
        "filtered": ("content_filter", "SAFETY", "ContentFilter", "guardrail_intervened", "ERROR_TOXIC"),
        "failed": ("abort", "error", "rate_limit_error", "userStopped", "UNEXPECTED_TOOL_CALL"),
        "unknown": (None, "", "other", "FINISH_REASON_UNSPECIFIED"),
    }
    for ending, reasons in endings.items():
        assert {reason: name_ending(reason) for reason in reasons} == dict.fromkeys(reasons, ending)


def read(
    *rows: tuple[str | None, str | None],
    is_chat: bool = True,
    max_tokens: int | None = None,
    n_tokens: int = 1,
) -> list[tuple[str | None, bool]]:
    """Return (answer, is_unfinished_reasoning) of rows (response, finish_reason)."""
    frame = pl.DataFrame(rows, {"response": pl.String, "finish_reason": pl.String}, orient="row")
    frame = frame.with_columns(n_completion_tokens=pl.lit(n_tokens, pl.Int32))
    answers = read_answers(frame, None, is_chat=is_chat, max_tokens=max_tokens)
    return answers.select("answer", "is_unfinished_reasoning").rows()


def test_thought_that_does_not_end_is_no_answer_and_is_counted() -> None:
    responses = (("<think>False", "length"), ("True", "stop"), (None, None), ("<think>False", "stop"))
    assert read(*responses) == [(None, True), ("True", False), (None, False), (None, True)]
    # An empty chat reply that was cut is a thought that the endpoint keeps to itself.
    empty = (("", "length"), ("", "model_length"), ("", "stop"), (" ", None))
    assert read(*empty) == [(None, True), (None, True), ("", False), (" ", False)]
    assert read(("", "stop"), max_tokens=8, n_tokens=8) == [(None, True)]
    # Without a chat template, a model may well begin with line ends.
    assert read(("\n\n", "length"), is_chat=False) == [("\n\n", False)]


@pytest.mark.parametrize("natural", ["stop", "eos_token", "end_turn", "STOP", "other", None])
@pytest.mark.parametrize("cut", ["length", "max_tokens", "stop", None])
def test_thought_that_the_template_opened_and_that_was_cut_is_known_from_the_others(
    natural: str | None, cut: str | None
) -> None:
    thought = "It is true that both are often named together, but here we have to look closer. " * 4
    rows = [(f"{thought}</think>\nFalse", natural)] * 2 + [(thought, cut)] * 3
    expected = [("\nFalse", False)] * 2 + [(None, True)] * 3
    assert (read(*rows, max_tokens=64, n_tokens=64) == expected) or natural == cut == "stop"
    assert read((f"{thought}</think>\nFalse", natural), (thought, "length"))[1] == (None, True)
    # One reply of three with a stray mark says nothing about the template.
    plain = [("No.", natural), ("Yes.", natural), ("Hm.</think> False", natural)]
    assert read(*plain)[0] == ("No.", False)


def test_refusals_are_the_same_outcome_with_any_status_and_a_failed_reply_is_none() -> None:
    said = "HTTP 400: Error code: 400 - filtered due to Azure OpenAI's content management policy"
    rows = [
        ("True, but", None, "content_filter"),
        ("", None, "refusal"),
        (None, said, None),
        (None, "HTTP 400: Error code: 400 - Unknown parameter: safety_tier", None),
        ("Tr", None, "error"),
    ]
    names = ("response", "error", "finish_reason")
    frame = pl.DataFrame(rows, dict.fromkeys(names, pl.String), orient="row")
    answers = read_answers(frame, None, is_chat=True)
    assert answers["is_refused"].to_list() == [True, True, True, False, False]
    assert answers["answer"].null_count() == 5
    assert answers["response"].null_count() == 3
    assert answers["error"][4] == "the answer was cut short (finish_reason error)"


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
