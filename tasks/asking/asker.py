"""Asking a model what it was never asked: chunk by chunk, each kept before the next is sent."""

import logging
import time
from collections.abc import Callable, Mapping
from contextlib import ExitStack
from types import TracebackType

from filelock import FileLock, Timeout

from config.engines import EngineConfig
from engines.base import Engine, EngineLostError
from engines.identity import identify_model
from engines.load import load_engine
from schemas.exchange import Completion, Prompt, Sampling
from storage.disk import reserve_room
from storage.files import write_json
from storage.layout import model_file, model_lock
from storage.mirror import Mirror
from storage.responses import ResponseStore
from tasks.asking.progress import Advance

logger = logging.getLogger(__name__)

# A chunk is what a killed run can lose. It grows until it takes about this long.
CHUNK_S = 20.0
FIRST_CHUNK = 1024
MAX_CHUNK = 16_384
# Of a row without its texts; a token of the longest words is shorter.
ROW_BYTES = 512
TOKEN_BYTES = 16

Pending = dict[str, Prompt]
"""Prompt key -> prompt."""
Load = Callable[[EngineConfig], Engine]


class Asker:
    """A model and its answers: loaded when it is first asked, let go when the block ends.

    One process at a time asks a model: what another was asked meanwhile is answered when this one's turn
    comes. The lock is the system's, so that a process that is killed holds nobody up; among hosts that share
    a bucket it is a lease as well, and every answer goes there before the next is asked for.
    """

    def __init__(
        self,
        config: EngineConfig,
        mirror: Mirror,
        load: Load = load_engine,
    ) -> None:
        """Nothing is loaded yet.

        Raises:
            InputError: if there is no such model.
        """
        self.config = config
        self.identity = identify_model(config)
        self.store = ResponseStore(mirror.root, self.identity.model_id)
        self.size = FIRST_CHUNK
        """Prompts of the next chunk, so many that it takes about as long as one should."""
        self._load = load
        self._engine: Engine | None = None
        self._mirror = mirror
        self._lock = mirror.root / model_lock(self.identity.model_id)
        self._held = ExitStack()
        self._require_turn: Callable[[], None]

    def __enter__(self) -> "Asker":
        """Itself, as soon as nobody else asks the model; read what is answered after that.

        Raises:
            InputError: if the storage that hosts share cannot be used.
        """
        self._lock.parent.mkdir(parents=True, exist_ok=True)
        with ExitStack() as stack:
            stack.callback(self._take_lock().release)
            self._require_turn = stack.enter_context(self._mirror.hold(self.identity.model_id))
            self._mirror.sync_responses(self.identity.model_id)
            self._held = stack.pop_all()
        return self

    def __exit__(
        self,
        kind: type[BaseException] | None,
        error: BaseException | None,
        trace: TracebackType | None,
    ) -> None:
        """Let go of the engine, if one was loaded, and of the model."""
        try:
            if self._engine is not None:
                self._engine.close()
                self._engine = None
        finally:
            self._held.__exit__(kind, error, trace)

    def ask_chunk(self, chunk: Pending, sampling: Sampling, on_progress: Advance) -> None:
        """Ask, and keep every answer.

        Raises:
            InputError: if the model cannot be loaded or reached, or another host has taken its turn. What
                was answered before is kept.
        """
        if self._engine is None:
            self.write_model()
            self._engine = self._load(self.config)
        self._require_turn()
        started = time.monotonic()
        try:
            with reserve_room(self.store.folder, _measure_answers(chunk, sampling)):
                completions = self._engine.generate(list(chunk.values()), sampling, on_progress)
        except EngineLostError as lost:
            self._keep(chunk, lost.answered)
            raise
        self._keep(chunk, dict(enumerate(completions)))
        self._resize(time.monotonic() - started)

    def ask(self, pending: Pending, sampling: Sampling, on_progress: Advance) -> None:
        """Ask any number of prompts, chunk by chunk; raises as `ask_chunk`."""
        waiting = dict(pending)
        while waiting:
            self.ask_chunk(take_chunk(waiting, self.size), sampling, on_progress)

    def write_model(self) -> None:
        """Write down who the model is beside its responses."""
        description = {
            "model_id": self.identity.model_id,
            "name": self.config.name,
            "engine": self.config.engine,
            "identity": self.identity.identity,
            "known_heads": self.identity.known_heads,
        }
        path = model_file(self.identity.model_id)
        write_json(self._mirror.root / path, description)
        self._mirror.send(path)

    def _take_lock(self) -> FileLock:
        lock = FileLock(self._lock)
        try:
            lock.acquire(timeout=0)
        except Timeout:
            logger.warning("another process asks %s: waiting for it to end", self.identity.model_id)
            lock.acquire()
        return lock

    def _keep(self, chunk: Pending, completions: Mapping[int, Completion]) -> None:
        """Keep these of the chunk's completions, each known by its place in the chunk."""
        if not completions:
            return
        in_order = list(chunk)
        keys = [in_order[number] for number in completions]
        kept = self.store.append(keys, [chunk[key] for key in keys], list(completions.values()))
        self._mirror.send(kept.relative_to(self._mirror.root).as_posix())

    def _resize(self, seconds: float) -> None:
        factor = min(max(CHUNK_S / max(seconds, 1e-6), 0.5), 4.0)
        self.size = int(min(max(self.size * factor, FIRST_CHUNK // 4), MAX_CHUNK))


def _measure_answers(chunk: Pending, sampling: Sampling) -> int:
    """Bytes that the chunk's prompts and answers take at most."""
    n_prompt_bytes = sum(len(prompt.text.encode()) for prompt in chunk.values())
    return n_prompt_bytes + len(chunk) * (ROW_BYTES + TOKEN_BYTES * sampling.max_tokens)


def take_chunk(waiting: Pending, size: int) -> Pending:
    """The first so many, taken out of those that wait."""
    return {key: waiting.pop(key) for key in list(waiting)[:size]}
