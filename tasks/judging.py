"""From answers to predictions: the files of one finished evaluation, and the record that completes it."""

import json
from datetime import UTC, datetime

import polars as pl

from schemas.errors import InputError
from schemas.hashing import hash_json
from schemas.stages import PREDICTIONS, REQUESTS, Stage
from tasks import extraction, predictions, prompts, requests
from tasks.asking import AskingReport
from tasks.evaluation import Evaluation
from tasks.manifest import list_files
from tasks.predictions import judge_responses
from tasks.steps import hash_source
from tasks.storage import FileRef, write_json, write_stage_file
from tasks.validation import require_valid, validate_stage

RECORD = "run.json"
MODULES = (prompts, requests, extraction, predictions)


def key_run(evaluation: Evaluation) -> str:
    """What the predictions depend on beside the answers: samples, how they are asked, how judged."""
    asking = evaluation.asking
    return hash_json(
        {
            "samples": [ref.sha256 for ref in evaluation.sample_files().values()],
            "model_id": evaluation.model_id,
            "form": vars(asking.form),
            "sampling": asking.sampling.write_json(),
            "n_tokens_limit": asking.n_tokens_limit,
            "pairs_per_relation": evaluation.model.pairs_per_relation,
            "source": hash_source(MODULES),
        },
        digits=32,
    )


def is_complete(evaluation: Evaluation) -> bool:
    """Whether the evaluation is there as it would be made now, no prompt failed, every file intact.

    A file of responses that is damaged is set aside, so that what it held is asked again.
    """
    try:
        record = json.loads((evaluation.root / evaluation.folder / RECORD).read_text("utf-8"))
        files = [
            FileRef(path=f"{evaluation.folder}/{path}", n_rows=entry["rows"], sha256=entry["sha256"])
            for path, entry in record["files"].items()
        ]
        is_current = record["key"] == key_run(evaluation) and record["n_open"] == 0
        lost = set(record["responses"]) - {path.name for path in evaluation.store.list_files()}
    except (FileNotFoundError, ValueError, KeyError, TypeError):
        return False
    return is_current and not lost and all(ref.is_intact(evaluation.root) for ref in files)


def write_predictions(evaluation: Evaluation) -> list[FileRef]:
    """Write requests and predictions, a file of each per relation.

    Raises:
        InputError: if a prompt has no response, not even a failed one.
    """
    # Until it is written again, the warehouse passes this evaluation by.
    (evaluation.root / evaluation.folder / RECORD).unlink(missing_ok=True)
    responses = evaluation.store.read(["prompt_key", "repeat", "response"])
    answered = set(responses["prompt_key"])
    refs = []
    frames: dict[Stage, list[pl.DataFrame]] = {REQUESTS: [], PREDICTIONS: []}
    for file_name, samples, asked in evaluation.read_relations():
        if missing := set(asked.frame["prompt_key"]) - answered:
            raise InputError(
                f"{evaluation.model_id} was never asked {len(missing)} prompts of {file_name} in "
                f"{evaluation.edition_id}; run `pretexeval evaluate` again"
            )
        judged = judge_responses(asked.frame, responses, samples.select("sample_id", "label"))
        for stage, frame in ((REQUESTS, asked.frame), (PREDICTIONS, judged)):
            path = f"{evaluation.folder}/{stage.name}/{file_name}"
            refs.append(write_stage_file(evaluation.root, path, frame, stage))
            frames[stage].append(frame)
    for stage, parts in frames.items():
        require_valid(validate_stage(stage, pl.concat(parts), evaluation.folder))
    return refs


def complete_run(
    evaluation: Evaluation, refs: list[FileRef], report: AskingReport, duration_s: float
) -> None:
    """Write run.json, which makes the evaluation visible to the warehouse."""
    write_json(
        evaluation.root / evaluation.folder / RECORD,
        {
            "edition_id": evaluation.edition_id,
            "model_id": evaluation.model_id,
            "scoring_policies": ["strict"],
            "key": key_run(evaluation),
            **vars(report),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 1),
            "files": list_files(refs, evaluation.folder),
            "responses": [path.name for path in evaluation.store.list_files()],
        },
    )
