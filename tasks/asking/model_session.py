"""An exclusive session with one model, which asks prompts and stores the answers as they arrive."""

import contextlib
import re
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import AbstractContextManager, ExitStack
from dataclasses import replace
from functools import partial
from types import TracebackType

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.base import Engine, RemoteEngine
from pretexeval.engines.identity import identify_model
from pretexeval.engines.loading import load_engine
from pretexeval.primitives.errors import InputError, describe_failure, is_failure, release_frames
from pretexeval.primitives.process import finish
from pretexeval.storage.disk import ReservedSpace
from pretexeval.storage.locks import hold_model
from pretexeval.storage.store import Store
from schemas.exchange import Completion, Prompt, Sampling
from tasks.asking.answer_stream import N_TRIAL, AnswerStream, KeyedPrompt
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
LoadEngine = Callable[[EngineConfig], Engine]
# Upper bound for reserving disk space: bytes of a token of an answer.
TOKEN_BYTES = 16
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
    """Return the HTTP status with which the endpoint rejected the prompt; None if it did not."""
    match = _STATUS.match(completion.error or "")
    status = int(match[1]) if match else None
    return None if status in TEMPORARY else status


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


class ModelSession:
    """A model and its answers. The model is loaded at the first prompt and closed when the block ends.

    One process at a time has a session with a model, or one process for each shard of its prompts, so that no
    prompt is asked twice (`pretexeval.storage.locks`). Among hosts that share a bucket, answers are sent
    there when they are stored, and a host that has lost its lease asks nothing more.
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
        """Continue even if the endpoint refuses many prompts in a row."""
        self._is_on_trial = True
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

    def ask(self, prompts: Iterable[KeyedPrompt], sampling: Sampling, on_progress: Advance) -> None:
        """Ask prompts and store every answer, also if this raises or is interrupted.

        On a nearly full disk, the engine gets no more prompts until the answers so far are stored.

        Args:
            prompts: keys and prompts, which are read when the engine has room for them.

        Raises:
            InputError: the model cannot be loaded or reached, its engine crashed, the endpoint refuses every
                prompt or cuts the prompts, or another host has taken over the lease. The answers so far are
                stored.
        """
        rest = iter(prompts)
        following = next(rest, None)
        while following is not None:
            following = self._ask_stream(following, rest, sampling, on_progress) or next(rest, None)

    def _ask_stream(
        self, first: KeyedPrompt, rest: Iterator[KeyedPrompt], sampling: Sampling, on_progress: Advance
    ) -> KeyedPrompt | None:
        """Ask prompts until none is left, no more answers fit on the disk, or many in a row have failed.

        The first call asks an endpoint at most N_TRIAL prompts.

        Return the prompt that was taken and not asked, if there is one.
        """
        engine = self._open_engine()
        remote = engine if isinstance(engine, RemoteEngine) else None
        self._require_lease()
        stream = AnswerStream(
            rest,
            partial(self._write, sampling),
            self._started,
            remote.measure_largest(sampling) if remote else TOKEN_BYTES * sampling.max_tokens,
            N_TRIAL if remote and self._is_on_trial else None,
            stops_at_failures=remote is not None and not self.accepts_refusal,
            held=first,
        )
        n_reported = 0

        def advance() -> None:
            nonlocal n_reported
            n_more = stream.n_received - n_reported
            n_reported += n_more
            on_progress(n_more)
            if stream.store_if_due():
                self._watch.warn()
            self._require_lease()

        try:
            with self._explain_errors("its engine crashed"), ReservedSpace(self.store.folder) as space:
                engine.answer(stream.give(space), sampling, stream.receive, advance)
                advance()
                if remote and self._is_on_trial:
                    self._refuse_cut_prompts(engine, stream, sampling)
        finally:
            finish(stream.store_what_fits)
        self._is_on_trial = False
        self._watch.warn()
        self._check_failures(stream, first[1].style, sampling)
        return stream.held

    def _write(
        self, sampling: Sampling, keys: list[str], prompts: list[Prompt], completions: list[Completion]
    ) -> None:
        self.store.append(keys, prompts, completions, sampling.repeat)
        self._watch.add(prompts, completions)

    def _refuse_cut_prompts(self, engine: Engine, stream: AnswerStream, sampling: Sampling) -> None:
        """Raise InputError if the server reads a part of the prompts; they are then stored as failed.

        Low counts can be those of tokens that the server had not cached. So a prompt that it cannot have
        cached decides.
        """
        prompts = [prompt for prompt, _ in stream.first]
        completions = [completion for _, completion in stream.first]
        reason = find_equal_counts(prompts, completions)
        if not reason and find_low_counts(prompts, completions):
            fresh = make_unique(prompts[0])
            reason = find_low_counts([fresh], engine.generate([fresh], replace(sampling, max_tokens=1)))
        if reason:
            stream.fail_waiting(f"the prompt was cut: {reason}")
            raise InputError(f"model {self.config.name!r}: {reason}. {CUT}")

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

    def _check_failures(self, stream: AnswerStream, style: str, sampling: Sampling) -> None:
        """Raise InputError if the endpoint answers no prompt any more.

        Prompts can be refused for their content, also many in a row. So a throwaway prompt decides.
        """
        self._has_answered |= stream.n_received > len(stream.failures)
        is_decisive = len(stream.failures) >= N_TRIAL or (stream.failures and not self._has_answered)
        if (
            is_decisive
            and not self.accepts_refusal
            and isinstance(self._engine, RemoteEngine)
            and not self._engine.is_answering(style, sampling)
        ):
            raise explain_failure(self.config.name, stream.failures)
