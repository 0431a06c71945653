"""Samples that are asked with a third answer, beside the same samples with two answers."""

from collections.abc import Sequence
from dataclasses import replace

import polars as pl

from pretexeval.config.engines import ModelConfig
from pretexeval.config.file import Config
from pretexeval.config.questions import UNSURE
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.model_session import Advance
from tasks.asking.prompts import ASK_TRUTH, ASK_UNSURE
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.subject import ANSWER_TEXTS, select_subject
from tests.support.command import read_bytes
from tests.support.evaluations import CountingEngine, ask_model, finish, list_keys, list_prompts


class Doubter(CountingEngine):
    """Says that it is unsure wherever this is offered, and otherwise True."""

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: Advance | None = None
    ) -> list[Completion]:
        self.n_asked += len(prompts)
        asked = [prompt.text.rpartition("Statement:")[2] for prompt in prompts]
        return [Completion(" Unsure" if ASK_UNSURE in text else " True") for text in asked]


def select(evaluation: Evaluation, *, unsure: bool) -> Evaluation:
    """Return the evaluation of a model with `unsure = true`: with two answers, or with three."""
    model = evaluation.model.model_copy(update={"unsure": True})
    subject = select_subject(Config(), model, UNSURE if unsure else None)
    return replace(evaluation, model=model, subject=subject)


def test_a_third_answer_leaves_everything_about_two_answers_as_it_is(evaluation: Evaluation) -> None:
    finish(evaluation, ask_model(evaluation, lambda _: Doubter()))
    before = read_bytes(evaluation.root)
    two, three = select(evaluation, unsure=False), select(evaluation, unsure=True)
    assert two.model_id == three.model_id == evaluation.model_id
    assert list_keys(two) == list_keys(evaluation)
    assert not set(list_keys(three)) & set(list_keys(two))
    assert ask_model(two, lambda _: Doubter()).n_asked == 0
    report = ask_model(three, lambda _: Doubter())
    assert report.n_asked == len(set(list_keys(two)))
    finish(three, report)
    after = read_bytes(evaluation.root)
    assert {name: after[name] for name in before} == before
    answers = pl.read_parquet(evaluation.root / three.folder / "predictions" / "*.parquet")
    assert answers.select("prediction", "is_correct").unique().rows() == [("U", False)]
    assert three.folder.startswith("unsure_predictions/")


def test_the_prompts_differ_in_the_offer_alone(evaluation: Evaluation) -> None:
    two, three = (list_prompts(select(evaluation, unsure=unsure)) for unsure in (False, True))
    assert [prompt.text.replace(ASK_UNSURE, ASK_TRUTH) for prompt in three] == [prompt.text for prompt in two]
    assert all(prompt.text.count(ASK_UNSURE) == 6 for prompt in three)


def test_no_answer_of_three_is_cut_off(evaluation: Evaluation) -> None:
    model = ModelConfig(name="m", model="m", early_stop=True)
    early = select(replace(evaluation, model=model), unsure=True)
    assert select(replace(evaluation, model=model), unsure=False).request_settings.sampling.stop[1:] == (
        ANSWER_TEXTS
    )
    sampling = early.subject.build_sampling(model)
    assert sampling.stop == ("Statement",)
    assert sampling == early.subject.build_sampling(model.model_copy(update={"early_stop": False}))
