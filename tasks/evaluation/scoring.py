"""Score stored answers: write the predictions of one evaluation under every configured policy."""

from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path

import polars as pl

from primitives.errors import InputError
from schemas.stages import PREDICTIONS, REQUESTS
from storage.files import link_file, read_stage_file, write_stage_file
from storage.layout import prediction_file, request_file
from tasks.asking.reasoning import read_answers
from tasks.evaluation.evaluation import Evaluation, hold_evaluation
from tasks.evaluation.predictions import Scoring, score_responses
from tasks.evaluation.request_files import RequestFiles, list_prompt_keys, write_requests
from tasks.evaluation.run_record import (
    ScoredFiles,
    complete_run,
    is_complete,
    list_policies,
    remove_run,
    require_finished,
)
from tasks.quality.validation import require_valid, validate_stage


def score_evaluation(evaluation: Evaluation, requests: RequestFiles) -> ScoredFiles:
    """Write the predictions, one file per relation, under every policy that is configured or was used before.

    Raises:
        InputError: a prompt was never asked, or the predictions do not meet the expectations of the stage.
    """
    scoring = replace(evaluation.scoring, policies=list_policies(evaluation))
    scored = list(_score_relations(evaluation, requests, scoring))
    require_valid(validate_stage(PREDICTIONS, pl.concat(frame for _, frame in scored), evaluation.folder))
    remove_run(evaluation)
    names = (evaluation.edition_id, evaluation.model_id)
    files = [
        link_file(evaluation.root, ref, request_file(*names, Path(ref.path).name)) for ref in requests.files
    ]
    files += [
        write_stage_file(evaluation.root, prediction_file(*names, name), frame, PREDICTIONS)
        for name, frame in scored
    ]
    return ScoredFiles(tuple(files), scoring.policies)


def _score_relations(
    evaluation: Evaluation, requests: RequestFiles, scoring: Scoring
) -> Iterator[tuple[str, pl.DataFrame]]:
    """Yield (file name, predictions) of each relation."""
    stored = evaluation.store.read(["prompt_key", "repeat", "response", "error", "finish_reason"])
    responses = stored.filter(pl.col("prompt_key").is_in(list_prompt_keys(evaluation, requests)))
    is_chat = evaluation.model.prompt_style == "chat"
    answers = read_answers(responses, scoring.marks, is_chat=is_chat)
    answered = set(answers["prompt_key"])
    for ref in requests.files:
        name, frame = Path(ref.path).name, read_stage_file(evaluation.root / ref.path, REQUESTS)
        if missing := set(frame["prompt_key"]) - answered:
            raise InputError(
                f"{evaluation.model_id} was never asked {len(missing)} prompts of {name} in "
                f"{evaluation.edition_id}; run `pretexeval evaluate` again"
            )
        yield name, score_responses(frame, answers, scoring)


def score_again(evaluation: Evaluation) -> None:
    """Score the answers of a finished evaluation again, under other policies or answer words; ask no model.

    Raises:
        InputError: the evaluation was never finished, or answers are missing.
    """
    with hold_evaluation(evaluation):
        if is_complete(evaluation):
            return
        report, duration_s = require_finished(evaluation)
        requests = write_requests(evaluation)
        complete_run(evaluation, requests, score_evaluation(evaluation, requests), report, duration_s)
