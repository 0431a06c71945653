"""Judges: how they are asked, what their answers mean, and what they do to the name of an edition."""

import json
import math
from typing import Any

import pytest
from pydantic import ValidationError

from pretexeval.config.engines import WriterConfig
from pretexeval.config.file import Config
from pretexeval.config.tables import JudgeConfig
from schemas.exchange import hash_prompt
from tasks.asking.writers import Reply, Writer
from tasks.judging.judge import Judge, Thresholds, combine_scores

WRITER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
STATEMENT, TEXT = "Salbutamol may treat asthma.", "Asthma may be treated by salbutamol."


def make_judge(**table: Any) -> Judge:  # noqa: ANN401
    return Judge(WRITER, JudgeConfig(**table))


def test_a_judge_finds_the_answers_that_are_stored() -> None:
    judge = make_judge(writer="j")
    (prompt, _) = judge.build_prompts(STATEMENT, TEXT)
    assert prompt.key == "65231ebb0d8791052f4cf3ab49d5f526"
    assert not judge.has_scores


def test_log_probabilities_are_asked_for_and_give_the_score() -> None:
    judge = make_judge(writer="j", logprobs=True)
    prompt, _ = judge.build_prompts(STATEMENT, TEXT)
    assert prompt.sampling.answer_words == ("Yes", "No")
    assert prompt.key != make_judge(writer="j").build_prompts(STATEMENT, TEXT)[0].key
    assert judge.read_score(Reply("Yes.", logprobs=(math.log(0.6), math.log(0.2)))) == pytest.approx(0.75)
    # An engine that gives none leaves the words.
    assert [judge.read_score(Reply(text)) for text in ("Yes.", "No.", "Perhaps.", None)] == [
        1.0,
        0.0,
        None,
        None,
    ]


def test_an_entailment_model_is_asked_for_pairs_and_its_label_gives_the_score() -> None:
    judge = make_judge(model="org/nli")
    forth, back = judge.build_prompts(STATEMENT, TEXT)
    assert [json.loads(each.prompt.text) for each in (forth, back)] == [[STATEMENT, TEXT], [TEXT, STATEMENT]]
    assert forth.key == hash_prompt(WRITER.model_id, forth.prompt, forth.sampling)
    assert judge.read_score(Reply('{"contradiction":0.1,"entailment":0.7,"neutral":0.2}')) == 0.7
    assert judge.read_score(Reply('{"ENTAILMENT":0.4,"not_entailment":0.6}')) == 0.4


def test_the_verdict_is_the_score_against_the_threshold() -> None:
    judge = Judge(WRITER, JudgeConfig(model="org/nli"), Thresholds(0.7))
    assert [judge.decide(score) for score in (0.7, 0.69, None)] == [True, False, None]
    assert combine_scores(0.9, 0.2) == 0.2
    assert combine_scores(0.9, None) is None


def test_only_a_judge_that_lifts_is_asked_about_what_the_rules_reject() -> None:
    lifting = Thresholds(0.5, lift=0.9)
    judge = Judge(WRITER, JudgeConfig(model="org/nli"), lifting)
    assert judge.is_asked(())
    assert judge.is_asked(("tail lost", "roles"))
    assert not judge.is_asked(("tail lost", "polarity"))
    assert not judge.is_asked(("unchanged",))
    other = Judge(WRITER, JudgeConfig(model="org/nli"))
    assert other.is_asked(())
    assert not other.is_asked(("tail lost",))
    assert [lifting.is_lifted(score) for score in (0.9, 0.89, None)] == [True, False, False]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"writer": "pen", "model": "org/nli"}, "writer and model are both given"),
        ({"writer": "pen", "revision": "1"}, "revision is not allowed without model"),
        ({"model": "m", "logprobs": True}, "logprobs is not allowed without writer"),
        ({"model": "m", "instruction": "{premise}"}, "instruction must contain {conclusion}"),
    ],
)
def test_settings_that_contradict_each_other_are_refused(table: dict[str, Any], problem: str) -> None:
    with pytest.raises(ValidationError, match=problem):
        JudgeConfig(**table)


def test_an_entailment_model_is_a_judge_and_nothing_else() -> None:
    pen = {"name": "pen", "model": "org/pen"}
    with pytest.raises(ValidationError, match=r"judge\.model is not allowed without rephraser.kind"):
        Config.model_validate({"judge": {"model": "org/nli"}})
    with pytest.raises(ValidationError, match=r"an entailment model is given as model in \[judge\]"):
        Config.model_validate({"writers": [pen | {"engine": "entailment"}]})
    config = Config.model_validate(
        {"writers": [pen], "rephraser": {"kind": "model", "writer": "pen"}, "judge": {"model": "org/nli"}}
    )
    assert [writer.name for writer in config.list_writers()] == ["pen", "nli"]
    assert config.find_judge() == config.judge.to_writer()
