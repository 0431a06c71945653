"""The keys under which the answers of a configured model or writer are stored.

They were computed before `extra_body` and its companions existed: a table that does not use these settings
keeps its keys, so that no stored answer is asked for again.
"""

from typing import Any

from pretexeval.config.engines import ModelConfig, WriterConfig
from pretexeval.config.tables import StorageConfig
from schemas.exchange import Sampling, hash_prompt
from tasks.asking.writers import Writer
from tasks.evaluation.evaluation import Evaluation

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


def test_keys_of_an_evaluated_model_depend_on_what_is_sent_alone() -> None:
    plain = "09a92eb605386b5ff2f75ed458e5b90a"
    assert key_question() == plain
    other = {"prompt_style": "chat", "max_tokens": 64, "logprobs": True}
    assert key_question(**other) == "571506853e11499857c7d1416b3bb7cc"
    sent = [*SENT, {"temperature": 0.6}, {"seed": 1}]
    assert [key_question(**settings) for settings in sent] == [key_question(**settings) for settings in sent]
    assert len({plain, *(key_question(**settings) for settings in sent)}) == len(sent) + 1
    # The marks are read from stored answers. The order of settings means nothing.
    assert key_question(reasoning_marks=["[THINK]", "[/THINK]"]) == plain
    one = {"extra_body": {"a": 1, "b": {"c": 2, "d": 3}}, "leave_out": ["stop", "seed"]}
    two = {"extra_body": {"b": {"d": 3, "c": 2}, "a": 1}, "leave_out": ["seed", "stop"]}
    assert key_question(**one) == key_question(**two)
    assert Sampling(repeat=3).render_json() == Sampling().render_json()
    assert Sampling(top_p=0.8).render_json() != Sampling().render_json()


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
