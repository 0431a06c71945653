"""Ask each evaluated endpoint one prompt of the edition, as a run would, and show how the answer is read.

Nothing is stored: the run asks the same prompt again. A prompt with a stored answer is not asked.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass, replace

import polars as pl

from config.engines import EngineConfig
from config.file import Config
from engines.loading import load_engine
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.secrets import hide_value
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.question_prompts import render_answer
from tasks.asking.reasoning import read_answers
from tasks.edition.edition import Edition
from tasks.evaluation.evaluation import Evaluation, plan_evaluation

MAX_SHOWN = 80
"""Characters of an answer or a thought that are shown."""
UNFINISHED = "the thought did not end: raise max_tokens, or correct reasoning_marks of the model"
UNREAD = (
    "see how the model is asked (prompt_style, system_prompt, max_tokens) and how answers are read "
    "(true_words and false_words in [scoring], reasoning_marks)"
)


@dataclass(frozen=True)
class Trial:
    """One prompt of the edition for one model."""

    evaluation: Evaluation
    prompt: Prompt
    request: pl.DataFrame
    """The row of the prompt in the stage of requests."""
    row: pl.DataFrame
    """The sample or the question that it asks about."""

    @property
    def key(self) -> str:
        """The key of the answer."""
        return str(self.request["prompt_key"][0])

    def render(self, answer: bool | str) -> str:
        """Return an answer in words: true, false, or the answer to a question as a demonstration shows it."""
        if isinstance(answer, bool):
            return str(answer).lower()
        return render_answer(self.row["type"][0], answer)


def list_trials(
    config: Config, edition: Edition, rows: pl.DataFrame, asked: Collection[EngineConfig]
) -> list[Trial]:
    """Return a trial for each evaluated model that is one of those that may be asked.

    Args:
        rows: the samples of the first relation of the edition, or its questions if it has no samples.
    """
    names = [model.name for model in config.models if model in asked]
    return [_build_trial(config, edition, rows, name) for name in names]


def _build_trial(config: Config, edition: Edition, rows: pl.DataFrame, name: str) -> Trial:
    """Return the prompt about the plain statement of a triplet, or the first prompt where there is none."""
    setting = None if edition.has_triplets else config.questions.settings[0]
    evaluation = plan_evaluation(config, edition.edition_id, name, setting)
    if edition.has_triplets:
        plain = rows.filter(transformation="none")
        rows = plain if plain.height else rows
    requests = evaluation.subject.build_requests(rows, evaluation.request_settings, 1)
    request, (column, *_) = requests.frame.head(1), evaluation.subject.rows.key
    return Trial(evaluation, requests.prompts[0], request, rows.filter(pl.col(column) == request[column][0]))


def check_answer(trial: Trial) -> Finding:
    """Return what the model answers to the prompt, and how the answer is read."""
    model = trial.evaluation.model
    name = f"answer of {model.name}"
    stored = trial.evaluation.store.read().filter(prompt_key=trial.key, status="ok", repeat=0)
    try:
        if stored.height:
            row = stored.row(0, named=True)
            completion = Completion(
                row["response"], finish_reason=row["finish_reason"], reasoning=row["reasoning"]
            )
        else:
            completion = ask_once(model, trial.prompt, trial.evaluation.request_settings.sampling)
    except InputError as error:
        return Finding(name, "failing", hide_key(str(error), model))
    asked = "stored answer" if stored.height else describe_asking(trial.prompt)
    if completion.status != "ok":
        found = f"{asked}: no answer ({completion.error})"
        return Finding(name, "failing", hide_key(found, model), "see the server's log")
    return _judge_answer(name, asked, completion, trial)


def ask_once(model: EngineConfig, prompt: Prompt, sampling: Sampling) -> Completion:
    """Send the prompt once, with the sampling parameters of the run.

    Raises:
        InputError: the endpoint refuses it or cannot be reached.
    """
    engine = load_engine(model.model_copy(update={"max_attempts": 1, "concurrency": 1}))
    try:
        (completion,) = engine.generate([prompt], sampling)
    finally:
        engine.close()
    return completion


def describe_asking(prompt: Prompt) -> str:
    """Return how a model was asked, in words."""
    return f"one prompt in {prompt.style} style"


def _judge_answer(name: str, asked: str, completion: Completion, trial: Trial) -> Finding:
    model = trial.evaluation.model
    prediction, is_unfinished = _read_answer(completion, trial)
    thought = f", after the thought {shorten(completion.reasoning)}" if completion.reasoning else ""
    if is_unfinished:
        meaning = "read as an unfinished thought"
    else:
        meaning = "read as no answer" if prediction is None else f"read as {trial.render(prediction)}"
    right = trial.render(trial.row["label" if "label" in trial.row.columns else "answer"][0])
    found = f"{asked}: {shorten(completion.response)}{thought}, {meaning} (right: {right})"
    remedy = "" if prediction is not None else UNFINISHED if is_unfinished else UNREAD
    return Finding(name, "warning" if remedy else "ok", hide_key(found, model), remedy)


def _read_answer(completion: Completion, trial: Trial) -> tuple[bool | str | None, bool]:
    """Return the prediction that a run would make of the answer, and whether the thought did not end."""
    said = {"response": completion.response, "finish_reason": completion.finish_reason, "error": None}
    stored = trial.request.select(
        "prompt_key", "repeat", *(pl.lit(value, pl.String).alias(key) for key, value in said.items())
    )
    evaluation = trial.evaluation
    is_chat = evaluation.model.prompt_style == "chat"
    answers = read_answers(stored, evaluation.scoring.marks, is_chat=is_chat)
    scoring = replace(evaluation.scoring, policies=("strict",))
    *_, predictions = evaluation.subject.score(trial.request, lambda: trial.row, answers, scoring)
    return predictions["prediction"][0], answers["is_unfinished_reasoning"][0]


def shorten(text: str | None) -> str:
    """Return the text in quotation marks on one line, cut to MAX_SHOWN characters."""
    text = text or ""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")


def hide_key(text: str, model: EngineConfig) -> str:
    """Return the text without the key of the endpoint, which its reply may contain."""
    return hide_value(text, os.environ.get(model.api_key_env, "").strip() if model.api_key_env else None)
