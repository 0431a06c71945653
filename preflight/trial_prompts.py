"""Ask each evaluated endpoint one prompt of the edition, as a run would, and show how the answer is read.

Nothing is stored: the run asks the same prompt again. A prompt with a stored answer is not asked.
"""

import os
from collections.abc import Collection
from dataclasses import dataclass

import polars as pl

from config.engines import EngineConfig
from config.file import Config
from engines.loading import load_engine
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.repeated_keys import hide_value
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.answer_extraction import extract_answer
from tasks.asking.reasoning import read_answers
from tasks.edition.edition import Edition
from tasks.edition.preview import RelationPreview
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
    key: str
    label: bool


def list_trials(
    config: Config, edition: Edition, first: RelationPreview, asked: Collection[EngineConfig]
) -> list[Trial]:
    """Return a trial for each evaluated model that is one of those that may be asked.

    Args:
        first: the first relation of the edition.
    """
    names = [model.name for model in config.models if model in asked]
    return [_build_trial(config, edition, first.samples, name) for name in names]


def _build_trial(config: Config, edition: Edition, samples: pl.DataFrame, name: str) -> Trial:
    """Return the prompt about the plain statement of a triplet, or the first prompt where there is none."""
    evaluation = plan_evaluation(config, edition.edition_id, name)
    plain = samples.filter(transformation="none")
    rows = plain if plain.height else samples
    requests = evaluation.subject.build_requests(rows, evaluation.request_settings, 1)
    first = requests.frame.row(0, named=True)
    return Trial(evaluation, requests.prompts[0], first["prompt_key"], first["label"])


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
    scoring, model = trial.evaluation.scoring, trial.evaluation.model
    row = pl.DataFrame(
        {"response": [completion.response], "finish_reason": [completion.finish_reason]},
        schema={"response": pl.String, "finish_reason": pl.String},
    )
    is_chat = model.prompt_style == "chat"
    (read,) = read_answers(row, scoring.marks, is_chat=is_chat).to_dicts()
    prediction = extract_answer(read["answer"], scoring.words)
    thought = f", after the thought {shorten(completion.reasoning)}" if completion.reasoning else ""
    if read["is_unfinished_reasoning"]:
        meaning = "read as an unfinished thought"
    else:
        meaning = "read as no answer" if prediction is None else f"read as {str(prediction).lower()}"
    expected = str(trial.label).lower()
    found = f"{asked}: {shorten(completion.response)}{thought}, {meaning} (right: {expected})"
    remedy = "" if prediction is not None else UNFINISHED if read["is_unfinished_reasoning"] else UNREAD
    return Finding(name, "warning" if remedy else "ok", hide_key(found, model), remedy)


def shorten(text: str | None) -> str:
    """Return the text in quotation marks on one line, cut to MAX_SHOWN characters."""
    text = text or ""
    return repr(text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…")


def hide_key(text: str, model: EngineConfig) -> str:
    """Return the text without the key of the endpoint, which its reply may contain."""
    return hide_value(text, os.environ.get(model.api_key_env, "").strip() if model.api_key_env else None)
