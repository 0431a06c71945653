"""Shards of an evaluation: its prompts, divided by their keys among several workers that ask one model."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator
from dataclasses import replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from storage.files import FileRef, link_file
from storage.layout import next_requests_folder
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles

# A key is a hash, so any of its digits divide the prompts evenly.
N_DIGITS = 8


class Shard(BaseModel):
    """One of several parts of the prompts of an evaluation."""

    model_config = ConfigDict(extra="forbid", frozen=True)

    number: Annotated[int, Field(ge=1)]
    """1, 2, …"""
    of: Annotated[int, Field(ge=2)]
    """The number of shards."""

    @model_validator(mode="after")
    def _require_existing(self) -> Self:
        if self.number > self.of:
            raise ValueError(f"there is no shard {self.number} of {self.of}")
        return self

    @property
    def name(self) -> str:
        """The name of the shard in locks and in the names of runs."""
        return f"shard-{self.number}-of-{self.of}"

    def contains(self, key: str) -> bool:
        """Return whether the prompt of this key belongs to the shard; each belongs to exactly one."""
        return int(key[:N_DIGITS], 16) % self.of == self.number - 1


@contextlib.contextmanager
def keep_prompts(evaluation: Evaluation, requests: RequestFiles, shard: Shard) -> Iterator[RequestFiles]:
    """Link the prompts into a folder of this process, and yield the requests with them.

    Another process may write the requests again while this one asks, for example with other demonstrations.
    """
    if requests.prompts is None:
        yield requests
        return
    root = evaluation.root
    parent = root / next_requests_folder(evaluation.folder)
    folder = Path(tempfile.mkdtemp(prefix=f"{shard.name}-", dir=parent))
    try:
        for path in requests.prompts.glob("*.parquet"):
            ref = FileRef(path=path.relative_to(root).as_posix(), n_rows=0, sha256="")
            link_file(root, ref, (folder / path.name).relative_to(root).as_posix())
        yield replace(requests, prompts=folder)
    finally:
        shutil.rmtree(folder, ignore_errors=True)
