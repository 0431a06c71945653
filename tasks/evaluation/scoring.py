"""From answers to predictions: the files of one finished evaluation, and the record that completes it."""

import json
from collections.abc import Iterator
from dataclasses import dataclass, fields, replace
from datetime import UTC, datetime
from typing import Any

import polars as pl

from primitives.errors import InputError
from primitives.hashing import hash_json
from schemas.stages import PREDICTIONS, REQUESTS, SCORING_POLICIES, Stage
from storage.files import FileRef, write_json, write_stage_file
from storage.mirror import RUN
from storage.records import list_files, read_files
from tasks.asking import answer_extraction, prompts
from tasks.asking.asker import AskingReport
from tasks.edition.recipes import hash_source
from tasks.evaluation import predictions, requests
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.predictions import Scoring, score_responses
from tasks.quality.validation import require_valid, validate_stage

MODULES = (prompts, requests, answer_extraction, predictions)


def key_run(evaluation: Evaluation) -> str:
    """What the predictions depend on beside the answers: samples, how they are asked, how judged."""
    asking = evaluation.asking
    return hash_json(
        {
            "samples": [ref.sha256 for ref in evaluation.sample_files().values()],
            "model_id": evaluation.model_id,
            "form": vars(asking.form),
            "sampling": asking.sampling.render_json(),
            "n_tokens_limit": asking.n_tokens_limit,
            "pairs_per_relation": evaluation.model.pairs_per_relation,
            "words": [evaluation.scoring.words.true, evaluation.scoring.words.false],
            "source": hash_source(MODULES),
        },
        digits=32,
    )


def is_complete(evaluation: Evaluation) -> bool:
    """Whether the evaluation is there as it would be made now, no prompt failed, every file intact.

    A file of responses that is damaged is set aside, so that what it held is asked again.
    """
    try:
        record = _read_record(evaluation)
        files = read_files(record, evaluation.folder)
        is_current = record["key"] == key_run(evaluation) and record["n_open"] == 0
        lost = set(record["responses"]) - {path.name for path in evaluation.store.list_files()}
        is_scored = set(evaluation.scoring.policies) <= set(record["scoring_policies"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return is_current and is_scored and not lost and all(ref.is_intact(evaluation.root) for ref in files)


def list_policies(evaluation: Evaluation) -> tuple[str, ...]:
    """The policies that are asked for, and those under which it was scored before."""
    try:
        before = set(_read_record(evaluation)["scoring_policies"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        before = set()
    wanted = before | set(evaluation.scoring.policies)
    return tuple(policy for policy in SCORING_POLICIES if policy in wanted)


def _read_record(evaluation: Evaluation) -> dict[str, Any]:
    record: dict[str, Any] = json.loads((evaluation.root / evaluation.folder / RUN).read_text("utf-8"))
    return record


@dataclass(frozen=True)
class ScoredFiles:
    """The files of an evaluation's requests and predictions, and the policies that they are judged under."""

    files: tuple[FileRef, ...]
    policies: tuple[str, ...]


def score_evaluation(evaluation: Evaluation) -> ScoredFiles:
    """Write requests and predictions, a file of each per relation, under every policy asked for or kept.

    Raises:
        InputError: if a prompt has no response, not even a failed one.
    """
    scoring = replace(evaluation.scoring, policies=list_policies(evaluation))
    parts = list(_score_relations(evaluation, scoring))
    for stage in (REQUESTS, PREDICTIONS):
        frame = pl.concat(frame for of_stage, _, frame in parts if of_stage is stage)
        require_valid(validate_stage(stage, frame, evaluation.folder))
    # Until it is written again, the warehouse passes this evaluation by.
    (evaluation.root / evaluation.folder / RUN).unlink(missing_ok=True)
    files = [
        write_stage_file(evaluation.root, f"{evaluation.folder}/{stage.name}/{file_name}", frame, stage)
        for stage, file_name, frame in parts
    ]
    return ScoredFiles(tuple(files), scoring.policies)


def _score_relations(evaluation: Evaluation, scoring: Scoring) -> Iterator[tuple[Stage, str, pl.DataFrame]]:
    """(stage, file name, rows) of requests and predictions, relation after relation."""
    responses = evaluation.store.read(["prompt_key", "repeat", "response"])
    answered = set(responses["prompt_key"])
    for file_name, samples, asked in evaluation.read_relations():
        if missing := set(asked.frame["prompt_key"]) - answered:
            raise InputError(
                f"{evaluation.model_id} was never asked {len(missing)} prompts of {file_name} in "
                f"{evaluation.edition_id}; run `pretexeval evaluate` again"
            )
        labels = samples.select("sample_id", "label")
        yield REQUESTS, file_name, asked.frame
        yield PREDICTIONS, file_name, score_responses(asked.frame, responses, labels, scoring)


def score_again(evaluation: Evaluation) -> None:
    """Judge the answers of a finished evaluation anew, under more policies or by other words; asks nothing.

    Raises:
        InputError: if it was never finished, or its answers are gone.
    """
    if is_complete(evaluation):
        return
    try:
        record = _read_record(evaluation)
        report = AskingReport(**{field.name: record[field.name] for field in fields(AskingReport)})
        duration_s = float(record["duration_s"])
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        raise InputError(
            f"model {evaluation.model.name!r} has not been evaluated on {evaluation.edition_id}; "
            "run `pretexeval evaluate` first"
        ) from None
    complete_run(evaluation, score_evaluation(evaluation), report, duration_s)


def complete_run(
    evaluation: Evaluation, judged: ScoredFiles, report: AskingReport, duration_s: float
) -> None:
    """Write run.json, which makes the evaluation visible to the warehouse."""
    write_json(
        evaluation.root / evaluation.folder / RUN,
        {
            "edition_id": evaluation.edition_id,
            "model_id": evaluation.model_id,
            "scoring_policies": list(judged.policies),
            "key": key_run(evaluation),
            **vars(report),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 1),
            "files": list_files(judged.files, evaluation.folder),
            "responses": [path.name for path in evaluation.store.list_files()],
        },
    )
