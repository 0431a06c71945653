"""What every engine offers: prompts in, one completion each out, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from primitives.errors import InputError
from primitives.hashing import hash_text, render_canonical_json


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters; part of the key under which a response is kept."""

    max_tokens: int = 8
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts at which generation ends; they are not part of the response."""
    logprobs: bool = False
    """Whether the log-probabilities of ` True` and ` False` as first token are wanted."""

    def render_json(self) -> str:
        """The parameters as canonical JSON."""
        return render_canonical_json(asdict(self))


@dataclass(frozen=True)
class Prompt:
    """What is sent: a text to go on with, or chat messages as canonical JSON ([{role, content}])."""

    style: str
    text: str


@dataclass(frozen=True)
class Completion:
    """What came back for one prompt; ``status`` is error where nothing did, and ``error`` says why."""

    response: str | None
    status: str = "ok"
    error: str | None = None
    finish_reason: str | None = None
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    logprob_true: float | None = None
    logprob_false: float | None = None


class EngineLostError(InputError):
    """The model went away in the middle; what it had answered by then can still be kept.

    Attributes:
        answered: place in the list of prompts -> completion.
    """

    def __init__(self, message: str, answered: Mapping[int, Completion]) -> None:
        """Nothing is kept by this alone."""
        super().__init__(message)
        self.answered = dict(answered)


class Engine(Protocol):
    """A loaded model. ``generate`` never fails for one prompt: that prompt's completion says so."""

    def generate(
        self,
        prompts: Sequence[Prompt],
        sampling: Sampling,
        on_progress: Callable[[int], None] | None = None,
    ) -> list[Completion]:
        """One completion per prompt, in order; ``on_progress`` gets how many more are done."""

    def close(self) -> None:
        """Give back memory, processes and connections."""


def hash_prompt(model_id: str, prompt: Prompt, sampling: Sampling) -> str:
    """The key of a response: what was sent, and to whom (32 hex digits)."""
    return hash_text(model_id, prompt.style, prompt.text, sampling.render_json(), digits=32)
