"""The interface of every engine: it takes prompts and returns one completion per prompt, in order."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import asdict, dataclass
from typing import Protocol

from primitives.errors import InputError
from primitives.hashing import hash_text, render_canonical_json


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters. They are part of the key under which a response is stored."""

    max_tokens: int = 8
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts at which generation ends. They are not part of the response."""
    logprobs: bool = False
    """Whether to return the log-probabilities of ` True` and ` False` as the first token."""

    def render_json(self) -> str:
        """Return the parameters as canonical JSON."""
        return render_canonical_json(asdict(self))


@dataclass(frozen=True)
class Prompt:
    """A text to continue (style completion), or messages [{role, content}] as canonical JSON (style chat)."""

    style: str
    text: str


@dataclass(frozen=True)
class Completion:
    """The response to one prompt. If there is none, ``status`` is error and ``error`` gives the reason."""

    response: str | None
    status: str = "ok"
    error: str | None = None
    finish_reason: str | None = None
    n_prompt_tokens: int | None = None
    n_completion_tokens: int | None = None
    logprob_true: float | None = None
    logprob_false: float | None = None


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


def hash_prompt(model_id: str, prompt: Prompt, sampling: Sampling) -> str:
    """Return the key of a response: a hash of what was sent and of the model's id (32 hex digits)."""
    return hash_text(model_id, prompt.style, prompt.text, sampling.render_json(), digits=32)
