"""Prompts: five demonstrations, then the question (method, 2.2 and 3)."""

from collections.abc import Callable
from dataclasses import dataclass

from primitives.hashing import render_canonical_json
from schemas.exchange import Prompt

QUESTION = 'Statement: "{}", is the statement above true or false? Please answer True or False.\nAnswer:'
SEPARATOR = "\n\n"
# In completion style a model would go on with a statement of its own.
STOP_TEXTS = ("Statement",)


@dataclass(frozen=True)
class Demonstration:
    """A held-out text with its label."""

    text: str
    label: bool

    def render(self) -> str:
        """The question with its answer."""
        return f"{QUESTION.format(self.text)} {self.label}"


@dataclass(frozen=True)
class PromptForm:
    """How a model is asked: style, system prompt, and how many tokens fit."""

    style: str = "completion"
    system_prompt: str | None = None

    def render(self, demonstrations: tuple[Demonstration, ...], text: str) -> Prompt:
        """The prompt: raw text, or the model's chat messages with all of it in one user turn."""
        parts = [d.render() for d in demonstrations] + [QUESTION.format(text)]
        return self.wrap(SEPARATOR.join(parts))

    def wrap(self, content: str) -> Prompt:
        """The prompt that says this."""
        if self.style == "completion":
            return Prompt(self.style, content)
        messages = [{"role": "user", "content": content}]
        if self.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        return Prompt(self.style, render_canonical_json(messages))


def fit_prompt(
    form: PromptForm,
    demonstrations: tuple[Demonstration, ...],
    text: str,
    n_tokens_left: int | None,
    count_tokens: Callable[[str], float],
) -> tuple[Prompt, int]:
    """The prompt, and how many demonstrations had to be dropped from the front for it to fit.

    Args:
        n_tokens_left: what the model takes, less what it may generate; None: no limit is known.
        count_tokens: tokens of a prompt's text. Called only where its bytes do not already show
            that it fits (a token stands for one byte at least).
    """
    for n_dropped in range(len(demonstrations) + 1):
        prompt = form.render(demonstrations[n_dropped:], text)
        if n_tokens_left is None or len(prompt.text.encode()) < n_tokens_left:
            break
        if count_tokens(prompt.text) <= n_tokens_left:
            break
    return prompt, n_dropped
