"""The text of prompts, in two styles and cut to fit, and the keys under which their answers are stored."""

import json
from typing import Any

import pytest

from pretexeval.config.engines import ModelConfig, WriterConfig
from pretexeval.config.tables import StorageConfig
from schemas.exchange import PROMPT_TOO_LONG, Prompt, Sampling, hash_prompt
from tasks.answers.reading import read_answer
from tasks.asking.prompts import (
    UNSURE_QUESTION,
    AskedQuestion,
    PromptForm,
    fit_prompt,
    join_case,
    render_answer,
)
from tasks.asking.writers import Writer
from tasks.evaluation.evaluation import Evaluation

SHOTS = [AskedQuestion("TFQ", f"Text {i}.").render_answered("TF"[i % 2]) for i in range(5)]
QUESTION = AskedQuestion("TFQ", 'It {0} "said" [X].').render()
COMPLETION = """\
Statement: "Text 0.", is the statement above true or false? Please answer True or False.
Answer: True

Statement: "Text 1.", is the statement above true or false? Please answer True or False.
Answer: False

Statement: "It {0} "said" [X].", is the statement above true or false? Please answer True or False.
Answer:"""
OPTIONS = ("Fever", "Itch", "Rash\n", "Cough")


def test_a_third_answer_is_offered_in_the_question_and_in_the_demonstrations() -> None:
    shot, asked = AskedQuestion("TFU", "Gout hurts.").render_answered("T"), AskedQuestion("TFU", "[X] heals.")
    assert PromptForm().render([shot], asked.render()).text == (
        'Statement: "Gout hurts.", is the statement above true or false? Please answer True or False, or '
        "Unsure if you do not know.\nAnswer: True\n\n"
        'Statement: "[X] heals.", is the statement above true or false? '
        "Please answer True or False, or Unsure if you do not know.\nAnswer:"
    )
    assert render_answer("TFU", "U") == "Unsure"
    assert UNSURE_QUESTION.format("[X] heals.") == asked.render()


def test_prompt_is_the_demonstrations_and_the_question_in_a_chat_as_one_user_turn() -> None:
    assert PromptForm().render(SHOTS[:2], QUESTION) == Prompt("completion", COMPLETION)
    user = {"role": "user", "content": COMPLETION}
    plain = PromptForm("chat").render(SHOTS[:2], QUESTION)
    assert plain.style == "chat"
    assert json.loads(plain.text) == [user]
    with_system = PromptForm("chat", "You are a clinician; β.").render(SHOTS[:2], QUESTION)
    assert json.loads(with_system.text) == [{"role": "system", "content": "You are a clinician; β."}, user]


def test_statement_follows_its_case_and_a_choice_shows_its_options_on_lines_of_their_own() -> None:
    shown = AskedQuestion("TFQ", join_case("He sweats.", "It is gout.")).render()
    assert shown.startswith('He sweats.\nStatement: "It is gout.", is the statement above true or false?')
    assert AskedQuestion("MCQ", "Which is a sign of [X]?", OPTIONS).render() == (
        "Question: Which is a sign of [X]?\nA: Fever\nB: Itch\nC: Rash\nD: Cough\n"
        "Please answer with the letter of the correct option.\nAnswer:"
    )
    assert "\nD: Cough\nProposed answer: C\n" in AskedQuestion("RQ", "Which?", OPTIONS, "C").render()


@pytest.mark.parametrize(
    ("type_", "answer"), [("MCQ", "B"), ("MAQ", "A,D"), ("TFQ", "F"), ("RQ", "T|C"), ("RQ", "F|A")]
)
def test_answers_of_demonstrations_are_read_as_they_are_meant(type_: str, answer: str) -> None:
    """A model that imitates the demonstrations must be understood."""
    options = () if type_ == "TFQ" else OPTIONS
    asked = AskedQuestion(type_, "Which?", options, "C" if type_ == "RQ" else None)
    reasoned = asked.render_answered(answer, "Fever is one. Itch is not.")
    thought = " Fever is one. Itch is not. Therefore, the answer is: " + render_answer(type_, answer)
    assert reasoned == asked.render(is_reasoned=True) + thought
    for shown in (asked.render_answered(answer), reasoned):
        response = shown.removeprefix(asked.render(is_reasoned=shown is reasoned))
        assert read_answer(type_, response, options, asked.offered).answer == answer


