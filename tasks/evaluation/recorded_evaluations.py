"""List the evaluations under a data root from their records, whether or not they were published."""

from collections.abc import Iterator, Mapping
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from pathlib import Path
from typing import Any, Literal

from storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    QUESTION_EVALUATIONS_FOLDER,
    RUN,
    model_file,
)
from storage.records import RecordError, read_record

Status = Literal["complete", "limited", "failed", "unfinished", "damaged"]


@dataclass(frozen=True)
class RecordedEvaluation:
    """An evaluation of a model on an edition: of its samples, or of its questions in a setting."""

    edition_id: str
    model: str
    """The name of the model; its id if no record names it."""
    setting: str | None
    """None: the samples of the edition. For anchors, it is the period in which they were asked."""
    status: Status
    """`complete`: it has scores. `limited`: it has scores for some pairs of each relation. `failed`: it has
    none. `unfinished`: prompts are being asked, or the run was interrupted. `damaged`: its record cannot be
    read."""
    finished_at: str | None = None
    """ISO time in UTC when it was finished or failed."""
    n_samples: int | None = None
    """Samples, or questions times repeats, that the model was asked."""
    n_asked: int | None = None
    """Prompts that the last run asked; the other answers were stored before."""
    n_errors: int | None = None
    """Samples whose prompt failed."""
    n_open: int | None = None
    """Failed prompts that the next run asks again."""
    duration_s: float | None = None
    pairs_per_relation: int | None = None
    """How many pairs of each relation were asked at most; None: all of them."""
    model_id: str | None = None
    """None if the model could not be identified."""
    reason: str | None = None
    """Why it failed; of a complete evaluation, why a later attempt failed."""


def list_evaluations(root: Path) -> list[RecordedEvaluation]:
    """Return the evaluations of all editions, by edition, setting and model."""
    found = [_read_evaluation(root, *names) for names in _find_folders(root)]
    places = {(each.edition_id, each.setting, each.model_id): k for k, each in enumerate(found)}
    for path in sorted((root / FAILURES_FOLDER).rglob("*.json")):
        edition_id, *setting, _ = path.relative_to(root / FAILURES_FOLDER).parts
        failure = _read_failure(path, edition_id, setting[0] if setting else None)
        place = places.get((edition_id, failure.setting, failure.model_id))
        if place is None:
            found.append(failure)
        else:
            found[place] = _add_failure(found[place], failure)
    return sorted(found, key=lambda each: (each.edition_id, each.setting or "", each.model))


def _find_folders(root: Path) -> Iterator[tuple[Path, str, str | None, str]]:
    """Yield the folder, the edition, the setting or period, and the model id of every evaluation."""
    for folder in (root / EVALUATIONS_FOLDER).glob("*/*/"):
        yield folder, folder.parent.name, None, folder.name
    for kind in (QUESTION_EVALUATIONS_FOLDER, ANCHOR_EVALUATIONS_FOLDER):
        for folder in (root / kind).glob("*/*/*/"):
            yield folder, folder.parents[1].name, folder.parent.name, folder.name


def _read_evaluation(
    root: Path, folder: Path, edition_id: str, setting: str | None, model_id: str
) -> RecordedEvaluation:
    model = _read_name(root, model_id)
    try:
        record = read_record(folder / RUN, edition_id=edition_id, model_id=model_id)
        if record is None:
            return RecordedEvaluation(edition_id, model, setting, "unfinished", model_id=model_id)
        return _read_run(record, edition_id, model, setting, model_id)
    except (ValueError, KeyError, TypeError) as error:
        reason = str(error) if isinstance(error, RecordError) else f"{folder / RUN}: {error!r}"
        return RecordedEvaluation(edition_id, model, setting, "damaged", model_id=model_id, reason=reason)


def _read_run(
    record: Mapping[str, Any], edition_id: str, model: str, setting: str | None, model_id: str
) -> RecordedEvaluation:
    n_samples, n_errors = int(record["n_samples"]), int(record["n_errors"])
    limit = float(record["max_error_rate"])
    has_failed = n_errors > limit * n_samples
    pairs_per_relation = record["pairs_per_relation"]
    scored: Status = "complete" if pairs_per_relation is None else "limited"
    reason = f"{n_errors:,} of {n_samples:,} failed, more than max_error_rate = {limit:g} allows"
    return RecordedEvaluation(
        edition_id,
        model,
        setting,
        "failed" if has_failed else scored,
        _convert_time(record["finished_at"]),
        n_samples,
        int(record["n_asked"]),
        n_errors,
        record["n_open"],
        float(record["duration_s"]),
        pairs_per_relation,
        model_id,
        reason if has_failed else None,
    )


def _convert_time(text: str | None) -> str | None:
    """Return an ISO time as one in UTC; without a time zone, it is in UTC already.

    Raises:
        ValueError: it is not an ISO time.
    """
    if text is None:
        return None
    moment = datetime.fromisoformat(text)
    return moment.replace(tzinfo=moment.tzinfo or UTC).astimezone(UTC).isoformat()


def _read_name(root: Path, model_id: str) -> str:
    """Return the name of a model by its record; its id if there is none."""
    try:
        return str((read_record(root / model_file(model_id)) or {}).get("name", model_id))
    except RecordError:
        return model_id


def _read_failure(path: Path, edition_id: str, setting: str | None) -> RecordedEvaluation:
    try:
        return _read_recorded_failure(read_record(path) or {}, edition_id, setting, path.stem)
    except ValueError as error:
        return RecordedEvaluation(edition_id, path.stem, setting, "damaged", reason=str(error))


def _read_recorded_failure(
    record: Mapping[str, Any], edition_id: str, setting: str | None, name: str
) -> RecordedEvaluation:
    return RecordedEvaluation(
        edition_id,
        str(record.get("model", name)),
        setting,
        "failed",
        _convert_time(record.get("failed_at")),
        model_id=record.get("model_id"),
        reason=record.get("reason"),
    )


def _add_failure(found: RecordedEvaluation, failure: RecordedEvaluation) -> RecordedEvaluation:
    """Return the evaluation with the reason of the failure of its last attempt.

    An evaluation with scores stays valid when a later attempt fails, as in the view not_evaluated.
    """
    if found.status in ("complete", "limited"):
        return replace(found, reason=failure.reason)
    return replace(
        found,
        status=failure.status,
        finished_at=failure.finished_at or found.finished_at,
        reason=failure.reason,
    )
