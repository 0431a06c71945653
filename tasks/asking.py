"""Asking a model what it was never asked: chunk by chunk, each kept before the next is sent."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from config import ModelConfig
from engines.base import Engine, Prompt
from engines.load import load_engine
from tasks.evaluation import Evaluation
from tasks.storage import write_json

# A chunk is what a killed run can lose. It grows until it takes about this long.
CHUNK_S = 20.0
FIRST_CHUNK = 1024
MAX_CHUNK = 16_384

Pending = dict[str, Prompt]


@dataclass
class AskingReport:
    """What became of the prompts of an evaluation."""

    n_samples: int = 0
    n_asked: int = 0
    """Prompts put to the model by this run."""
    n_reused: int = 0
    """Samples whose prompt had its answer already, or shares it with another sample."""
    n_errors: int = 0
    """Prompts that have no answer in the end."""
    n_open: int = 0
    """Those of them that the next run asks again; a prompt too long for the model is not one."""


def ask_missing(
    evaluation: Evaluation,
    on_progress: Callable[[int], None],
    load: Callable[[ModelConfig], Engine] = load_engine,
) -> AskingReport:
    """Ask every prompt of the edition that has no answer yet; the engine is loaded only if there is one.

    Raises:
        InputError: if the model cannot be loaded or reached. What was answered before is kept.
    """
    report = AskingReport()
    chunks = _Chunks(evaluation, report, on_progress)
    engine: Engine | None = None
    try:
        for chunk in chunks:
            if engine is None:
                write_model(evaluation)
                engine = load(evaluation.model)
            started = time.monotonic()
            completions = engine.generate(list(chunk.values()), evaluation.asking.sampling, on_progress)
            evaluation.store.append(list(chunk), list(chunk.values()), completions)
            report.n_asked += len(chunk)
            chunks.resize(time.monotonic() - started)
    finally:
        if engine is not None:
            engine.close()
    write_model(evaluation)
    failed = evaluation.store.read_failed_keys() & chunks.keys
    report.n_errors = len(failed)
    report.n_open = len(failed - evaluation.store.read_settled_keys())
    return report


class _Chunks:
    """The unanswered prompts of an edition, in chunks; relation after relation, so memory is bounded."""

    def __init__(
        self, evaluation: Evaluation, report: AskingReport, on_progress: Callable[[int], None]
    ) -> None:
        self.evaluation = evaluation
        self.report = report
        self.on_progress = on_progress
        self.size = FIRST_CHUNK
        self.keys: set[str] = set()

    def __iter__(self) -> Iterator[Pending]:
        settled = self.evaluation.store.read_settled_keys()
        waiting: Pending = {}
        for _, _, requests in self.evaluation.read_relations():
            keys = requests.frame["prompt_key"]
            fresh = {k: p for k, p in zip(keys, requests.prompts, strict=True) if k not in settled}
            settled.update(fresh)
            self.keys.update(keys)
            waiting |= fresh
            self.report.n_samples += len(keys)
            self.report.n_reused += len(keys) - len(fresh)
            self.on_progress(len(keys) - len(fresh))
            while len(waiting) >= self.size:
                yield self._take(waiting)
        while waiting:
            yield self._take(waiting)

    def _take(self, waiting: Pending) -> Pending:
        return {key: waiting.pop(key) for key in list(waiting)[: self.size]}

    def resize(self, seconds: float) -> None:
        """Grow or shrink so that the next chunk takes about as long as one should."""
        factor = min(max(CHUNK_S / max(seconds, 1e-6), 0.5), 4.0)
        self.size = int(min(max(self.size * factor, FIRST_CHUNK // 4), MAX_CHUNK))


def write_model(evaluation: Evaluation) -> None:
    """Write down who the model is beside its responses."""
    identity = evaluation.identity
    description = {
        "model_id": identity.model_id,
        "name": evaluation.model.name,
        "engine": evaluation.model.engine,
        "identity": identity.identity,
        "known_heads": identity.known_heads,
    }
    write_json(evaluation.store.folder / "model.json", description)