def test_long_prompt_drops_demonstrations_from_the_front() -> None:
    """A demonstration has 17 words and the question 16; the question alone may still be too long."""
    question = AskedQuestion("TFQ", "Some text.").render()
    expected = {None: 0, 101: 0, 100: 1, 84: 1, 83: 2, 33: 4, 32: 5, 1: 5}
    fitted = {n: fit_prompt(PromptForm(), SHOTS, question, n, lambda t: len(t.split())) for n in expected}
    assert {n: n_dropped for n, (_, n_dropped) in fitted.items()} == expected
    for prompt, n_dropped in fitted.values():
        assert prompt == PromptForm().render(SHOTS[n_dropped:], question)


def test_prompt_that_fits_by_its_bytes_is_not_tokenised() -> None:
    def refuse(text: str) -> int:
        raise AssertionError(text)

    question = AskedQuestion("TFQ", "é").render()
    n_bytes = len(PromptForm().render(SHOTS, question).text.encode())
    assert fit_prompt(PromptForm(), SHOTS, question, n_bytes + 1, refuse)[1] == 0
    with pytest.raises(AssertionError):
        fit_prompt(PromptForm(), SHOTS, question, n_bytes, refuse)


ENDPOINT = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://a/v1"}
SENT: list[dict[str, Any]] = [
    {"extra_body": {"reasoning_effort": "low"}},
    {"rename": {"max_tokens": "max_completion_tokens"}},
    {"leave_out": ["temperature"]},
]


def key_question(**settings: object) -> str:
    """Return the key of a prompt for an evaluated model with these settings."""
    model = ModelConfig.model_validate(ENDPOINT | settings)
    evaluation = Evaluation(StorageConfig(), "e", model)
    asked = evaluation.request_settings
    return hash_prompt(evaluation.model_id, asked.form.wrap("Fever?"), asked.sampling)


def test_keys_and_errors_of_stored_answers_stay_and_depend_on_what_is_sent_alone() -> None:
    plain = "09a92eb605386b5ff2f75ed458e5b90a"
    assert key_question() == plain
    other = {"prompt_style": "chat", "max_tokens": 64, "logprobs": True}
    assert key_question(**other) == "571506853e11499857c7d1416b3bb7cc"
    sent = [*SENT, {"temperature": 0.6}, {"seed": 1}]
    assert [key_question(**settings) for settings in sent] == [key_question(**settings) for settings in sent]
    assert len({plain, *(key_question(**settings) for settings in sent)}) == len(sent) + 1
    # The marks are read from stored answers. The order of settings means nothing.
    assert key_question(reasoning_marks=["[THINK]", "[/THINK]"]) == plain
    one = {"extra_body": {"a": 1, "b": {"c": 2, "d": 3}}, "leave_out": ["stop", "seed", "stream"]}
    two = {"extra_body": {"b": {"d": 3, "c": 2}, "a": 1}, "leave_out": ["seed", "stop"]}
    assert key_question(**one) == key_question(**two)
    assert PROMPT_TOO_LONG == "prompt too long"
    rendered = '{"logprobs":false,"max_tokens":8,"seed":null,"stop":[],"temperature":0.0}'
    assert Sampling(repeat=3).render_json() == Sampling().render_json() == rendered
    assert Sampling(top_p=0.8).render_json() != Sampling().render_json()


def test_keys_of_a_writer_stay_the_same_and_settings_are_part_of_the_edition() -> None:
    keys = {"chat": "cca8f27ce4f4d423a2402d903aa7f311", "completion": "ace3ebe0b841b839e919dbcac8de41c6"}
    for style, expected in keys.items():
        writer = Writer(WriterConfig.model_validate(ENDPOINT | {"prompt_style": style}), "w-1")
        assert writer.build_prompt("Say it.", 128, 0.7, 3).key == expected
        # The description is part of the edition, and so of its name.
        assert set(writer.describe()) == {"model_id", "prompt_style", "system_prompt"}
    for settings in (*SENT, {"reasoning_marks": []}):
        writer = Writer(WriterConfig.model_validate(ENDPOINT | settings), "w-1")
        assert settings.items() <= writer.describe().items()
