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
from tasks.judging.judge import Judge, Thresholds, combine_scores, mask_names

WRITER = Writer(WriterConfig(name="j", model="org/j"), "j-00000000")
STATEMENT, TEXT = "Salbutamol may treat asthma.", "Asthma may be treated by salbutamol."
ASKED = (STATEMENT, TEXT, ("salbutamol",), ("asthma",))


def make_judge(**table: Any) -> Judge:  # noqa: ANN401
    return Judge(WRITER, JudgeConfig(**table))


def test_a_judge_of_earlier_editions_asks_the_same_prompts_and_keeps_its_description() -> None:
    judge = make_judge(writer="j", is_binding=False)
    (prompt, _) = judge.build_prompts(*ASKED)
    assert prompt.key == "65231ebb0d8791052f4cf3ab49d5f526"
    table = JudgeConfig()
    assert judge.describe() == {**WRITER.describe(), "instruction": table.instruction, "is_binding": False}
    assert not judge.has_scores


def test_log_probabilities_are_asked_for_and_give_the_score() -> None:
    judge = make_judge(writer="j", logprobs=True)
    prompt, _ = judge.build_prompts(*ASKED)
    assert prompt.sampling.answer_words == ("Yes", "No")
    assert prompt.key != make_judge(writer="j").build_prompts(*ASKED)[0].key
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
    forth, back = judge.build_prompts(*ASKED)
    assert [json.loads(each.prompt.text) for each in (forth, back)] == [[STATEMENT, TEXT], [TEXT, STATEMENT]]
    assert forth.key == hash_prompt(WRITER.model_id, forth.prompt, forth.sampling)
    assert judge.read_score(Reply('{"contradiction":0.1,"entailment":0.7,"neutral":0.2}')) == 0.7
    assert judge.read_score(Reply('{"ENTAILMENT":0.4,"not_entailment":0.6}')) == 0.4


def test_the_verdict_is_the_score_against_the_threshold() -> None:
    judge = Judge(WRITER, JudgeConfig(model="org/nli"), Thresholds(0.7))
    assert [judge.decide(score) for score in (0.7, 0.69, None)] == [True, False, None]
    assert combine_scores(0.9, 0.2) == 0.2
    assert combine_scores(0.9, None) is None


def test_only_a_judge_that_lifts_and_binds_is_asked_about_what_the_rules_reject() -> None:
    lifting = Thresholds(0.5, lift=0.9)
    judge = Judge(WRITER, JudgeConfig(model="org/nli"), lifting)
    assert judge.is_asked(())
    assert judge.is_asked(("tail lost", "roles"))
    assert not judge.is_asked(("tail lost", "polarity"))
    assert not judge.is_asked(("unchanged",))
    for other in (
        Judge(WRITER, JudgeConfig(model="org/nli")),
        Judge(WRITER, JudgeConfig(model="org/nli", is_binding=False), lifting),
    ):
        assert other.is_asked(())
        assert not other.is_asked(("tail lost",))
    assert [lifting.is_lifted(score) for score in (0.9, 0.89, None)] == [True, False, False]


def test_names_are_masked_where_both_texts_have_them() -> None:
    texts = ("Breast cancer may cause pain.", "Pain may be due to breast-cancers; painful is another word.")
    assert mask_names(texts, ("breast cancer",), ("pain",)) == (
        "X may cause Y.",
        "Y may be due to X; painful is another word.",
    )
    lost = ("Asthma may cause pain.", "Asthma may cause an ache.")
    assert mask_names(lost, ("asthma",), ("pain",)) == ("X may cause pain.", "X may cause an ache.")
    assert mask_names(("pain in lung pain",), ("pain",), ("lung pain",)) == ("X in Y",)
    aliases = ("mammary carcinoma", "breast cancer of women")
    named = ("Breast cancer may cause pain.", "Pain may be due to breast cancer of women.")
    assert mask_names(named, ("breast cancer", *aliases), ("pain",))[1] == "Y may be due to X."
    judge = make_judge(model="org/nli", mask_names=True)
    assert json.loads(judge.build_prompts(*ASKED)[0].prompt.text) == [
        "X may treat Y.",
        "Y may be treated by X.",
    ]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ({"writer": "pen", "model": "org/nli"}, "writer and model are both given"),
        ({"writer": "pen", "mask_names": True}, "mask_names is not allowed without model"),
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
