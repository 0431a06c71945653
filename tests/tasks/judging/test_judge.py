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


def make_judge(thresholds: Thresholds = Thresholds(), **table: Any) -> Judge:  # noqa: ANN401, B008
    return Judge(WRITER, JudgeConfig(**table), thresholds)


def test_log_probabilities_are_asked_for_and_give_the_score() -> None:
    plain, judge = make_judge(writer="j"), make_judge(writer="j", logprobs=True)
    (of_plain, _), (prompt, _) = plain.build_prompts(STATEMENT, TEXT), judge.build_prompts(STATEMENT, TEXT)
    # The key of answers that are stored.
    assert of_plain.key == "65231ebb0d8791052f4cf3ab49d5f526" != prompt.key
    assert not plain.has_scores
    assert prompt.sampling.answer_words == ("Yes", "No")
    assert judge.read_score(Reply("Yes.", logprobs=(math.log(0.6), math.log(0.2)))) == pytest.approx(0.75)
    # An engine that gives none leaves the words.
    scores = {"Yes.": 1.0, "No.": 0.0, "Perhaps.": None, None: None}
    assert {text: judge.read_score(Reply(text)) for text in scores} == scores


def test_an_entailment_model_is_asked_for_pairs_and_its_label_gives_the_score() -> None:
    judge = make_judge(model="org/nli")
    forth, back = judge.build_prompts(STATEMENT, TEXT)
    assert [json.loads(each.prompt.text) for each in (forth, back)] == [[STATEMENT, TEXT], [TEXT, STATEMENT]]
    assert forth.key == hash_prompt(WRITER.model_id, forth.prompt, forth.sampling)
    assert judge.read_score(Reply('{"contradiction":0.1,"entailment":0.7,"neutral":0.2}')) == 0.7
    assert judge.read_score(Reply('{"ENTAILMENT":0.4,"not_entailment":0.6}')) == 0.4


def test_the_verdict_is_the_score_against_the_threshold_and_a_lifting_judge_hears_of_rejections() -> None:
    judge = make_judge(Thresholds(0.7), model="org/nli")
    assert [judge.decide(score) for score in (0.7, 0.69, None)] == [True, False, None]
    assert combine_scores(0.9, 0.2) == 0.2
    assert combine_scores(0.9, None) is None
    lifting = Thresholds(0.5, lift=0.9)
    assert [lifting.is_lifted(score) for score in (0.9, 0.89, None)] == [True, False, False]
    reasons = ["", "tail lost", "tail lost, roles", "tail lost, polarity", "unchanged"]
    rejections = [tuple(text.split(", ")) if text else () for text in reasons]
    asked = [make_judge(lifting, model="org/nli").is_asked(each) for each in rejections]
    assert asked == [True, True, True, False, False]
    assert [judge.is_asked(each) for each in rejections] == [True, False, False, False, False]


def test_settings_that_contradict_each_other_are_refused() -> None:
    tables: tuple[tuple[dict[str, Any], str], ...] = (
        ({"writer": "pen", "model": "org/nli"}, "writer and model are both given"),
        ({"writer": "pen", "revision": "1"}, "revision is not allowed without model"),
        ({"model": "m", "logprobs": True}, "logprobs is not allowed without writer"),
        ({"model": "m", "instruction": "{premise}"}, "instruction must contain {conclusion}"),
    )
    for table, problem in tables:
        with pytest.raises(ValidationError, match=problem):
            JudgeConfig(**table)
    # An entailment model is a judge and nothing else.
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
