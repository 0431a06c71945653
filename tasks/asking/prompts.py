"""Prompts: five demonstrations, then the question (method, 2.2 and 3)."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from engines.base import Prompt
from primitives.hashing import draw_order, hash_text, render_canonical_json
from tasks.edition.triplets import DEMONSTRATION_SALT, N_DEMONSTRATIONS

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


DemonstrationsOfGroup = dict[tuple[str, str | None], tuple[Demonstration, ...]]


@dataclass(frozen=True)
class PromptForm:
    """How a model is asked: style, system prompt, and how many tokens fit."""

    style: str = "completion"
    system_prompt: str | None = None

    def render(self, demonstrations: tuple[Demonstration, ...], text: str) -> Prompt:
        """The prompt: raw text, or the model's chat messages with all of it in one user turn."""
        parts = [d.render() for d in demonstrations] + [QUESTION.format(text)]
        return self.write(SEPARATOR.join(parts))

    def write(self, content: str) -> Prompt:
        """The prompt that says this."""
        if self.style == "completion":
            return Prompt(self.style, content)
        messages = [{"role": "user", "content": content}]
        if self.system_prompt is not None:
            messages.insert(0, {"role": "system", "content": self.system_prompt})
        return Prompt(self.style, render_canonical_json(messages))


def draw_demonstrations_of_methods(samples: pl.DataFrame) -> dict[str, DemonstrationsOfGroup]:
    """Method -> the demonstrations of its groups, so that no method's prompts depend on another's."""
    methods = samples.partition_by("method", as_dict=True, maintain_order=True)
    return {str(method): draw_demonstrations(group) for (method,), group in methods.items()}


def draw_demonstrations(samples: pl.DataFrame) -> DemonstrationsOfGroup:
    """(relation, transformation) -> its demonstrations: one sample per held-out pair, 2 or 3 of them true.

    They depend on the pairs and their texts alone, never on the edition's seed. Samples without a
    transformation (llmeval) have one group per relation.

    Args:
        samples: of one method.
    """
    held_out = samples.filter(pl.col("split") == "demonstration")
    groups = held_out.partition_by("relation", "transformation", as_dict=True, maintain_order=True)
    return {
        (str(relation), transformation): _draw_group(group, str(relation), str(transformation))
        for (relation, transformation), group in groups.items()
    }


def _draw_group(group: pl.DataFrame, relation: str, transformation: str) -> tuple[Demonstration, ...]:
    key = (DEMONSTRATION_SALT, relation, transformation)
    texts: dict[tuple[str, bool], str] = {
        (pair_id, label): text
        for pair_id, label, text in group.select("pair_id", "label", "text")
        .sort("pair_id", "label", "text")
        .iter_rows()
    }
    pairs = draw_order({pair_id for pair_id, _ in texts}, *key)[:N_DEMONSTRATIONS]
    n_true = len(pairs) // 2 + int(hash_text(*key, "n_true"), 16) % 2
    true_ones = set(draw_order(pairs, *key, "true")[:n_true])
    # Of llmeval a triplet may have no usable text: then its pair shows the other.
    labels = {p: (p in true_ones) == ((p, p in true_ones) in texts) for p in pairs}
    return tuple(Demonstration(texts[p, labels[p]], labels[p]) for p in pairs)


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
