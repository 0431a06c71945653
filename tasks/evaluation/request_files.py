"""The requests of an evaluation as files. They are written before the model is asked, and read for scoring.

New requests are in the folder `next` until the evaluation is complete, so that the last evaluation in the
same folder stays readable meanwhile. The folder `next` also holds the prompts that have no answer yet; the
texts of answered prompts are in the response store.
"""

import shutil
from collections.abc import Iterable, Iterator
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import polars as pl

from pretexeval.primitives.hashing import checksum_file, hash_json
from pretexeval.primitives.literal_paths import read_parquet
from pretexeval.storage.files import FileRef, read_stage_files, write_atomically, write_stage_file
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.layout import evaluation_file, next_requests_folder, run_file
from pretexeval.storage.records import (
    key_content,
    list_files,
    read_files,
    read_manifest_files,
    read_record,
    read_reports,
    write_record,
)
from schemas.exchange import Prompt
from schemas.stages import REQUESTS
from tasks.evaluation.chains import read_chains
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import Requests
from tasks.quality.validation import Report, check_stage

RECORD = "requests.json"


@dataclass(frozen=True)
class RequestFiles:
    """The requests of an evaluation."""

    key: str
    """Hash of what the requests depend on: samples, model, and how it is asked (32 hex digits)."""
    files: tuple[FileRef, ...]
    """One per relation."""
    prompts: Path | None
    """Folder of the prompts that had no answer, in files of the same names; null if all had one."""
    checks: tuple[Report, ...] = field(default=(), compare=False)
    """The report of their validation."""

    @property
    def n_samples(self) -> int:
        """Number of samples that the model is asked about, or of questions times repeats."""
        return sum(ref.n_rows for ref in self.files)

    def read_prompts(self, ref: FileRef) -> dict[str, Prompt]:
        """Return prompt key -> prompt, for the prompts of one relation that had no answer."""
        path = self.locate_prompts(ref)
        if path is None:
            return {}
        return {key: Prompt(style, text) for key, style, text in read_parquet(path).iter_rows()}

    def read_unanswered_keys(self, ref: FileRef) -> set[str]:
        """Return the keys of `read_prompts` without reading the texts, which can take gigabytes."""
        path = self.locate_prompts(ref)
        return set() if path is None else set(read_parquet(path, ["prompt_key"])["prompt_key"])

    def locate_prompts(self, ref: FileRef) -> Path | None:
        """Return the file of the prompts of one relation; null if all had an answer."""
        path = None if self.prompts is None else self.prompts / Path(ref.path).name
        return path if path is not None and path.is_file() else None


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
            **({} if evaluation.divided_budget is None else {"asked_pairs": evaluation.divided_budget}),
        },
        digits=32,
    )


def build_relation_requests(evaluation: Evaluation) -> Iterator[tuple[str, Requests]]:
    """Yield (file name, requests) of each relation.

    Raises:
        InputError: the edition is not complete, or a sample of it has a wrong label.
    """
    subject = evaluation.subject
    require_derived_labels(
        evaluation.root, read_manifest_files(evaluation.root, evaluation.edition_id).values()
    )
    settings = replace(evaluation.request_settings, chains=read_chains(evaluation))
    for name, refs in evaluation.relation_files().items():
        rows = read_stage_files(evaluation.root, refs, subject.kind.stage)
        yield name, subject.build_requests(rows, settings, evaluation.limit_pairs(rows))


def remove_pending_requests(evaluation: Evaluation) -> None:
    """Remove the folder `next`, whose requests are complete or out of date."""
    shutil.rmtree(_locate_pending(evaluation), ignore_errors=True)


def _locate_pending(evaluation: Evaluation) -> Path:
    return evaluation.root / next_requests_folder(evaluation.folder)


def _find_written(evaluation: Evaluation, key: str) -> RequestFiles | None:
    """Return the requests of that key; null if a file, or a prompt without an answer, is missing."""
    run = evaluation.root / run_file(evaluation.folder)
    folder = _locate_pending(evaluation)
    for record, prompts in ((run, None), (folder / RECORD, folder / "prompts")):
        listed = _read_files(evaluation, record, key)
        files = select_requests(listed)
        used = files if prompts is None else listed
        if files and all(ref.is_intact(evaluation.root) for ref in used):
            written = RequestFiles(key, files, prompts, tuple(read_reports(record)))
            if _has_every_prompt(evaluation, written):
                return written
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


def _has_every_prompt(evaluation: Evaluation, requests: RequestFiles) -> bool:
    settled = evaluation.read_settled_keys()
    written = {key for ref in requests.files for key in requests.read_unanswered_keys(ref)}
    return set(list_prompt_keys(evaluation, requests)) <= settled | written


def list_prompt_keys(evaluation: Evaluation, requests: RequestFiles, repeat: int = 0) -> list[str]:
    """Return the key of the prompt of every request of one repeat. Requests can share a prompt."""
    columns = ["prompt_key", "repeat"]
    frames = (read_parquet(evaluation.root / ref.path, columns) for ref in requests.files)
    return [key for frame in frames for key in frame.filter(repeat=repeat)["prompt_key"]]


def _write_pending(evaluation: Evaluation, key: str) -> RequestFiles:
    remove_pending_requests(evaluation)
    folder = next_requests_folder(evaluation.folder)
    prompts = evaluation.root / folder / "prompts"
    known, files, frames = evaluation.read_settled_keys(), [], []
    for name, built in build_relation_requests(evaluation):
        frames.append(built.frame)
        path = evaluation_file(folder, REQUESTS.name, name)
        files.append(write_stage_file(evaluation.root, path, built.frame, REQUESTS))
        fresh = {
            k: p for k, p in zip(built.frame["prompt_key"], built.prompts, strict=True) if k not in known
        }
        known.update(fresh)
        files += _write_prompts(evaluation.root, f"{folder}/prompts/{name}", fresh)
    requests = select_requests(files)
    content = key_content(REQUESTS.name, [ref.sha256 for ref in requests])
    check = check_stage(REQUESTS, pl.concat(frames), evaluation.folder) | {"content": content}
    record: dict[str, Any] = {"requests_key": key, "checks": [check], "files": list_files(files, folder)}
    write_record(evaluation.root / folder / RECORD, record)
    return RequestFiles(key, requests, prompts, (check,))


def _write_prompts(root: Path, path: str, prompts: dict[str, Prompt]) -> list[FileRef]:
    if not prompts:
        return []
    rows = [(key, prompt.style, prompt.text) for key, prompt in prompts.items()]
    schema = dict.fromkeys(("prompt_key", "prompt_style", "prompt"), pl.String)
    with write_atomically(root / path) as temporary:
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(temporary)
    return [FileRef(path=path, n_rows=len(rows), sha256=checksum_file(root / path))]
