"""The interface of every engine: it takes prompts and returns one completion per prompt, in order."""

from collections.abc import Callable, Mapping, Sequence
from typing import Protocol, runtime_checkable

from primitives.errors import InputError
from schemas.exchange import Completion, Prompt, Sampling


class EngineLostError(InputError):
    """The model became unavailable in the middle of a list of prompts.

    Attributes:
        answered: position in the list of prompts -> completion. The caller can still store these.
    """

    def __init__(self, message: str, answered: Mapping[int, Completion]) -> None:
        """Keep the completions for the caller. Nothing is stored here."""
        super().__init__(message)
        self.answered = dict(answered)


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


@runtime_checkable
class IncrementalEngine(Engine, Protocol):
    """An engine that hands over each answer when it arrives, so that an error or interrupt costs none."""

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


@runtime_checkable
class ProbedEngine(Engine, Protocol):
    """An engine that can find out whether a refusal concerns every prompt."""

    def is_answering(self, style: str, sampling: Sampling) -> bool:
        """Return whether the model answers a throwaway prompt of this style."""
