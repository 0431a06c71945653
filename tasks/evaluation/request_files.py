"""The requests of an evaluation as files: written before the model is asked, read by asking and scoring.

New requests lie in the folder `next` until the evaluation is complete, so that an older evaluation in the
same folder stays readable meanwhile. Beside them lie the prompts that have no answer yet; once a prompt is
answered, the response store holds its text.
"""

import shutil
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl

from primitives.hashing import hash_json
from primitives.source import hash_source
from schemas.exchange import Prompt
from schemas.stages import REQUESTS
from storage.files import FileRef, read_stage_files, write_aside, write_json, write_stage_file
from storage.layout import next_requests_folder, run_file
from storage.records import RecordError, list_files, read_files, read_record
from tasks.evaluation import requests
from tasks.evaluation.demonstrations import draw_demonstrations_of_methods
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import Requests, build_requests, select_samples
from tasks.quality.validation import require_valid, validate_stage

RECORD = "requests.json"


@dataclass(frozen=True)
class RequestFiles:
    """The requests of an evaluation."""

    key: str
    """What they depend on: samples, model, and how it is asked (32 hex digits)."""
    files: tuple[FileRef, ...]
    """One per relation."""
    prompts: Path | None
    """Folder with the prompts that had no answer, in files of the same names; null if none was missing."""

    @property
    def n_samples(self) -> int:
        """How many samples the model is asked about."""
        return sum(ref.n_rows for ref in self.files)

    def read_prompts(self, ref: FileRef) -> dict[str, Prompt]:
        """Return prompt key -> prompt of one relation, of those that had no answer."""
        path = None if self.prompts is None else self.prompts / Path(ref.path).name
        if path is None or not path.is_file():
            return {}
        return {key: Prompt(style, text) for key, style, text in pl.read_parquet(path).iter_rows()}


def write_requests(evaluation: Evaluation) -> RequestFiles:
    """Return the requests of the evaluation; they are written unless they are there already.

    Raises:
        InputError: if the edition is not complete, or the requests do not meet the stage's expectations.
    """
    key = key_requests(evaluation)
    return _find_written(evaluation, key) or _write_next(evaluation, key)


def key_requests(evaluation: Evaluation) -> str:
    """Return the key of the requests: samples, model, how it is asked, and the code that builds them."""
    asking = evaluation.asking
    return hash_json(
        {
            "samples": [ref.sha256 for ref in evaluation.sample_files().values()],
            "model_id": evaluation.model_id,
            "form": vars(asking.form),
            "sampling": asking.sampling.render_json(),
            "n_tokens_limit": asking.n_tokens_limit,
            "pairs_per_relation": evaluation.model.pairs_per_relation,
            "schema": str(REQUESTS.schema),
            "source": hash_source(requests.__name__),
        },
        digits=32,
    )


def build_relations(evaluation: Evaluation) -> Iterator[tuple[str, Requests]]:
    """Return (file name, requests) of one relation after the other; each file of samples is read once."""
    for path, ref in evaluation.sample_files().items():
        samples = read_stage_files(evaluation.root, [ref])
        asked = select_samples(samples, evaluation.model.pairs_per_relation)
        demonstrations = draw_demonstrations_of_methods(samples)
        yield Path(path).name, build_requests(asked, demonstrations, evaluation.asking)


def remove_next(evaluation: Evaluation) -> None:
    """Remove the folder of requests that were being asked."""
    shutil.rmtree(_locate_next(evaluation), ignore_errors=True)


def _locate_next(evaluation: Evaluation) -> Path:
    return evaluation.root / next_requests_folder(evaluation.edition_id, evaluation.model_id)


def _find_written(evaluation: Evaluation, key: str) -> RequestFiles | None:
    """The requests of that key, if they and every prompt that has no answer are there."""
    run = evaluation.root / run_file(evaluation.edition_id, evaluation.model_id)
    folder = _locate_next(evaluation)
    for record, prompts in ((run, None), (folder / RECORD, folder / "prompts")):
        files = _read_files(evaluation.root, record, key)
        if files and all(ref.is_intact(evaluation.root) for ref in files):
            found = RequestFiles(key, files, prompts)
            if _has_every_prompt(evaluation, found):
                return found
    return None


def _read_files(root: Path, path: Path, key: str) -> tuple[FileRef, ...]:
    try:
        record = read_record(path)
        if record is None or record.get("requests_key") != key:
            return ()
        refs = read_files(record, path.parent.relative_to(root).as_posix())
    except (RecordError, ValueError):
        return ()
    return tuple(ref for ref in refs if "/requests/" in ref.path)


def _has_every_prompt(evaluation: Evaluation, found: RequestFiles) -> bool:
    settled = evaluation.store.read_settled_keys()
    written = {key for ref in found.files for key in found.read_prompts(ref)}
    keys = read_keys(evaluation, found)
    return keys <= settled | written


def read_keys(evaluation: Evaluation, found: RequestFiles) -> set[str]:
    """Return the key of every prompt of the evaluation."""
    frames = (pl.read_parquet(evaluation.root / ref.path, columns=["prompt_key"]) for ref in found.files)
    return {key for frame in frames for key in frame["prompt_key"]}


def _write_next(evaluation: Evaluation, key: str) -> RequestFiles:
    remove_next(evaluation)
    folder = next_requests_folder(evaluation.edition_id, evaluation.model_id)
    prompts = evaluation.root / folder / "prompts"
    known, files, frames = evaluation.store.read_settled_keys(), [], []
    for name, built in build_relations(evaluation):
        frames.append(built.frame)
        files.append(write_stage_file(evaluation.root, f"{folder}/requests/{name}", built.frame, REQUESTS))
        fresh = {
            k: p for k, p in zip(built.frame["prompt_key"], built.prompts, strict=True) if k not in known
        }
        known.update(fresh)
        _write_prompts(prompts / name, fresh)
    require_valid(validate_stage(REQUESTS, pl.concat(frames), evaluation.folder))
    record: dict[str, Any] = {"requests_key": key, "files": list_files(files, folder)}
    write_json(evaluation.root / folder / RECORD, record)
    return RequestFiles(key, tuple(files), prompts)


def _write_prompts(path: Path, prompts: dict[str, Prompt]) -> None:
    if not prompts:
        return
    rows = [(key, prompt.style, prompt.text) for key, prompt in prompts.items()]
    schema = dict.fromkeys(("prompt_key", "prompt_style", "prompt"), pl.String)
    with write_aside(path) as aside:
        pl.DataFrame(rows, schema=schema, orient="row").write_parquet(aside)
