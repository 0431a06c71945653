"""Ask a model the prompts of an evaluation that have no answer yet."""

import contextlib
import shutil
import tempfile
from collections.abc import Iterator, Sequence, Set
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Annotated, Self

from pydantic import BaseModel, ConfigDict, Field, model_validator

from pretexeval.engines.loading import load_engine
from pretexeval.storage.files import FileRef, link_file
from pretexeval.storage.layout import next_requests_folder
from pretexeval.storage.store import Store
from tasks.asking.model_session import Advance, LoadEngine, ModelSession, PromptsByKey, pop_prompts
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.request_files import RequestFiles, list_prompt_keys

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


@dataclass
class AskingReport:
    """Counts of the requests of an evaluation: asked, reused, failed."""

    n_samples: int = 0
    """Samples, or questions times repeats."""
    n_asked: int = 0
    """Prompts that this run asked."""
    n_reused: int = 0
    """Samples whose prompt was answered before, or is also the prompt of another sample."""
    n_errors: int = 0
    """Samples whose prompt has no response after the run."""
    n_open: int = 0
    """Failed prompts that the next run asks again. Prompts that are too long for the model do not count."""


def ask_missing(
    evaluation: Evaluation,
    requests: RequestFiles,
    store: Store,
    on_progress: Advance,
    load: LoadEngine = load_engine,
    *,
    asks_failed: bool = True,
) -> AskingReport:
    """Ask the prompts of the requests that have no answer. The engine is loaded only if there are any.

    Prompts are read relation by relation, so that memory use is bounded.

    Args:
        asks_failed: whether to ask prompts again that were asked and have no response.

    Raises:
        InputError: the model cannot be loaded or reached. The answers that it gave are kept.
    """
    report = AskingReport(n_samples=requests.n_samples)
    repeats = range(evaluation.subject.n_repeats)
    with ModelSession(evaluation.model, store, load) as session:
        done = [evaluation.store.read_settled_keys(repeat) for repeat in repeats]
        if not asks_failed:
            done = [keys | evaluation.store.read_failed_keys(repeat) for repeat, keys in enumerate(done)]
        report.n_asked = _ask_open(evaluation, requests, session, done, on_progress)
        session.write_model_record()
    report.n_reused = report.n_samples - report.n_asked
    for repeat in repeats:
        failed = evaluation.store.read_failed_keys(repeat)
        failed_keys = [key for key in list_prompt_keys(evaluation, requests, repeat) if key in failed]
        report.n_errors += len(failed_keys)
        report.n_open += len(set(failed_keys) - evaluation.store.read_settled_keys(repeat))
    return report


def ask_shard(
    evaluation: Evaluation,
    requests: RequestFiles,
    shard: Shard,
    store: Store,
    on_progress: Advance,
    load: LoadEngine = load_engine,
) -> int:
    """Ask the prompts of a shard that have no answer; return their number. Raises as `ask_missing` does."""
    with ModelSession(evaluation.model, store, load, shard.name) as session:
        done = list(map(evaluation.store.read_settled_keys, range(evaluation.subject.n_repeats)))
        return _ask_open(evaluation, requests, session, done, on_progress, shard)


def _ask_open(
    evaluation: Evaluation,
    requests: RequestFiles,
    session: ModelSession,
    done: Sequence[Set[str]],
    on_progress: Advance,
    shard: Shard | None = None,
) -> int:
    """Ask every prompt that is not done, of all repeats, and return their number.

    Args:
        done: repeat -> the keys of the prompts that are not asked.
    """
    keys = {key for ref in requests.files for key in requests.read_unanswered_keys(ref)}
    if shard is not None:
        keys = set(filter(shard.contains, keys))
    n_left = sum(len(keys - of_repeat) for of_repeat in done)
    n_samples = requests.n_samples // (shard.of if shard else 1)
    # These may be prompts that are refused for their content, as they were before. If all of them fail
    # again, the evaluation is still valid.
    session.accepts_refusal = n_left <= evaluation.max_error_rate * n_samples
    on_progress(max(n_samples - n_left, 0))
    for repeat, of_repeat in enumerate(done):
        _ask_repeat(evaluation, requests, repeat, keys - of_repeat, session, on_progress)
    return n_left


def _ask_repeat(
    evaluation: Evaluation,
    requests: RequestFiles,
    repeat: int,
    keys: Set[str],
    session: ModelSession,
    on_progress: Advance,
) -> None:
    """Ask the prompts of these keys for this repeat."""
    sampling = replace(evaluation.request_settings.sampling, repeat=repeat)
    waiting: PromptsByKey = {}
    for ref in requests.files:
        waiting |= {k: p for k, p in requests.read_prompts(ref).items() if k in keys}
        while len(waiting) >= session.chunk_size:
            session.ask_and_store(pop_prompts(waiting, session.chunk_size), sampling, on_progress)
    session.ask(waiting, sampling, on_progress)
