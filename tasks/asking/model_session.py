"""An exclusive session with one model: prompts are asked in chunks, and answers are stored as they arrive."""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import dataclass, field, replace
from itertools import islice
from types import TracebackType

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine, LookaheadEngine, RemoteEngine
from pretexeval.engines.identity import identify_model
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import FULL_DISK, InputError, describe_failure, is_failure, release_frames
from pretexeval.primitives.process import finish
from pretexeval.storage.disk import reserve_space
from pretexeval.storage.locks import hold_model
from pretexeval.storage.store import Store
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt, Sampling
from tasks.asking.model_records import pin_commit, warn_without_commit, write_model_record
from tasks.asking.server_habits import (
    CUT,
    HabitWatch,
    find_equal_counts,
    find_low_counts,
    make_unique,
)

Advance = Callable[[int], None]
"""Takes how many more are done."""
ShowProgress = Callable[[str, int], AbstractContextManager[Advance]]
"""Opens a display with this title and total."""


# The chunk size is adjusted so that a chunk takes this long. In a longer one, answers are stored meanwhile.
CHUNK_S = 20.0
FIRST_CHUNK = 1024
# The first prompts show whether an endpoint answers at all, before many are sent or paid for.
TRIAL_CHUNK = 32
MAX_CHUNK = 16_384
# Upper bounds for reserving disk space: bytes of a file without rows, of a row without texts, and of a token.
FILE_BYTES = 16_384
ROW_BYTES = 512
TOKEN_BYTES = 16

PromptsByKey = dict[str, Prompt]
"""Prompt key -> prompt."""


