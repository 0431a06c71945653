"""Stage requests: every sample as the prompt that a model gets, and the key of its answer."""

from collections.abc import Callable
from dataclasses import dataclass

import polars as pl

from primitives.hashing import draw_order
from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.stages import REQUESTS
from tasks.asking.prompts import PromptForm, fit_prompt
from tasks.evaluation.demonstrations import DemonstrationsOfGroup


@dataclass(frozen=True)
class Asking:
    """How one model is asked."""

    model_id: str
    form: PromptForm
    sampling: Sampling
    n_tokens_limit: int | None
    """What the model takes, prompt and answer together; None: not known."""
    count_tokens: Callable[[str], float]


@dataclass(frozen=True)
class Requests:
    """The requests of one relation; ``prompts`` has one per row of ``frame``, in the same order."""

    frame: pl.DataFrame
    prompts: list[Prompt]


def select_samples(samples: pl.DataFrame, pairs_per_relation: int | None) -> pl.DataFrame:
    """The test samples of one relation, of all pairs or of the first so many in the order of their hashes."""
    tested = samples.filter(pl.col("split") == "test")
    if pairs_per_relation is None:
        return tested
    kept = draw_order(tested["pair_id"].unique(), "asked")[:pairs_per_relation]
    return tested.filter(pl.col("pair_id").is_in(kept))


def build_requests(
    samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup], asking: Asking
) -> Requests:
    """One request per sample; samples of one group, which share their demonstrations, follow each other.

    Args:
        demonstrations: method -> the demonstrations of its groups.
    """
    ordered = samples.sort("method", "transformation", "sample_id", maintain_order=True)
    limit = asking.n_tokens_limit
    n_tokens_left = None if limit is None else limit - asking.sampling.max_tokens
    prompts, n_dropped = [], []
    for method, relation, transformation, text in ordered.select(
        "method", "relation", "transformation", "text"
    ).iter_rows():
        # None at all where llmeval has no usable text of any held-out pair.
        shots = demonstrations[method].get((relation, transformation), ())
        prompt, dropped = fit_prompt(asking.form, shots, text, n_tokens_left, asking.count_tokens)
        prompts.append(prompt)
        n_dropped.append(dropped)
    keys = [hash_prompt(asking.model_id, prompt, asking.sampling) for prompt in prompts]
    frame = ordered.select(
        "sample_id",
        pl.lit(asking.model_id).alias("model_id"),
        pl.Series("prompt_key", keys, pl.String),
        pl.lit(0, pl.Int16).alias("repeat"),
        "relation",
        pl.Series("n_demonstrations_dropped", n_dropped, pl.Int16),
        pl.lit(asking.form.style).alias("prompt_style"),
        pl.lit(asking.sampling.render_json()).alias("sampling"),
        "label",
    )
    return Requests(frame.select(REQUESTS.names), prompts)
