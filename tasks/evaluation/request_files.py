"""The requests of an evaluation as files. They are written before the model is asked, and read for scoring.

New requests are in the folder `next` until the evaluation is complete, so that the last evaluation in the
same folder stays readable meanwhile. They hold the keys of the prompts, whose texts are rendered when they
are asked: that takes no longer than to write and read them.
"""

import shutil
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.literal_paths import scan_parquet_files
from pretexeval.storage.files import FileRef, read_stage_file, write_stage_file
from pretexeval.storage.layout import evaluation_file, next_requests_folder, run_file
from pretexeval.storage.records import (
    key_content,
    list_files,
    read_files,
    read_record,
    read_reports,
    write_record,
)
from schemas.columns import Stage
from schemas.stages import REQUESTS
from tasks.evaluation.asked_items import read_items, require_right_labels
from tasks.evaluation.chains import read_chains
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import Requests
from tasks.quality.validation import Report, validate_parts, write_down

RECORD = "requests.json"


@dataclass(frozen=True)
class RequestFiles:
    """The requests of an evaluation."""

    key: str
    """Hash of what the requests depend on: samples, model, and how it is asked (32 hex digits)."""
    files: tuple[FileRef, ...]
    """One per file of the edition with items that the model is asked about, under the same name."""
    checks: tuple[Report, ...] = field(default=(), compare=False)
    """The reports in the record that lists the files, among them that of their validation."""

    @property
    def n_samples(self) -> int:
        """Number of samples that the model is asked about, or of questions times repeats."""
        return sum(ref.n_rows for ref in self.files)


def write_requests(evaluation: Evaluation) -> RequestFiles:
    """Return the requests of the evaluation; write them unless they exist already.

    Raises:
        InputError: the edition is not complete, a sample of it has a wrong label, or the requests do not meet
            the expectations of the stage.
    """
    key = key_requests(evaluation)
    return _find_written(evaluation, key) or _write_pending(evaluation, key)


def key_requests(evaluation: Evaluation) -> str:
    """Return the key of the requests: samples, model, how it is asked, and the builder's version."""
    settings = evaluation.request_settings
    return hash_json(
        {
            "rows": [ref.sha256 for ref in evaluation.row_files().values()],
            "model_id": evaluation.model_id,
            "form": vars(settings.form),
            "sampling": settings.sampling.render_json(),
            "n_tokens_limit": settings.n_tokens_limit,
            "pairs_per_relation": evaluation.model.pairs_per_relation,
            "n_demonstrations": settings.n_demonstrations,
            "n_repeats": evaluation.subject.n_repeats,
            "chains": read_chains(evaluation),
            "schema": str(REQUESTS.schema),
            "requests": evaluation.subject.requests_key,
            "ask": "enough" if evaluation.asks_enough else "all",
        },
        digits=32,
    )


def build_file_requests(evaluation: Evaluation) -> Iterator[tuple[str, Requests]]:
    """Yield (file name, requests) of each file of the edition with items that the model is asked about.

    Raises:
        InputError: the edition is not complete, or a sample of it has a wrong label.
    """
    require_right_labels(evaluation)
    settings = evaluation.request_settings
    for asked in read_items(evaluation):
        built = evaluation.subject.build_requests(asked.items, asked.shots, settings)
        if built.prompts:
            yield asked.file, built


def remove_pending_requests(evaluation: Evaluation) -> None:
    """Remove the folder `next`, whose requests are complete or out of date."""
    shutil.rmtree(_locate_pending(evaluation), ignore_errors=True)


def _locate_pending(evaluation: Evaluation) -> Path:
    return evaluation.root / next_requests_folder(evaluation.folder)


def _find_written(evaluation: Evaluation, key: str) -> RequestFiles | None:
    """Return the requests of that key; None if a file is missing."""
    for record in (evaluation.root / run_file(evaluation.folder), _locate_pending(evaluation) / RECORD):
        files = select_requests(_read_files(evaluation, record, key))
        if files and all(ref.is_intact(evaluation.root) for ref in files):
            return RequestFiles(key, files, tuple(read_reports(record)))
    return None


def _read_files(evaluation: Evaluation, path: Path, key: str) -> tuple[FileRef, ...]:
    try:
        record = read_record(path)
        if record is None or record.get("requests_key") != key:
            return ()
        refs = read_files(record, path.parent.relative_to(evaluation.root).as_posix())
    except ValueError:
        return ()
    return tuple(refs)


def select_requests(refs: Iterable[FileRef]) -> tuple[FileRef, ...]:
    """Return the files of requests among those of an evaluation."""
    return tuple(ref for ref in refs if f"/{REQUESTS.name}/" in ref.path)


def scan_requests(evaluation: Evaluation, files: Sequence[FileRef]) -> pl.LazyFrame:
    """Return the requests of these files. Requests can share a prompt."""
    paths = [evaluation.root / ref.path for ref in files]
    return scan_parquet_files(paths, REQUESTS.empty.schema) if paths else REQUESTS.empty.lazy()


def _write_pending(evaluation: Evaluation, key: str) -> RequestFiles:
    remove_pending_requests(evaluation)
    root, folder = evaluation.root, next_requests_folder(evaluation.folder)
    files = [
        write_stage_file(root, evaluation_file(folder, REQUESTS.name, name), built.frame, REQUESTS)
        for name, built in build_file_requests(evaluation)
    ]
    check = check_files(evaluation, REQUESTS, files)
    record: dict[str, Any] = {"requests_key": key, "checks": [check], "files": list_files(files, folder)}
    write_record(root / folder / RECORD, record)
    return RequestFiles(key, tuple(files), (check,))


def check_files(evaluation: Evaluation, stage: Stage, files: Sequence[FileRef]) -> Report:
    """Return the report of the files of a stage; raises as `validate_parts` does."""
    frames = (read_stage_file(evaluation.root / ref.path, stage) for ref in files)
    report = validate_parts(stage, frames if files else [stage.empty], evaluation.folder)
    content = key_content(stage.name, [ref.sha256 for ref in files])
    return write_down(report) | {"content": content}
