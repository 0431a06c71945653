"""Prompts on their way to a model, and its answers until they are stored."""

import time
from collections.abc import Callable, Iterator
from dataclasses import dataclass, field, replace

from pretexeval.primitives.errors import FULL_DISK
from pretexeval.storage.disk import ReservedSpace
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt

# The first prompts show whether an endpoint answers at all, before many are sent or paid for.
N_TRIAL = 32
# The seconds between two files of answers are a share of the time of the session, within two limits. A killed
# process loses at most the answers of this time. A long session writes less often, so that its answers are
# not in thousands of small files: three hours leave about 300.
MIN_INTERVAL_S = 2.0
MAX_INTERVAL_S = 60.0
INTERVAL_SHARE = 0.03
# Prompts with their answers are also written as soon as they take so many bytes of memory.
MAX_BYTES = 32_000_000
# Upper bounds for reserving disk space: bytes of a file without rows, and of a row without texts.
FILE_BYTES = 16_384
ROW_BYTES = 512

KeyedPrompt = tuple[str, Prompt]
"""The key of a prompt, and the prompt."""
_Answer = tuple[str, Prompt, Completion, int]
"""An answer that is not stored: the key, the prompt, the completion, and the bytes that their row takes."""
Write = Callable[[list[str], list[Prompt], list[Completion]], None]
"""Takes keys, prompts and completions, and writes them as one file."""


@dataclass
class AnswerStream:
    """Gives prompts to an engine while their answers fit on the disk, and keeps the answers that arrive.

    An engine takes prompts and hands over answers in one thread, and another thread may store them.
    """

    source: Iterator[KeyedPrompt]
    write: Write
    session_started: float
    """Start of the session on the monotonic clock."""
    answer_bytes: int = 0
    """The bytes that the text of an answer takes at most."""
    n_most: int | None = None
    """The most prompts that are given; None: no limit."""
    stops_at_failures: bool = False
    """True if no more prompts are given after N_TRIAL failures in a row."""
    held: KeyedPrompt | None = None
    """The prompt that is given before those of the source, if there is one."""
    n_received: int = 0
    failures: list[Completion] = field(default_factory=list)
    """The prompts that failed after the last one that did not, without those that are too long."""
    first: list[tuple[Prompt, Completion]] = field(default_factory=list)
    """The first prompts whose answers arrived, with their completions without texts."""
    waiting: dict[int, _Answer] = field(default_factory=dict)
    """Position of a prompt -> its answer, until it is stored."""
    _open: dict[int, tuple[str, Prompt, int]] = field(default_factory=dict)
    """Position of a prompt without an answer -> its key, the prompt, and the bytes of a row with it alone."""
    _n_given: int = 0
    # Bytes of open prompts with their answers, and of rows that were received and stored. The thread that
    # stores changes the last one only.
    _open_bytes: int = 0
    _received_bytes: int = 0
    _stored_bytes: int = 0
    _stored_at: float = field(default_factory=time.monotonic)

    def give(self, space: ReservedSpace) -> Iterator[Prompt]:
        """Yield prompts, after space for their answers is reserved. Without space, the rest is not given.

        Raises:
            InputError: the disk has no space for the first of them.
        """
        while self.n_most is None or self._n_given < self.n_most:
            if self.stops_at_failures and len(self.failures) >= N_TRIAL:
                return
            keyed, self.held = self.held or next(self.source, None), None
            if keyed is None:
                return
            row_bytes = ROW_BYTES + len(keyed[1].text.encode())
            open_bytes = self._open_bytes + row_bytes + self.answer_bytes
            needed = FILE_BYTES + open_bytes + self._received_bytes - self._stored_bytes
            if self._n_given == 0:
                space.require(needed)
            elif not space.extend(needed):
                self.held = keyed
                return
            self._open[self._n_given] = (*keyed, row_bytes)
            self._n_given += 1
            self._open_bytes = open_bytes
            yield keyed[1]

    def receive(self, position: int, completion: Completion) -> None:
        """Take the answer to the prompt that was given at this position."""
        key, prompt, row_bytes = self._open.pop(position)
        if completion.status == "error" and not (completion.error or "").startswith(PROMPT_TOO_LONG):
            self.failures.append(completion)
        else:
            self.failures.clear()
        if len(self.first) < N_TRIAL:
            self.first.append((prompt, replace(completion, response=None, reasoning=None)))
        self._open_bytes -= row_bytes + self.answer_bytes
        row_bytes += completion.measure_texts()
        self._received_bytes += row_bytes
        self.n_received += 1
        self.waiting[position] = key, prompt, completion, row_bytes

    def fail_waiting(self, error: str) -> None:
        """Replace the answers that are not stored by this error."""
        failed = Completion(None, status="error", error=error)
        self.waiting = {
            n: (key, prompt, failed, row_bytes) for n, (key, prompt, _, row_bytes) in self.waiting.items()
        }

    def store_if_due(self) -> bool:
        """Store what has arrived if the last time is long ago; return whether something was stored.

        On a full disk the answers stay in memory: space for them is reserved until the engine has ended.
        """
        now = time.monotonic()
        share = INTERVAL_SHARE * (now - self.session_started)
        interval = min(max(MIN_INTERVAL_S, share), MAX_INTERVAL_S)
        is_large = self._received_bytes - self._stored_bytes > MAX_BYTES
        if now < self._stored_at + interval and not is_large:
            return False
        self._stored_at = now
        arrived = self._list_arrived()
        try:
            self._store(arrived)
        except OSError as error:
            if error.errno not in FULL_DISK:
                raise
            return False
        return bool(arrived)

    def store_what_fits(self) -> None:
        """Store as many as the disk takes of the answers that are not stored.

        Raises:
            OSError: some do not fit, or cannot be written.
        """
        parts, full = [self._list_arrived()], None
        while parts:
            part = parts.pop()
            try:
                self._store(part)
            except OSError as error:
                if error.errno not in FULL_DISK:
                    raise
                full, items, middle = error, list(part.items()), len(part) // 2
                if middle:
                    parts += [dict(items[middle:]), dict(items[:middle])]
        if full is not None:
            raise full

    def _list_arrived(self) -> dict[int, _Answer]:
        """Return the answers to store, by position. Another thread may add some meanwhile."""
        return dict(sorted(self.waiting.copy().items()))

    def _store(self, arrived: dict[int, _Answer]) -> None:
        if not arrived:
            return
        keys, prompts, completions, row_bytes = map(list, zip(*arrived.values(), strict=True))
        self.write(keys, prompts, completions)
        self._stored_bytes += sum(row_bytes)
        for position in arrived:
            del self.waiting[position]
