"""Prompts to a language model and its responses: the values of a row of the stage responses."""

import json
from dataclasses import asdict, dataclass
from functools import lru_cache
from typing import Any

from pretexeval.primitives.hashing import hash_text, render_canonical_json

# The error of a prompt that does not fit the model begins with this text. Such a prompt is never asked again.
# Stored responses contain the text, so it must not change.
PROMPT_TOO_LONG = "prompt too long"
# The error of a prompt that an endpoint refused for its content (status 400, 403 and others). It is the same
# outcome as a reply with the finish reason content_filter or refusal, so the prompt is not asked again.
REFUSED_ERROR = (
    r"(?i:^HTTP 4(?:00|03|22|51)\b.*(?:content[ _-]?(?:filter|management|policy|moderation|restriction)"
    r"|moderation|responsible ?ai|flagged|safety (?:system|filter|policy|reasons)|usage polic|prohibited"
    r"|inappropriate))"
)
ANSWER_WORDS = ("True", "False")
"""The two words whose log-probabilities `Sampling.logprobs` asks for."""
ALWAYS_RENDERED = ("max_tokens", "temperature", "seed", "stop", "logprobs")
"""The parameters that `Sampling.render_json` renders also where they have no value."""


@dataclass(frozen=True)
class Sampling:
    """Sampling parameters. They are part of the key under which a response is stored."""

    max_tokens: int = 8
    temperature: float = 0.0
    seed: int | None = None
    stop: tuple[str, ...] = ()
    """Texts at which generation ends. They are not part of the response."""
    logprobs: bool = False
    """Return the log-probabilities of ` True` and ` False` as the first token."""
    extra_body: str | None = None
    """Further parameters, as a canonical JSON object."""
    leave_out: tuple[str, ...] = ()
    """Parameters that are not sent."""
    rename: tuple[tuple[str, str], ...] = ()
    """Parameters that are sent under another name."""
    top_p: float | None = None
    """The most likely tokens that together have this probability are sampled from."""
    repeat: int = 0
    """Number of the answer to the same prompt: 0, 1, … A response is stored under it, beside the key."""
    period: str | None = None
    """The period of a schedule in which anchors are asked again. It is not sent, but is part of the key."""

    def render_json(self) -> str:
        """Return the parameters as canonical JSON, those outside ALWAYS_RENDERED only if they are set.

        It does not contain `repeat`. Keys of stored answers depend on it, so it must not change.
        """
        return _render_sampling(self)

    @property
    def seed_of_repeat(self) -> int | None:
        """The seed that is sent, which differs from repeat to repeat; None if no seed is sent."""
        return self.seed + self.repeat if self.seed is not None else None

    def read_extra_body(self) -> dict[str, Any]:
        """Return the further parameters."""
        parameters: dict[str, Any] = json.loads(self.extra_body or "{}")
        return parameters


# All prompts of a model share their parameters, and rendering them took half of the time of writing requests.
@lru_cache(maxsize=16)
def _render_sampling(sampling: Sampling) -> str:
    values = asdict(sampling)
    values |= {"extra_body": sampling.read_extra_body(), "rename": dict(sampling.rename), "repeat": None}
    return render_canonical_json({k: v for k, v in values.items() if v or k in ALWAYS_RENDERED})


@dataclass(frozen=True)
class Prompt:
    """A prompt to a model.

    Style completion: a text to continue. Style chat: messages [{role, content}] as canonical JSON.
    """

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
    reasoning: str | None = None
    """The thought of the model, if it came apart from the response."""
    served: str | None = None
    """Name of the server, model or engine that answered."""

    def measure_texts(self) -> int:
        """Return the bytes of the response and of the reasoning."""
        n_bytes = 0
        for text in (self.response, self.reasoning):
            if text:
                n_bytes += len(text.encode("utf-8", "surrogatepass"))
        return n_bytes


def hash_prompt(model_id: str, prompt: Prompt, sampling: Sampling) -> str:
    """Return the key of a response: a hash of what was sent and of the model's id (32 hex digits)."""
    return hash_text(model_id, prompt.style, prompt.text, sampling.render_json(), digits=32)
