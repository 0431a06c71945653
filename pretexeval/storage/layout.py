"""Every path and file name under the data root.

Paths are text relative to the root, with forward slashes, because the same names are the keys of the objects
in a shared bucket. A folder is complete when its record exists; the record is always written last.
"""

from pretexeval.config.questions import UNSURE

EDITIONS_FOLDER = "editions"
RESPONSES_FOLDER = "responses"
EVALUATIONS_FOLDER = "predictions"
QUESTION_EVALUATIONS_FOLDER = "question_predictions"
ANCHOR_EVALUATIONS_FOLDER = "anchor_predictions"
UNSURE_EVALUATIONS_FOLDER = "unsure_predictions"
ALL_EVALUATIONS = (
    EVALUATIONS_FOLDER,
    QUESTION_EVALUATIONS_FOLDER,
    UNSURE_EVALUATIONS_FOLDER,
    ANCHOR_EVALUATIONS_FOLDER,
)
"""The folders of all evaluations: of samples, of questions, of samples with a third answer, of anchors."""
FAILURES_FOLDER = "failures"
REVIEWS_FOLDER = "reviews"
WITHDRAWALS_FOLDER = "withdrawals"
PAGES_FOLDER = "report"
LOCKS_FOLDER = "locks"
REMOVED_FOLDER = "removed"
CHECKS_FOLDER = "checks"
SCORES_FOLDER = "scores"
"""Scores of evaluations, and their differences; a publication computes again what is missing."""
TASKS_FOLDER = "cache/tasks"
"""Prefect's cache: one file per result of a task, named after its key, and one per error of a failed run.

It may be deleted at any time.
"""

MANIFEST = "manifest.json"
"""Record of an edition."""
RUN = "run.json"
"""Record of an evaluation."""
MODEL = "model.json"
"""Record of a model, beside its responses."""

WAREHOUSE = "warehouse.duckdb"
PUBLISH_LOCK = ".publish.lock"
PREFECT_FOLDER = "prefect"
"""Settings and history of the Prefect server that a command or an installation starts."""
CLIENT_SETTINGS = f"{PREFECT_FOLDER}/client.env"
"""The address and the password of the server of an installation; only its owner can read the file."""
LOGS_FOLDER = "logs"
"""The logs of the services of an installation without containers."""


def edition_folder(edition_id: str) -> str:
    """Return the folder of an edition."""
    return f"{EDITIONS_FOLDER}/{edition_id}"


def manifest_file(edition_id: str) -> str:
    """Return the record that completes an edition."""
    return f"{edition_folder(edition_id)}/{MANIFEST}"


def stage_file(edition_id: str, stage: str, piece: str) -> str:
    """Return an edition's file of one stage and one piece of a relation (`tasks/drawing/pieces.py`)."""
    return f"{edition_folder(edition_id)}/{stage}/{piece}.parquet"


def responses_folder(model_id: str) -> str:
    """Return the folder of everything that a model answered."""
    return f"{RESPONSES_FOLDER}/{model_id}"


def model_file(model_id: str) -> str:
    """Return the record that says what a model is."""
    return f"{responses_folder(model_id)}/{MODEL}"


def evaluation_folder(edition_id: str, model_id: str, setting: str | None = None) -> str:
    """Return the folder of an evaluation: of the samples of an edition with two answers, or in a setting."""
    if setting is None:
        return f"{EVALUATIONS_FOLDER}/{edition_id}/{model_id}"
    kind = UNSURE_EVALUATIONS_FOLDER if setting == UNSURE else QUESTION_EVALUATIONS_FOLDER
    return f"{kind}/{edition_id}/{setting}/{model_id}"


def anchors_folder(edition_id: str, model_id: str, period: str) -> str:
    """Return the folder of the evaluation of anchors in a period."""
    return f"{ANCHOR_EVALUATIONS_FOLDER}/{edition_id}/{period}/{model_id}"


def evaluation_file(folder: str, stage: str, name: str) -> str:
    """Return the file of one stage and one relation in the folder of an evaluation."""
    return f"{folder}/{stage}/{name}"


def next_requests_folder(folder: str) -> str:
    """Return the folder of the requests that are being asked, until the evaluation is complete."""
    return f"{folder}/next"


def run_file(folder: str) -> str:
    """Return the record that completes an evaluation."""
    return f"{folder}/{RUN}"


def failure_file(edition_id: str, name: str, setting: str | None = None) -> str:
    """Return the record of why the last evaluation of the model with this name failed.

    Args:
        setting: that in which the model was asked, or the period in which anchors were asked.
    """
    return "/".join((FAILURES_FOLDER, edition_id, *([setting] if setting else []), f"{name}.json"))


def diversity_file(edition_id: str) -> str:
    """Return the file of the diversity measured on an edition."""
    return f"diversity/{edition_id}.parquet"


def diversity_record(edition_id: str) -> str:
    """Return the record of what the diversity was measured on."""
    return f"diversity/{edition_id}.json"


def guesses_file(edition_id: str) -> str:
    """Return the file of the guessers' answers about an edition's triplets."""
    return f"guesses/{edition_id}.parquet"


def guesses_record(edition_id: str) -> str:
    """Return the record of the triplets that were guessed."""
    return f"guesses/{edition_id}.json"


def rewordings_record(edition_id: str) -> str:
    """Return the record of people's verdicts on the rewordings that the gate accepted."""
    return f"{review_folder(edition_id)}/rewordings.json"


def review_folder(edition_id: str) -> str:
    """Return the folder of the reviews of an edition: sheets and verdicts."""
    return f"{REVIEWS_FOLDER}/{edition_id}"


def withdrawal_record(edition_id: str) -> str:
    """Return the record of when and why an edition was withdrawn."""
    return f"{WITHDRAWALS_FOLDER}/{edition_id}.json"


def page_file(edition_id: str | None = None) -> str:
    """Return the page of an edition, or the index of all pages."""
    return f"{PAGES_FOLDER}/{edition_id}/index.html" if edition_id else f"{PAGES_FOLDER}/index.html"


def samples_folder(edition_id: str) -> str:
    """Return the folder of the sample browser of an edition: its page, scripts and data."""
    return f"{PAGES_FOLDER}/{edition_id}/samples"


def checks_record(edition_id: str, name: str) -> str:
    """Return the record of a validation: of a stage of an edition, or of a reviewer's verdicts on it."""
    return f"{CHECKS_FOLDER}/{edition_id}/{name}.json"


def model_lock(model_id: str) -> str:
    """Return the lock file that a process of this host holds while it asks a model."""
    return f"{LOCKS_FOLDER}/{model_id}.lock"


def evaluation_lock(edition_id: str, model_id: str, setting: str | None = None) -> str:
    """Return the lock file that a process of this host holds while it evaluates a model on an edition.

    Args:
        setting: that in which the model is asked, or the period in which anchors are asked.
    """
    return f"{LOCKS_FOLDER}/{'.'.join((edition_id, *([setting] if setting else []), model_id))}.lock"


def lease_object(name: str) -> str:
    """Return the object in the bucket that one process of all hosts holds."""
    return f"{LOCKS_FOLDER}/{name}.json"


def removed_folder(edition_id: str) -> str:
    """Return the folder of an edition that is being removed; in a bucket, the object that says so."""
    return f"{REMOVED_FOLDER}/{edition_id}"
