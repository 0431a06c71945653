"""Prompts of evaluated models: five demonstrations, then the question (method, 2.2 and 3)."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from typing import Protocol

from pretexeval.primitives.hashing import render_canonical_json
from schemas.exchange import Prompt

QUESTION = 'Statement: "{}", is the statement above true or false? Please answer True or False.\nAnswer:'
SEPARATOR = "\n\n"
# In completion style a model would continue with a statement of its own.
STOP_TEXTS = ("Statement",)


class Shot(Protocol):
    """Something held out that is shown with its answer."""

    def render(self) -> str:
        """Return the question with its answer."""


@dataclass(frozen=True)
class Demonstration:
    """A held-out text with its label."""

    text: str
    label: bool

    def render(self) -> str:
        """Return the question with its answer."""
        return f"{QUESTION.format(self.text)} {self.label}"


@dataclass(frozen=True)
class PromptForm:
    """How the prompts of a model are written: completion or chat style, and the system prompt."""

    style: str = "completion"
    system_prompt: str | None = None

    def render(self, demonstrations: Sequence[Shot], question: str) -> Prompt:
        """Return the prompt with these demonstrations and the question."""
        parts = [*(shot.render() for shot in demonstrations), question]
        return self.wrap(SEPARATOR.join(parts))

    def wrap(self, content: str) -> Prompt:
        """Return a prompt with this content: raw text, or chat messages with all of it in one user turn."""
        if self.style == "completion":
            return Prompt(self.style, content)
        messages = [{"role": "user", "content": content}]
        if self.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        return Prompt(self.style, render_canonical_json(messages))


def fit_prompt(
    form: PromptForm,
    demonstrations: Sequence[Shot],
    question: str,
    n_tokens_left: int | None,
    count_tokens: Callable[[str], float],
) -> tuple[Prompt, int]:
    """Return the prompt, and how many demonstrations were dropped from its front to make it fit.

    A prompt that does not fit without any demonstration is returned all the same.

    Args:
        n_tokens_left: the tokens that the model accepts, less those that it may generate; None: no limit.
        count_tokens: counts the tokens of a prompt's text. It is called only if the number of bytes does not
            show already that the prompt fits (a token stands for at least one byte).
    """
    for n_dropped in range(len(demonstrations) + 1):
        prompt = form.render(demonstrations[n_dropped:], question)
        if n_tokens_left is None or len(prompt.text.encode()) < n_tokens_left:
            break
        if count_tokens(prompt.text) <= n_tokens_left:
            break
    return prompt, n_dropped
