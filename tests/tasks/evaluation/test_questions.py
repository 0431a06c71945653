"""Questions put to a model: from the edition to predictions, with repeats and chains of thought."""

import time
from collections.abc import Callable, Sequence
from functools import partial
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.file import Config
from pretexeval.engines.base import Engine
from pretexeval.primitives.errors import InputError
from pretexeval.storage.files import read_stage_file
from pretexeval.storage.store import Store
from schemas.columns import Stage
from schemas.exchange import Completion, Prompt, Sampling
from schemas.stages import PREDICTIONS, READINGS
from tasks.asking.prompts import AskedQuestion, render_answer
from tasks.edition.manifest import complete_edition, list_left_out
from tasks.edition.planning import plan_edition
from tasks.edition.stage_files import StageFiles, provide_files
from tasks.evaluation.chains import (
    ask_chains,
    extract_chain,
    list_chain_requests,
    read_chain_file,
    read_chains,
)
from tasks.evaluation.evaluation import Evaluation, plan_evaluation
from tasks.evaluation.missing_answers import AskingReport, ask_missing
from tasks.evaluation.request_files import write_requests
from tasks.evaluation.run_record import complete_run, is_complete
from tasks.evaluation.scoring import score_evaluation
from tests.support.command import write_base

RELATION = "therapeutic_drugs"


class Scripted:
    """An engine that answers every prompt by a function of the prompt and the sampling parameters."""

    def __init__(self, answer: Callable[[str, Sampling], str]) -> None:
        self.answer = answer
        self.asked: list[tuple[str, Sampling]] = []

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: object = None
    ) -> list[Completion]:
        self.asked += [(prompt.text, sampling) for prompt in prompts]
        return [Completion(self.answer(prompt.text, sampling), finish_reason="stop") for prompt in prompts]

    def close(self) -> None: ...

    def load(self, _: object) -> Engine:
        return self


def configure(tmp_path: Path, setting: str, **chain: object) -> Config:
    rows = [(f"condition {i}", RELATION, f"drug {(i + k) % 17}") for i in range(30) for k in range(1 + i % 4)]
    base = write_base(tmp_path / "base.tsv", rows)
    model = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://127.0.0.1:9/v1"}
    return Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": base},
            "edition": {"methods": ["direct"]},
            "questions": {"settings": [setting]},
            "chain_of_thought": chain,
            "models": [model],
            "storage": {"root": tmp_path / "data"},
        }
    )


def build(config: Config) -> str:
    edition = plan_edition(config)
    built: list[StageFiles] = []
    for stage in edition.stages:
        built.append(provide_files(edition, stage.name, *built))
    files = [ref for stage in built for ref in stage.files.values()]
    return complete_edition(edition, files, list_left_out(edition, partial(built[0].read, edition.root)))


def plan(config: Config, setting: str) -> Evaluation:
    return plan_evaluation(config, build(config), "m", setting)  # type: ignore[arg-type]


def evaluate(evaluation: Evaluation, engine: Scripted) -> AskingReport:
    if evaluation.subject.asks_for_chains:
        requests = list_chain_requests(evaluation)
        ask_chains(evaluation, requests, Store(evaluation.storage), lambda _: None, engine.load)
    written = write_requests(evaluation)
    report = ask_missing(evaluation, written, Store(evaluation.storage), lambda _: None, engine.load)
    complete_run(evaluation, written, score_evaluation(evaluation, written), report, 1.0)
    return report


def read(evaluation: Evaluation, stage: Stage) -> pl.DataFrame:
    folder = evaluation.root / evaluation.folder / stage.name
    return pl.concat(read_stage_file(path, stage) for path in sorted(folder.glob("*.parquet")))


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
    config = configure(tmp_path, "answer_only")
    evaluation = plan(config, "answer_only")
    answers = find_answers(evaluation)

    def know(prompt: str, _: Sampling) -> str:
        return " " + answers[prompt.rpartition("\n\n")[2]]

    engine = Scripted(know)
    report = evaluate(evaluation, engine)
    predictions = read(evaluation, PREDICTIONS)
    questions = read_questions(evaluation).filter(split="test")
    assert predictions["is_correct"].all()
    assert set(predictions["item_id"]) == set(questions["question_id"])
    assert set(questions["type"]) == {"MCQ", "RQ", "MAQ", "TFQ"}
    assert report.n_samples == questions.height
    assert len(engine.asked) == len({prompt for prompt, _ in engine.asked})
    assert is_complete(evaluation)


def test_demonstrations_precede_the_question_and_are_held_out(tmp_path: Path) -> None:
    evaluation = plan(configure(tmp_path, "answer_only"), "answer_only")
    requests = write_requests(evaluation)
    questions = read_questions(evaluation)
    held_out = set(questions.filter(split="demonstration")["head"])
    (prompts,) = (requests.read_prompts(ref) for ref in requests.files)
    for prompt in prompts.values():
        *shots, _ = prompt.text.split("\n\n")
        assert 1 <= len(shots) <= 5
        assert all(any(head in shot for head in held_out) for shot in shots)


