"""Report vLLM's progress to a function, without progress bars on the terminal."""

import time
from collections.abc import Callable, Iterable


class ProgressBar:
    """Replacement for the tqdm bar that vLLM updates. It passes on how many more prompts are done."""

    def __init__(self, on_progress: Callable[[int], None]) -> None:
        """Start at 0."""
        self.n = 0
        self.postfix = ""
        self._on_progress = on_progress
        self._started_at = time.monotonic()

    @property
    def format_dict(self) -> dict[str, float]:
        """Return the seconds since the start, from which vLLM computes a speed; never 0."""
        return {"elapsed": max(time.monotonic() - self._started_at, 1e-6)}

    def update(self, n: int) -> None:
        """Count ``n`` more prompts."""
        self.n += n
        self._on_progress(n)

    def refresh(self) -> None:
        """Do nothing, because nothing is drawn."""

    def close(self) -> None:
        """Do nothing, because nothing was drawn."""


def watch_progress(on_progress: Callable[[int], None]) -> Callable[..., object]:
    """Return a factory of bars. vLLM also wraps the reading of the prompts in a bar, which is not counted."""

    def start(prompts: Iterable[object] | None = None, **_: object) -> object:
        return ProgressBar(on_progress) if prompts is None else prompts

    return start
