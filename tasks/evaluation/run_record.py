"""The record `run.json`, which completes an evaluation and makes it visible to the warehouse."""

from dataclasses import dataclass, fields
from datetime import UTC, datetime
from typing import Any

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef
from pretexeval.storage.layout import run_file
from pretexeval.storage.records import find_record, list_files, read_files, write_record
from pretexeval.storage.responses import scan_response_files
from schemas.columns import SCORING_POLICIES
from tasks.asking.server_habits import count_habits, describe_change, list_remarks
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.missing_answers import AskingReport
from tasks.evaluation.predictions import PREDICTIONS_VERSION, hash_reader
from tasks.evaluation.request_files import (
    RequestFiles,
    key_requests,
    remove_pending_requests,
    scan_requests,
)
from tasks.quality.validation import Report


@dataclass(frozen=True)
class ScoredFiles:
    """The files of an evaluation's requests and predictions, and how these were scored and validated."""

    files: tuple[FileRef, ...]
    policies: tuple[str, ...]
    checks: tuple[Report, ...]
    """The reports of the validation of the requests, the responses and the stages made of them."""


def key_run(evaluation: Evaluation, requests_key: str) -> str:
    """Return the key of the predictions: they depend on the requests, and on how answers are read."""
    return hash_json(
        {
            "requests": requests_key,
            "marks": evaluation.model.reasoning_marks,
            "version": PREDICTIONS_VERSION,
            "reader": hash_reader(),
            "precision": evaluation.scoring.precision if evaluation.asks_enough else None,
        },
        digits=32,
    )


def is_complete(evaluation: Evaluation) -> bool:
    """Return whether the evaluation is complete and up to date, no prompt failed, and every file is intact.

    Damaged files of responses are renamed, so that their prompts are asked again.
    """
    record = read_run(evaluation)
    try:
        files = read_files(record, evaluation.folder)
        is_current = record["key"] == key_run(evaluation, key_requests(evaluation))
        is_finished = is_current and record["n_open"] == 0
        lost = set(record["responses"]) - {path.name for path in evaluation.store.list_files()}
        is_scored = set(evaluation.scoring.policies) <= set(record["scoring_policies"])
        has_limit = record["max_error_rate"] == evaluation.scoring.max_error_rate
    except (ValueError, KeyError, TypeError):
        return False
    is_same = is_finished and is_scored and has_limit
    return is_same and not lost and all(ref.is_intact(evaluation.root) for ref in files)


def list_policies(evaluation: Evaluation) -> tuple[str, ...]:
    """Return the configured policies, and those under which the evaluation was scored before."""
    wanted = {*evaluation.scoring.policies, *read_run(evaluation).get("scoring_policies", ())}
    return tuple(policy for policy in SCORING_POLICIES if policy in wanted)


def read_run(evaluation: Evaluation) -> dict[str, Any]:
    """Return the record; empty if the evaluation was never finished. A damaged record is set aside."""
    path = evaluation.root / run_file(evaluation.folder)
    remedy = "it is written again when the stored answers are scored"
    ids = {"edition_id": evaluation.edition_id, "model_id": evaluation.model_id}
    return find_record(path, remedy, **ids) or {}


def require_finished(evaluation: Evaluation) -> tuple[AskingReport, float]:
    """Return the report of a finished evaluation, and the seconds that it took.

    Raises:
        InputError: the evaluation was never finished.
    """
    record = read_run(evaluation)
    try:
        report = AskingReport(**{field.name: record[field.name] for field in fields(AskingReport)})
        return report, float(record["duration_s"])
    except (ValueError, KeyError, TypeError):
        setting = evaluation.subject.setting
        asked = evaluation.subject.kind.stage.name + (f" in the setting {setting}" if setting else "")
        raise InputError(
            f"no responses of model {evaluation.model.name!r} to the {asked} of {evaluation.edition_id} were "
            "imported; import them with `pretexeval import-responses`"
        ) from None


def remove_run(evaluation: Evaluation) -> None:
    """Remove the record, so that readers skip the folder while its files are rewritten."""
    (evaluation.root / run_file(evaluation.folder)).unlink(missing_ok=True)


def complete_run(
    evaluation: Evaluation,
    requests: RequestFiles,
    scored: ScoredFiles,
    report: AskingReport,
    duration_s: float,
) -> None:
    """Write the record, and remove the folder of pending requests."""
    model = evaluation.model
    write_record(
        evaluation.root / run_file(evaluation.folder),
        {
            "edition_id": evaluation.edition_id,
            "model_id": evaluation.model_id,
            "scoring_policies": list(scored.policies),
            "max_error_rate": evaluation.scoring.max_error_rate,
            "key": key_run(evaluation, requests.key),
            "requests_key": requests.key,
            "pairs_per_relation": model.pairs_per_relation,
            # Another program asked an imported model, with demonstrations that nobody knows.
            "n_demonstrations": None if model.engine == "imported" else model.n_demonstrations,
            **vars(report),
            "finished_at": datetime.now(UTC).isoformat(timespec="seconds"),
            "duration_s": round(duration_s, 1),
            **_describe_replies(evaluation, requests),
            **({} if model.price is None else {"price": model.price}),
            "checks": list(scored.checks),
            "files": list_files(scored.files, evaluation.folder),
            "responses": [path.name for path in evaluation.store.list_files()],
        },
    )
    remove_pending_requests(evaluation)


def _describe_replies(evaluation: Evaluation, requests: RequestFiles) -> dict[str, list[str]]:
    """Return what gave the answers, also those that were stored before, and what is odd about them."""
    if not (files := evaluation.store.list_files()):
        return {"served": [], "remarks": []}
    asked = scan_requests(evaluation, requests.files).select("prompt_key").unique()
    answered = scan_response_files(files).filter(status="ok")
    replies = answered.join(asked, on="prompt_key", how="semi", maintain_order="left")
    served = replies.group_by("served").len().drop_nulls().collect(engine="streaming")
    remarks = [*list_remarks(count_habits(replies)).values()]
    if evaluation.model.engine == "openai":
        remarks.append(describe_change(dict(served.iter_rows())))
    return {"served": sorted(served["served"]), "remarks": list(filter(None, remarks))}