def test_majority_of_the_repeats_counts_and_every_repeat_is_kept(tmp_path: Path) -> None:
    evaluation = plan(configure(tmp_path, "chain_of_thought", repeats=5), "chain_of_thought")

    def vary(prompt: str, sampling: Sampling) -> str:
        is_true = sampling.repeat in (1, 2, 4)
        return " I see. Therefore, the answer is: " + ("True" if is_true else "False") + ". The answer is B."

    engine = Scripted(vary)
    evaluate(evaluation, engine)
    readings = read(evaluation, READINGS)
    assert set(readings.group_by("item_id").len()["len"]) == {5}
    statements = read_questions(evaluation).filter(type="TFQ")["question_id"]
    predictions = read(evaluation, PREDICTIONS).filter(pl.col("item_id").is_in(statements.to_list()))
    assert set(predictions["prediction"]) == {"T"}
    assert set(predictions["n_agreeing"]) == {3}
    assert {sampling.seed_of_repeat for _, sampling in engine.asked} == {0, 1, 2, 3, 4}
    assert {sampling.top_p for _, sampling in engine.asked} == {0.8}


def test_no_repeat_is_asked_twice_after_a_crash(tmp_path: Path) -> None:
    chains = tmp_path / "chains.jsonl"
    chains.touch()
    config = configure(tmp_path, "chain_of_thought", repeats=3, demonstrations=chains)
    evaluation = plan(config, "chain_of_thought")
    asked: list[tuple[str, int]] = []

    def crash(prompt: str, sampling: Sampling) -> str:
        asked.append((prompt, sampling.repeat))
        if sampling.repeat == 1:
            raise RuntimeError("killed")
        return " Hm. The answer is A."

    with pytest.raises(InputError, match="crashed"):
        evaluate(evaluation, Scripted(crash))
    before = {key for key in asked if key[1] == 0}
    asked.clear()
    again = plan(config, "chain_of_thought")

    def answer(prompt: str, sampling: Sampling) -> str:
        asked.append((prompt, sampling.repeat))
        return " A."

    evaluate(again, Scripted(answer))
    assert not before & set(asked)
    assert {repeat for _, repeat in asked} == {1, 2}


def test_chains_are_kept_where_they_reach_the_right_answer(tmp_path: Path) -> None:
    evaluation = plan(configure(tmp_path, "chain_of_thought", repeats=2), "chain_of_thought")
    answers = find_answers(evaluation)
    held_out = read_questions(evaluation).filter(split="demonstration")

    def reason(prompt: str, sampling: Sampling) -> str:
        question = prompt.rpartition("\n\n")[2].removesuffix("\nLet's think step by step.") + "\nAnswer:"
        right = answers[question] if sampling.repeat == 1 else "Nothing"
        return f" Drugs differ. Some fit. Therefore, the answer is: {right}"

    engine = Scripted(reason)
    evaluate(evaluation, engine)
    chains = read_chains(evaluation)
    assert set(chains.values()) == {"Drugs differ. Some fit."}
    assert set(chains) <= set(held_out["question_id"])
    with_shots = [prompt for prompt, _ in engine.asked if "\n\n" in prompt]
    assert with_shots
    assert all("Drugs differ. Some fit. Therefore, the answer is:" in prompt for prompt in with_shots)


def test_settings_do_not_share_files_and_failures_count_apart(tmp_path: Path) -> None:
    config = configure(tmp_path, "answer_only")
    other = config.model_copy(
        update={"questions": config.questions.model_copy(update={"settings": ("chain_of_thought",)})}
    )
    one, two = plan(config, "answer_only"), plan(other, "chain_of_thought")
    assert one.edition_id == two.edition_id
    assert one.folder != two.folder


def test_chain_of_a_hostile_response_is_cut_in_linear_time(tmp_path: Path) -> None:
    evaluation = plan(configure(tmp_path, "chain_of_thought"), "chain_of_thought")
    row = read_questions(evaluation).filter(type="TFQ", answer="T").row(0, named=True)
    started = time.monotonic()
    for response in ("A " * 200_000, "answer " * 100_000, "(" * 200_000):
        extract_chain(evaluation, row, f" True. {response}")
    assert time.monotonic() - started < 30
    assert extract_chain(evaluation, row, " It fits. So the answer is: True") == "It fits."


@pytest.mark.parametrize(
    "line", ["[]", '{"question_id": "a"}', '{"question_id": "a", "reasoning": " "}', "x"]
)
def test_wrong_line_of_a_demonstrations_file_is_named(tmp_path: Path, line: str) -> None:
    path = tmp_path / "chains.jsonl"
    path.write_text('{"question_id": "b", "reasoning": "Because."}\n' + line + "\n")
    with pytest.raises(InputError, match="line 2"):
        read_chain_file(path)
