"""Stored answers that no edition needs once some editions are removed."""

from collections.abc import Collection, Iterable, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from storage.layout import ALL_EVALUATIONS, RESPONSES_FOLDER
from storage.responses import ResponseStore


@dataclass(frozen=True)
class UnusedAnswers:
    """Files with answers of a model to prompts of some editions alone."""

    model_id: str
    files: tuple[Path, ...]
    n_answers: int
    n_bytes: int


def list_unused_answers(root: Path, edition_ids: Collection[str]) -> list[UnusedAnswers]:
    """Return the answers that only evaluations on these editions use, model by model.

    A file counts only as a whole: every answer in it is to a prompt of these editions, and to none of
    another edition or of anchors. Replies of writers and judges and chains of thought never count.
    """
    found = []
    for folder in sorted((root / RESPONSES_FOLDER).glob("*/")):
        requests = list(_list_requests(root, folder.name))
        keys = _read_keys(path for edition_id, path in requests if edition_id in edition_ids)
        keys -= _read_keys(path for edition_id, path in requests if edition_id not in edition_ids)
        if keys and (unused := _select_files(root, folder.name, keys)).files:
            found.append(unused)
    return found


def remove_answers(answers: Iterable[UnusedAnswers]) -> None:
    """Delete the files; what is already gone is skipped."""
    for each in answers:
        for path in each.files:
            path.unlink(missing_ok=True)


def _list_requests(root: Path, model_id: str) -> Iterator[tuple[str, Path]]:
    """Yield the edition and the file of all requests of a model, also of evaluations that have not ended."""
    for folder in ALL_EVALUATIONS:
        for path in (root / folder).glob(f"**/{model_id}/**/requests/*.parquet"):
            yield path.relative_to(root / folder).parts[0], path


def _read_keys(paths: Iterable[Path]) -> set[str]:
    return {key for path in paths for key in pl.read_parquet(path, columns=["prompt_key"])["prompt_key"]}


def _select_files(root: Path, model_id: str, keys: set[str]) -> UnusedAnswers:
    """Return the files whose answers all have one of these keys."""
    files, n_answers = [], 0
    for path in ResponseStore(root, model_id).list_files():
        answered = pl.read_parquet(path, columns=["prompt_key"])["prompt_key"]
        if keys.issuperset(answered):
            files.append(path)
            n_answers += len(answered)
    n_bytes = sum(path.stat().st_size for path in files)
    return UnusedAnswers(model_id, tuple(files), n_answers, n_bytes)
