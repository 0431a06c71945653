"""An exclusive session with one model: prompts are asked in chunks, and answers are stored as they arrive."""

import contextlib
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import ExitStack
from types import TracebackType

from config.engines import EngineConfig
from engines.base import Engine, IncrementalEngine, ProbedEngine
from engines.identity import identify_model
from engines.loading import load_engine
from primitives.errors import InputError, describe_failure, is_failure, release_frames
from schemas.exchange import Completion, Prompt, Sampling
from storage.disk import reserve_space
from storage.mirror import Mirror
from storage.model_locks import hold_model
from storage.responses import ResponseStore
from tasks.asking.chunks import TRIAL_CHUNK, ChunkSize, PromptsByKey, estimate_bytes, pop_prompts
from tasks.asking.hub_commits import pin_commit, warn_without_commit
from tasks.asking.model_records import write_model_record
from tasks.asking.progress import Advance
from tasks.asking.received_answers import ReceivedAnswers
from tasks.asking.refusals import explain_failure, have_failed

LoadEngine = Callable[[EngineConfig], Engine]


class ModelSession:
    """A model and its answers. The model is loaded at the first prompt and closed when the block ends.

    One process at a time has a session with a model, or one process for each shard of its prompts, so that no
    prompt is asked twice (`storage.model_locks`). Among hosts that share a bucket, each chunk of answers is
    sent there before the next is asked.
    """

    def __init__(
        self,
        config: EngineConfig,
        mirror: Mirror,
        load: LoadEngine = load_engine,
        shard: str | None = None,
    ) -> None:
        """Identify the model without loading it.

        Args:
            shard: the name of the shard to which all prompts belong; None: any prompt may be asked.

        Raises:
            InputError: there is no such model.
        """
        self.config = config
        self.identity = identify_model(config)
        self.store = ResponseStore(mirror.root, self.identity.model_id)
        self.accepts_refusal = False
        """Whether to go on if the endpoint refuses every prompt of a chunk."""
        self._chunk_size = ChunkSize()
        self._has_answered = False
        self._started = time.monotonic()
        self._load = load
        self._engine: Engine | None = None
        self._mirror = mirror
        self._shard = shard
        self._locks = ExitStack()
        self._require_lease: Callable[[], None]

    def __enter__(self) -> "ModelSession":
        """Acquire the model's lock, blocking until it is free, fetch the answers of other hosts, return self.

        Read from the store which prompts are answered only after this: the process that held the lock before
        may have answered some.

        Raises:
            InputError: the storage that hosts share cannot be used.
        """
        with ExitStack() as stack:
            locks = hold_model(self._mirror, self.identity.model_id, self._shard)
            self._require_lease = stack.enter_context(locks)
            self._mirror.sync_responses(self.identity.model_id)
            self._locks = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Close the engine, if one was loaded, and release the locks."""
        try:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
        finally:
            self._locks.__exit__(kind, error, trace)

    @property
    def chunk_size(self) -> int:
        """Number of prompts in the next chunk: few until the model has answered, and after refusals."""
        return self._chunk_size.n_prompts

    def ask_and_store(self, chunk: PromptsByKey, sampling: Sampling, on_progress: Advance) -> None:
        """Ask one chunk of prompts and store every answer, also if this raises or is interrupted.

        Raises:
            InputError: the model cannot be loaded or reached, its engine crashed, the endpoint refuses every
                prompt, or another host has taken over the lease. The answers so far are stored.
        """
        engine = self._open_engine()
        self._require_lease()
        started = time.monotonic()

        def store(keys: list[str], prompts: list[Prompt], completions: list[Completion]) -> None:
            path = self.store.append(keys, prompts, completions, sampling.repeat)
            self._mirror.send(path.relative_to(self._mirror.root).as_posix())

        def advance(n_more: int) -> None:
            on_progress(n_more)
            if answers.store_if_due():
                self._require_lease()

        answers = ReceivedAnswers(chunk, store, self._started)
        try:
            with (
                self._explain_errors("its engine crashed"),
                reserve_space(self.store.folder, estimate_bytes(chunk, sampling)),
            ):
                _generate(engine, answers.received, list(chunk.values()), sampling, advance)
        finally:
            answers.store_all()
        self._chunk_size.adjust(time.monotonic() - started)
        style = next(iter(chunk.values())).style
        self._check_failures(answers.list_outcomes(), style, sampling)

    def ask(self, prompts: PromptsByKey, sampling: Sampling, on_progress: Advance) -> None:
        """Ask any number of prompts in chunks and store every answer. Raises as `ask_and_store` does."""
        waiting = dict(prompts)
        while waiting:
            self.ask_and_store(pop_prompts(waiting, self.chunk_size), sampling, on_progress)

    @contextlib.contextmanager
    def _explain_errors(self, what: str) -> Iterator[None]:
        """Raise any error of an engine as an InputError that names the model, except an interrupt."""
        try:
            yield
        except InputError:
            raise
        except BaseException as error:
            if not is_failure(error):
                raise
            release_frames(error)
            reason = describe_failure(error)
            raise InputError(f"model {self.config.name!r}: {what} ({reason})") from error

    def _open_engine(self) -> Engine:
        """Return the engine; load it at the first call."""
        if self._engine is None:
            pinned = pin_commit(self.config, self._mirror, self.identity.model_id)
            self.write_model_record()
            with self._explain_errors("it cannot be loaded"):
                self._engine = self._load(pinned)
            # The commit of a hub model is known only now.
            self.write_model_record()
            warn_without_commit(pinned, self.identity.model_id)
        return self._engine

    def write_model_record(self) -> None:
        """Write the record of the model beside its responses, and send it to the bucket."""
        write_model_record(self.config, self._mirror, is_loaded=self._engine is not None)

    def _check_failures(self, completions: Sequence[Completion], style: str, sampling: Sampling) -> None:
        """Raise InputError if the endpoint answers no prompt; if none at the chunk's end, ask few next.

        Prompts can be refused for their content, also many in a row. So a throwaway prompt decides.
        """
        self._has_answered |= any(completion.status == "ok" for completion in completions)
        is_decisive = len(completions) >= TRIAL_CHUNK or not self._has_answered
        if (
            have_failed(completions)
            and is_decisive
            and not self.accepts_refusal
            and isinstance(self._engine, ProbedEngine)
            and not self._engine.is_answering(style, sampling)
        ):
            raise explain_failure(self.config.name, completions)
        self._chunk_size.is_on_trial = have_failed(completions[-TRIAL_CHUNK:])


def _generate(
    engine: Engine,
    received: dict[int, Completion],
    prompts: Sequence[Prompt],
    sampling: Sampling,
    on_progress: Advance,
) -> None:
    """Put the completions into `received`; if this raises, those that the engine has handed over."""
    if isinstance(engine, IncrementalEngine):
        engine.generate_into(received, prompts, sampling, on_progress)
    else:
        received.update(enumerate(engine.generate(prompts, sampling, on_progress)))
