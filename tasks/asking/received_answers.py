"""The answers to one chunk of prompts while they arrive: stored every few seconds, and on any exit."""

import time
from collections.abc import Callable
from dataclasses import dataclass, field

from primitives.errors import FULL_DISK
from schemas.exchange import Completion, Prompt

# A killed process loses the answers of this time at most. A long session writes less often, so that its
# answers are not in thousands of small files: 100 s of a session of three hours would be 1 % of its costs.
MIN_INTERVAL_S = 10.0
MAX_INTERVAL_S = 60.0
INTERVAL_SHARE = 0.01
# Answers that are larger than expected are written before they fill the memory.
MAX_CHARACTERS = 32_000_000

Store = Callable[[list[str], list[Prompt], list[Completion]], None]
"""Takes keys, prompts and completions, and writes them as one file."""


@dataclass
class ReceivedAnswers:
    """The answers to a chunk. Those that are stored already are not kept in memory."""

    chunk: dict[str, Prompt]
    store: Store
    session_started: float
    """When the session began, on the monotonic clock."""
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
        keys = list(self.chunk)
        chosen = [keys[position] for position in arrived]
        self.store(chosen, [self.chunk[key] for key in chosen], list(arrived.values()))
        for position, completion in arrived.items():
            self.outcomes[position] = Completion(None, completion.status, completion.error)
            del self.received[position]
        return True

    def list_outcomes(self) -> list[Completion]:
        """Return what became of the prompts, in their order: status and error, without the texts."""
        return [self.outcomes[position] for position in sorted(self.outcomes)]

    def _is_large(self) -> bool:
        arrived = self.received.copy().values()
        n_characters = sum(len(each.response or "") + len(each.reasoning or "") for each in arrived)
        return n_characters > MAX_CHARACTERS
