"""The keys under which the answers of a configured model or writer are stored.

They were computed before `extra_body` and its companions existed: a table that does not use these settings
keeps its keys, so that no stored answer is asked for again.
"""

import pytest

from pretexeval.config.engines import ModelConfig, WriterConfig
from pretexeval.config.tables import StorageConfig
from schemas.exchange import Sampling, hash_prompt
from tasks.asking.writers import Writer
from tasks.evaluation.evaluation import Evaluation

ENDPOINT = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://a/v1"}


def key_question(**settings: object) -> str:
    """Return the key of a prompt for an evaluated model with these settings."""
    model = ModelConfig.model_validate(ENDPOINT | settings)
    evaluation = Evaluation(StorageConfig(), "e", model)
    asked = evaluation.request_settings
    return hash_prompt(evaluation.model_id, asked.form.wrap("Fever?"), asked.sampling)


@pytest.mark.parametrize(
    ("settings", "expected"),
    [
        ({}, "09a92eb605386b5ff2f75ed458e5b90a"),
        (
            {"prompt_style": "chat", "max_tokens": 64, "logprobs": True},
            "571506853e11499857c7d1416b3bb7cc",
        ),
    ],
)
def test_keys_of_an_evaluated_model_stay_the_same(settings: dict[str, object], expected: str) -> None:
    assert key_question(**settings) == expected


@pytest.mark.parametrize(
    "settings",
    [
        {"extra_body": {"reasoning_effort": "low"}},
        {"rename": {"max_tokens": "max_completion_tokens"}},
        {"leave_out": ["temperature"]},
        {"temperature": 0.6},
        {"seed": 1},
    ],
)
def test_what_is_sent_is_part_of_the_key(settings: dict[str, object]) -> None:
    assert key_question(**settings) != key_question()
    assert key_question(**settings) == key_question(**settings)


def test_early_stop_is_part_of_the_key_only_if_it_is_set() -> None:
    table = {"name": "m", "model": "hub/model"}
    plain, same, early = (
        Evaluation(StorageConfig(), "e", ModelConfig.model_validate(table | settings))
        for settings in ({}, {"early_stop": False}, {"early_stop": True})
    )
    assert plain.model_id == same.model_id == early.model_id
    sampled = [each.request_settings.sampling.render_json() for each in (plain, same, early)]
    assert sampled[0] == sampled[1] != sampled[2]
    assert '"include_stop_str_in_output":true' in sampled[2]


def test_repeat_is_no_part_of_the_key() -> None:
    assert Sampling(repeat=3).render_json() == Sampling().render_json()
    assert Sampling(top_p=0.8).render_json() != Sampling().render_json()


def test_order_of_settings_is_no_part_of_the_key() -> None:
    one = {"extra_body": {"a": 1, "b": {"c": 2, "d": 3}}, "leave_out": ["stop", "seed"]}
    two = {"extra_body": {"b": {"d": 3, "c": 2}, "a": 1}, "leave_out": ["seed", "stop"]}
    assert key_question(**one) == key_question(**two)


def test_reasoning_marks_are_read_from_stored_answers_so_they_change_no_key() -> None:
    assert key_question(reasoning_marks=["[THINK]", "[/THINK]"]) == key_question()


@pytest.mark.parametrize(
    ("style", "expected"),
    [("chat", "cca8f27ce4f4d423a2402d903aa7f311"), ("completion", "ace3ebe0b841b839e919dbcac8de41c6")],
)
def test_keys_of_a_writer_stay_the_same(style: str, expected: str) -> None:
    writer = Writer(WriterConfig.model_validate(ENDPOINT | {"prompt_style": style}), "w-1")
    assert writer.build_prompt("Say it.", 128, 0.7, 3).key == expected
    # The description is part of the edition, and so of its name.
    assert set(writer.describe()) == {"model_id", "prompt_style", "system_prompt"}


@pytest.mark.parametrize(
    "settings",
    [
        {"extra_body": {"reasoning_effort": "low"}},
        {"rename": {"max_tokens": "max_completion_tokens"}},
        {"leave_out": ["temperature"]},
        {"reasoning_marks": []},
    ],
)
def test_settings_of_a_writer_are_part_of_the_edition(settings: dict[str, object]) -> None:
    writer = Writer(WriterConfig.model_validate(ENDPOINT | settings), "w-1")
    (name,) = settings
    assert writer.describe()[name] == settings[name]
