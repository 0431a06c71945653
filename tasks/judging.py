"""From answers to predictions: the files of one finished evaluation, and the record that completes it."""

from datetime import UTC, datetime

from schemas.errors import InputError
from schemas.stages import PREDICTIONS, REQUESTS
from tasks.asking import AskingReport
from tasks.evaluation import Evaluation
from tasks.manifest import list_files
from tasks.predictions import judge_responses
from tasks.storage import FileRef, write_json, write_stage_file

RECORD = "run.json"


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
    for file_name, samples, requests in evaluation.read_relations():
        if missing := set(requests.frame["prompt_key"]) - answered:
            raise InputError(
                f"{evaluation.model_id} was never asked {len(missing)} prompts of {file_name} in "
                f"{evaluation.edition_id}; run `pretexeval evaluate` again"
            )
        labels = samples.select("sample_id", "label")
        frames = {
            REQUESTS: requests.frame,
            PREDICTIONS: judge_responses(requests.frame, responses, labels),
        }
        for stage, frame in frames.items():
            path = f"{evaluation.folder}/{stage.name}/{file_name}"
            refs.append(write_stage_file(evaluation.root, path, frame, stage))
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
            **vars(report),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 1),
            "files": list_files(refs, evaluation.folder),
        },
    )
