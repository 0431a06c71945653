"""Stage requests: the prompt of every sample for one model, and the key of its answer."""

from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field

import polars as pl

from pretexeval.primitives.hashing import draw_order, hash_text
from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.stages import DEMONSTRATION_SALT, N_DEMONSTRATIONS, REQUESTS
from tasks.asking.prompts import QUESTION, Demonstration, PromptForm, Shot, fit_prompt

DemonstrationsOfGroup = dict[tuple[str, str | None], tuple[Demonstration, ...]]
"""(relation, transformation) -> the demonstrations of this group."""


def draw_demonstrations_of_methods(samples: pl.DataFrame) -> dict[str, DemonstrationsOfGroup]:
    """Return method -> the demonstrations of its groups. The prompts of a method do not depend on others."""
    methods = samples.partition_by("method", as_dict=True, maintain_order=True)
    return {str(method): draw_demonstrations(group) for (method,), group in methods.items()}


def draw_demonstrations(samples: pl.DataFrame) -> DemonstrationsOfGroup:
    """Return (relation, transformation) -> demonstrations: one sample per held-out pair, 2 or 3 of them true.

    They depend on the pairs and their texts alone, not on the edition's seed. Samples without a
    transformation (llmeval) have one group per relation.

    Args:
        samples: the samples of one method.
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
    true_pairs = set(draw_order(pairs, *key, "true")[:n_true])
    # A triplet of llmeval may have no usable text. The other triplet of its pair is then shown.
    labels = {p: (p in true_pairs) == ((p, p in true_pairs) in texts) for p in pairs}
    return tuple(Demonstration(texts[p, labels[p]], labels[p]) for p in pairs)


@dataclass(frozen=True)
class RequestSettings:
    """How one model is asked."""

    model_id: str
    form: PromptForm
    sampling: Sampling
    n_tokens_limit: int | None
    """The most tokens that prompt and answer together may have; None: not known."""
    count_tokens: Callable[[str], float]
    chains: Mapping[str, str] = field(default_factory=dict)
    """question_id -> the chain of thought that is shown with a demonstration."""
    n_demonstrations: int = N_DEMONSTRATIONS
    """How many demonstrations are shown, the first ones in their drawn order."""
    n_repeats: int = 1
    """How often each prompt is asked."""

    def fit(self, demonstrations: Sequence[Shot], question: str) -> tuple[Prompt, int]:
        """Return the prompt, and how many demonstrations were dropped from its front to make it fit."""
        limit, shown = self.n_tokens_limit, demonstrations[: self.n_demonstrations]
        n_tokens_left = None if limit is None else limit - self.sampling.max_tokens
        return fit_prompt(self.form, shown, question, n_tokens_left, self.count_tokens)


@dataclass(frozen=True)
class Requests:
    """The requests of one relation; ``prompts`` has one prompt per row of ``frame``, in the same order."""

    frame: pl.DataFrame
    prompts: list[Prompt]


REQUESTS_VERSION = 1
"""Count it up when the function gives other requests for the same arguments."""


def build_sample_requests(
    samples: pl.DataFrame, settings: RequestSettings, pairs_per_relation: int | None
) -> Requests:
    """Return one request per test sample of one relation and repeat.

    Args:
        samples: the samples of the relation, of both splits.
        pairs_per_relation: how many pairs the model is asked about; None: all of them.
    """
    asked = select_samples(samples, pairs_per_relation)
    once = build_requests(asked, draw_demonstrations_of_methods(samples), settings)
    repeats = [pl.lit(n, pl.Int16).alias("repeat") for n in range(settings.n_repeats)]
    frame = pl.concat(once.frame.with_columns(repeat) for repeat in repeats)
    return Requests(frame, once.prompts * settings.n_repeats)


def select_samples(samples: pl.DataFrame, pairs_per_relation: int | None) -> pl.DataFrame:
    """Return the test samples of one relation: of all pairs, or of the first pairs in the order of hashes."""
    tested = samples.filter(pl.col("split") == "test")
    if pairs_per_relation is None:
        return tested
    kept = draw_order(tested["pair_id"].unique(), "asked")[:pairs_per_relation]
    return tested.filter(pl.col("pair_id").is_in(kept))


def build_requests(
    samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup], settings: RequestSettings
) -> Requests:
    """Return one request per sample. Samples that share their demonstrations follow each other.

    Args:
        demonstrations: method -> the demonstrations of its groups.
    """
    ordered = samples.sort("method", "transformation", "sample_id", maintain_order=True)
    prompts, n_dropped = [], []
    for method, relation, transformation, text in ordered.select(
        "method", "relation", "transformation", "text"
    ).iter_rows():
        # llmeval may have no usable text of any held-out pair, and so no demonstrations.
        shots = demonstrations[method].get((relation, transformation), ())
        prompt, dropped = settings.fit(shots, QUESTION.format(text))
        prompts.append(prompt)
        n_dropped.append(dropped)
    keys = [hash_prompt(settings.model_id, prompt, settings.sampling) for prompt in prompts]
    frame = ordered.select(
        "sample_id",
        pl.lit(settings.model_id).alias("model_id"),
        pl.Series("prompt_key", keys, pl.String),
        pl.lit(0, pl.Int16).alias("repeat"),
        "relation",
        pl.Series("n_demonstrations_dropped", n_dropped, pl.Int16),
        pl.lit(settings.form.style).alias("prompt_style"),
        pl.lit(settings.sampling.render_json()).alias("sampling"),
        "label",
    )
    return Requests(frame.select(REQUESTS.names), prompts)
