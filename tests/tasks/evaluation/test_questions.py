"""Questions put to a model: from the edition to predictions, with repeats and chains of thought."""

import time
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.questions import Setting
from pretexeval.engines.token_counter import TokenCounter
from pretexeval.storage.store import Store
from schemas.columns import Stage
from schemas.exchange import Sampling
from schemas.stages import PREDICTIONS, READINGS, REQUESTS
from tasks.asking.prompts import AskedQuestion, render_answer
from tasks.evaluation import chains
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.missing_answers import AskingReport
from tasks.evaluation.run_record import is_complete
from tests.support.evaluations import Scripted, ask_model, finish, ignore
from tests.support.tiny_llama import save_tokenizer
from tests.tasks.evaluation.conftest import build_questions


def plan(folder: Path, setting: Setting, **chain: object) -> Evaluation:
    """Return the evaluation of a model on the questions of a new edition, in one setting."""
    model = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    config, edition_id = build_questions(folder, setting, models=[model], chain_of_thought=chain)
    return plan_evaluation(config, edition_id, "m", setting)


def evaluate(evaluation: Evaluation, engine: Scripted) -> AskingReport:
    if evaluation.subject.asks_for_chains:
        requests = chains.list_chain_requests(evaluation)
        chains.ask_chains(evaluation, requests, Store(evaluation.storage), ignore, engine.load)
    report = ask_model(evaluation, engine.load)
    finish(evaluation, report)
    return report


def read(evaluation: Evaluation, stage: Stage) -> pl.DataFrame:
    return pl.read_parquet(evaluation.root / evaluation.folder / stage.name / "*.parquet")


def read_questions(evaluation: Evaluation) -> pl.DataFrame:
    return pl.concat(pl.read_parquet(evaluation.root / path) for path in evaluation.row_files())


def find_answers(evaluation: Evaluation) -> dict[str, str]:
    """Return the part of a prompt that identifies its question -> the right answer in words."""
    return {
        AskedQuestion(type_, *asked).render(): render_answer(type_, answer)
        for answer, type_, *asked in read_questions(evaluation)
        .select("answer", "type", "text", "options", "offered")
        .iter_rows()
    }


def test_model_that_knows_everything_is_right_in_every_question(tmp_path: Path) -> None:
    evaluation = plan(tmp_path, "answer_only")
    answers = find_answers(evaluation)

    def know(prompt: str, _: Sampling) -> str:
        return " " + answers[prompt.rpartition("\n\n")[2]]

    engine = Scripted(know)
    report = evaluate(evaluation, engine)
    predictions = read(evaluation, PREDICTIONS)
    rows = read_questions(evaluation)
    questions, held_out = rows.filter(split="test"), set(rows.filter(split="demonstration")["head"])
    assert predictions["is_correct"].all()
    assert set(predictions["item_id"]) == set(questions["question_id"])
    assert set(questions["type"]) == {"MCQ", "RQ", "MAQ", "TFQ"}
    assert report.n_samples == questions.height
    assert len(engine.asked) == len({prompt for prompt, _ in engine.asked})
    for prompt, _ in engine.asked:
        *shots, _ = prompt.split("\n\n")
        assert 1 <= len(shots) <= 5
        assert all(any(head in shot for head in held_out) for shot in shots)
    assert is_complete(evaluation)
    reasoned = replace(evaluation.subject, setting="chain_of_thought")
    assert not is_complete(replace(evaluation, subject=reasoned))


def test_chains_are_kept_where_they_reach_the_right_answer(tmp_path: Path) -> None:
    evaluation = plan(tmp_path, "chain_of_thought", repeats=2)
    answers = find_answers(evaluation)
    held_out = read_questions(evaluation).filter(split="demonstration")

    def reason(prompt: str, sampling: Sampling) -> str:
        question = prompt.rpartition("\n\n")[2].removesuffix("\nLet's think step by step.") + "\nAnswer:"
        right = answers[question] if sampling.repeat == 1 else "Nothing"
        return f" Drugs differ. Some fit. Therefore, the answer is: {right}"

    engine = Scripted(reason)
    evaluate(evaluation, engine)
    row = read_questions(evaluation).filter(type="TFQ", answer="T").row(0, named=True)
    assert chains.extract_chain(evaluation, row, " It fits. So the answer is: True") == "It fits."
    # A hostile response is cut in linear time.
    started = time.process_time()
    for response in ("A " * 50_000, "answer " * 25_000, "(" * 50_000):
        chains.extract_chain(evaluation, row, f" True. {response}")
    assert time.process_time() - started < 2
    kept = chains.read_chains(evaluation)
    assert set(kept.values()) == {"Drugs differ. Some fit."}
    assert set(kept) <= set(held_out["question_id"])
    with_shots = [prompt for prompt, _ in engine.asked if "\n\n" in prompt]
    assert with_shots
    assert all("Drugs differ. Some fit. Therefore, the answer is:" in prompt for prompt in with_shots)
    # Every repeat has its own seed and is kept, and the only answer of the two has the majority.
    assert {sampling.seed_of_repeat for _, sampling in engine.asked} == {0, 1}
    assert {sampling.top_p for _, sampling in engine.asked} == {0.8}
    assert set(read(evaluation, READINGS).group_by("item_id").len()["len"]) == {2}
    predictions = read(evaluation, PREDICTIONS)
    assert predictions["is_correct"].all()
    assert set(predictions["n_agreeing"]) == {1}


def test_long_chains_are_dropped_until_the_prompt_fits_a_hub_model(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    snapshot = tmp_path / "hub" / "models--org--tiny" / "snapshots" / "abc"
    save_tokenizer(snapshot)
    (snapshot / "config.json").write_text("{}")
    (snapshot.parents[1] / "refs").mkdir()
    (snapshot.parents[1] / "refs" / "main").write_text("abc")
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    model = {"name": "m", "model": "org/tiny", "max_model_len": 1500}
    chain = {"repeats": 1, "max_tokens": 300}
    config, edition_id = build_questions(tmp_path, "chain_of_thought", models=[model], chain_of_thought=chain)
    evaluation = plan_evaluation(config, edition_id, "m", "chain_of_thought")
    answers = find_answers(evaluation)

    def reason(prompt: str, _: Sampling) -> str:
        question = prompt.rpartition("\n\n")[2].removesuffix("\nLet's think step by step.") + "\nAnswer:"
        return f" {'Drugs differ and some fit. ' * 20}Therefore, the answer is: {answers[question]}"

    engine = Scripted(reason)
    evaluate(evaluation, engine)
    n_dropped = read(evaluation, REQUESTS)["n_demonstrations_dropped"].to_list()
    assert 0 < max(n_dropped) < evaluation.model.n_demonstrations
    count = TokenCounter(evaluation.model).count
    assert max(count(prompt) for prompt, _ in engine.asked) <= 1500 - 300
    assert read(evaluation, PREDICTIONS)["is_correct"].all()
