"""The interface of every engine: it takes prompts and returns one completion per prompt, in order."""

from abc import ABC, abstractmethod
from collections.abc import Callable, Sequence
from typing import Protocol, runtime_checkable

from schemas.exchange import Completion, Prompt, Sampling


class Engine(Protocol):
    """A loaded model. A failure of one prompt is not raised: the completion of that prompt reports it."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order. ``on_progress`` gets the number of newly done ones."""

    def close(self) -> None:
        """Release memory, processes and connections."""


class IncrementalEngine(ABC):
    """An engine that hands over each answer when it arrives, so that an error or interrupt costs none."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """Return one completion per prompt, in order. Raises as `generate_into` does."""
        received: dict[int, Completion] = {}
        self.generate_into(received, prompts, sampling, on_progress or _ignore)
        return [received[number] for number in range(len(prompts))]

    @abstractmethod
    def generate_into(
        self,
        received: dict[int, Completion],
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None],
    ) -> None:
        """Put the completions into ``received`` by the position of their prompts, each when it arrives.

        If this raises or is interrupted, the answers so far are there. ``on_progress`` is called in the
        calling thread, also while nothing arrives.
        """

    @abstractmethod
    def close(self) -> None:
        """Release memory, processes and connections."""


@runtime_checkable
class ProbedEngine(Engine, Protocol):
    """An engine that can find out whether a refusal concerns every prompt."""

    def is_answering(self, style: str, sampling: Sampling) -> bool:
        """Return whether the model answers a throwaway prompt of this style."""


def _ignore(_: int) -> None:
    """Do nothing with the number of newly done prompts."""