class ChunkSize:
    """The number of prompts in the next chunk: few until an endpoint has answered, and after refusals."""

    def __init__(self, *, is_on_trial: bool) -> None:
        """Begin with a chunk on trial, or with a larger one."""
        self.is_on_trial = is_on_trial
        self._n_full = FIRST_CHUNK

    @property
    def n_prompts(self) -> int:
        """Return the number of prompts in the next chunk."""
        return TRIAL_CHUNK if self.is_on_trial else self._n_full

    def adjust(self, seconds: float) -> None:
        """Make the next chunk take about CHUNK_S, after one that took this long; a trial says nothing."""
        if not self.is_on_trial:
            factor = min(max(CHUNK_S / max(seconds, 1e-6), 0.5), 4.0)
            self._n_full = int(min(max(self._n_full * factor, FIRST_CHUNK // 4), MAX_CHUNK))


def estimate_bytes(prompts: Sequence[Prompt], sampling: Sampling) -> int:
    """Return an upper bound for the bytes that prompts and their answers take on disk."""
    n_prompt_bytes = sum(len(prompt.text.encode()) for prompt in prompts)
    return FILE_BYTES + n_prompt_bytes + len(prompts) * (ROW_BYTES + TOKEN_BYTES * sampling.max_tokens)


# A killed process loses the answers of this time at most. A long session writes less often, so that its
# answers are not in thousands of small files: 100 s of a session of three hours would be 1 % of its costs.
MIN_INTERVAL_S = 10.0
MAX_INTERVAL_S = 60.0
INTERVAL_SHARE = 0.01
# Answers that are larger than expected are written before they fill the memory.
MAX_CHARACTERS = 32_000_000

Write = Callable[[list[str], list[Prompt], list[Completion]], None]
"""Takes keys, prompts and completions, and writes them as one file."""


@dataclass
class ReceivedAnswers:
    """The answers to a chunk. Those that are stored already are not kept in memory."""

    chunk: dict[str, Prompt]
    write: Write
    session_started: float
    """Start of the session on the monotonic clock."""
    received: dict[int, Completion] = field(default_factory=dict)
    """Position of a prompt in the chunk -> its completion, until it is stored. Other threads may add some."""
    outcomes: dict[int, Completion] = field(default_factory=dict)
    """Position of a prompt in the chunk -> its completion without its texts, once it is stored."""
    _stored_at: float = field(default_factory=time.monotonic)

    def store_if_due(self) -> bool:
        """Store what has arrived if the last time is long ago; return whether something was stored.

        On a full disk the answers stay in memory: space for them is reserved until the chunk ends.
        """
        now = time.monotonic()
        share = INTERVAL_SHARE * (now - self.session_started)
        interval = min(max(MIN_INTERVAL_S, share), MAX_INTERVAL_S)
        if now < self._stored_at + interval and not self._is_large():
            return False
        try:
            return self.store_all()
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            return False

    def store_all(self) -> bool:
        """Store what has arrived and is not stored; return whether there was something."""
        arrived = dict(sorted(self.received.copy().items()))
        self._stored_at = time.monotonic()
        if not arrived:
            return False
        self._store(list(self.chunk), arrived)
        return True

    def store_what_fits(self) -> None:
        """Store as many as the disk takes of the answers that are not stored.

        Raises:
            OSError: some do not fit, or cannot be written.
        """
        waiting, full = [dict(sorted(self.received.copy().items()))], None
        keys = list(self.chunk)
        while waiting:
            part = waiting.pop()
            try:
                if part:
                    self._store(keys, part)
            except OSError as error:
                if error.errno not in FULL_DISK:
                    raise
                full, items, middle = error, list(part.items()), len(part) // 2
                if middle:
                    waiting += [dict(items[middle:]), dict(items[:middle])]
        if full is not None:
            raise full

    def _store(self, keys: Sequence[str], arrived: dict[int, Completion]) -> None:
        chosen = [keys[position] for position in arrived]
        self.write(chosen, [self.chunk[key] for key in chosen], list(arrived.values()))
        for position, completion in arrived.items():
            self.outcomes[position] = replace(completion, response=None, reasoning=None)
            del self.received[position]

    def list_unsent(self) -> PromptsByKey:
        """Return the prompts without an outcome."""
        return {key: self.chunk[key] for n, key in enumerate(self.chunk) if n not in self.outcomes}

    def list_outcomes(self) -> list[Completion]:
        """Return what became of the prompts, in their order, without the texts."""
        return [self.outcomes[position] for position in sorted(self.outcomes)]

    def _is_large(self) -> bool:
        arrived = self.received.copy().values()
        n_characters = sum(
            len(completion.response or "") + len(completion.reasoning or "") for completion in arrived
        )
        return n_characters > MAX_CHARACTERS


# The wording with which pretexeval/engines/openai_answers.py stores the status of a failed prompt.
_STATUS = re.compile(r"HTTP (4\d\d): ")
# Timeout, conflict, too early, too many requests: the same prompt can pass later.
TEMPORARY = (408, 409, 425, 429)
REMEDIES = {
    400: "compare the model's table (model, prompt_style, max_tokens, logprobs, extra_body, rename, "
    "leave_out) with what the endpoint accepts",
    402: "check the balance of the account",
    403: "check what the key may use",
}


def read_refusal(completion: Completion) -> int | None:
    """Return the HTTP status with which the endpoint rejected the prompt; null if it did not."""
    match = _STATUS.match(completion.error or "")
    status = int(match[1]) if match else None
    return None if status in TEMPORARY else status


def have_failed(completions: Sequence[Completion]) -> bool:
    """Return whether every one of these prompts failed. One that is too long says nothing of the endpoint."""
    return bool(completions) and all(
        completion.status == "error" and not (completion.error or "").startswith(PROMPT_TOO_LONG)
        for completion in completions
    )


def explain_failure(name: str, completions: Sequence[Completion]) -> InputError:
    """Return the error for a model whose endpoint answered none of these prompts, in its own words."""
    first, n = completions[0], len(completions)
    status = read_refusal(first)
    said = f"refused every one of {n:,} prompts" if status else f"answered none of {n:,} prompts"
    remedy = REMEDIES.get(status, REMEDIES[400]) if status else "check that it is in order"
    return InputError(
        f"model {name!r}: the endpoint {said} ({first.error}); {remedy}, then run the same command again: it "
        "asks them again"
    )


LoadEngine = Callable[[EngineConfig], Engine]


class ModelSession:
    """A model and its answers. The model is loaded at the first prompt and closed when the block ends.

    One process at a time has a session with a model, or one process for each shard of its prompts, so that no
    prompt is asked twice (`pretexeval.storage.locks`). Among hosts that share a bucket, each chunk of answers
    is sent there before the next is asked.
    """

    def __init__(
        self,
        config: EngineConfig,
        store: Store,
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
        self.store = store.open_responses(self.identity.model_id)
        self.accepts_refusal = False
        """Continue even if the endpoint refuses every prompt of a chunk."""
        self._chunk_size = ChunkSize(is_on_trial=config.engine == "openai")
        self._has_answered = False
        self._watch = HabitWatch(config.name, is_endpoint=config.engine == "openai")
        self._started = time.monotonic()
        self._load = load
        self._engine: Engine | None = None
        self._shared = store
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
            locks = hold_model(self._shared, self.identity.model_id, self._shard)
            self._require_lease = stack.enter_context(locks)
            self._shared.sync_responses(self.identity.model_id)
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

    def ask(self, prompts: Iterable[tuple[str, Prompt]], sampling: Sampling, on_progress: Advance) -> None:
        """Ask prompts in chunks and store every answer, also if this raises or is interrupted.

        On a nearly full disk, a chunk is asked in parts.

        Args:
            prompts: keys and prompts. One or two chunks of them are in memory at a time.

        Raises:
            InputError: the model cannot be loaded or reached, its engine crashed, the endpoint refuses every
                prompt, or another host has taken over the lease. The answers so far are stored.
        """
        rest = iter(prompts)

        def write(keys: list[str], prompts: list[Prompt], completions: list[Completion]) -> None:
            self.store.append(keys, prompts, completions, sampling.repeat)
            self._watch.add(prompts, completions)

        def take_chunk() -> ReceivedAnswers:
            return ReceivedAnswers(dict(islice(rest, self._chunk_size.n_prompts)), write, self._started)

        answers = take_chunk()
        while answers.chunk:
            is_ahead = isinstance(self._open_engine(), LookaheadEngine)
            following = take_chunk() if is_ahead else None
            try:
                unsent = self._ask_chunk(answers, following, sampling, on_progress)
            except BaseException:
                if following is not None:
                    finish(following.store_what_fits)
                raise
            if following is not None:
                # Such an engine leaves no prompt unsent.
                answers = following
            else:
                answers = ReceivedAnswers(unsent, write, self._started) if unsent else take_chunk()

    def _ask_chunk(
        self,
        answers: ReceivedAnswers,
        following: ReceivedAnswers | None,
        sampling: Sampling,
        on_progress: Advance,
    ) -> PromptsByKey:
        """Ask the prompts of a chunk whose answers fit on the disk; return the others.

        Args:
            following: the next chunk, with which the engine begins before it has finished this one.
        """
        engine = self._open_engine()
        self._require_lease()
        started = time.monotonic()
        chunk, parts = answers.chunk, [answers]
        if following is not None and isinstance(engine, LookaheadEngine):
            engine.announce(following.received, list(following.chunk.values()), sampling)
            parts.append(following)

        def advance(n_more: int) -> None:
            on_progress(n_more)
            if any(part.store_if_due() for part in parts):
                self._require_lease()

        try:
            with (
                self._explain_errors("its engine crashed"),
                self._reserve_space(
                    engine, [prompt for part in parts for prompt in part.chunk.values()], sampling
                ),
            ):
                engine.generate_into(answers.received, list(chunk.values()), sampling, advance)
                if self._chunk_size.is_on_trial and isinstance(engine, RemoteEngine):
                    self._refuse_cut_prompts(engine, answers, sampling)
        finally:
            finish(answers.store_what_fits)
        self._watch.warn()
        self._chunk_size.adjust(time.monotonic() - started)
        style = next(iter(chunk.values())).style
        self._check_failures(answers.list_outcomes(), style, sampling)
        return answers.list_unsent()

    def _refuse_cut_prompts(self, engine: Engine, answers: ReceivedAnswers, sampling: Sampling) -> None:
        """Raise InputError if the server reads a part of the prompts; they are then stored as failed.

        Low counts can be those of tokens that the server had not cached. So a prompt that it cannot have
        cached decides.
        """
        arrived = dict(sorted((answers.outcomes | answers.received).items()))
        prompts = [list(answers.chunk.values())[position] for position in arrived]
        reason = find_equal_counts(prompts, list(arrived.values()))
        if not reason and find_low_counts(prompts, list(arrived.values())):
            fresh = make_unique(prompts[0])
            reason = find_low_counts([fresh], engine.generate([fresh], replace(sampling, max_tokens=1)))
        if reason:
            failed = Completion(None, status="error", error=f"the prompt was cut: {reason}")
            answers.received.update(dict.fromkeys(answers.received.copy(), failed))
            raise InputError(f"model {self.config.name!r}: {reason}. {CUT}")

    @contextlib.contextmanager
    def _reserve_space(self, engine: Engine, prompts: Sequence[Prompt], sampling: Sampling) -> Iterator[None]:
        """Reserve what the rows and the answers need, those of open requests at their largest."""
        if not isinstance(engine, RemoteEngine):
            with reserve_space(self.store.folder, estimate_bytes(prompts, sampling)):
                yield
            return
        n_rows = estimate_bytes(prompts, replace(sampling, max_tokens=0))
        largest = engine.measure_largest(sampling)
        wanted = estimate_bytes(prompts, sampling) + min(self.config.concurrency, len(prompts)) * largest
        with reserve_space(self.store.folder, wanted, n_rows + largest) as n_bytes:
            engine.max_bytes = n_bytes - n_rows
            yield

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
            pinned = pin_commit(self.config, self._shared, self.identity.model_id)
            self.write_model_record()
            with self._explain_errors("it cannot be loaded"):
                self._engine = self._load(pinned)
            if self.config.engine == "openai":
                self._watch.served.update(self.store.list_served())
            # The commit of a hub model is known only now.
            self.write_model_record()
            warn_without_commit(pinned, self.identity.model_id)
        return self._engine

    def write_model_record(self) -> None:
        """Write the record of the model beside its responses, and send it to the bucket."""
        write_model_record(self.config, self._shared, is_loaded=self._engine is not None)

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
            and isinstance(self._engine, RemoteEngine)
            and not self._engine.is_answering(style, sampling)
        ):
            raise explain_failure(self.config.name, completions)
        self._chunk_size.is_on_trial = have_failed(completions[-TRIAL_CHUNK:])
