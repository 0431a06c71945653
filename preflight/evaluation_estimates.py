"""What an evaluation will ask a model: prompts are built from the edition's drafts and looked up."""

from collections.abc import Set
from dataclasses import dataclass, field

import polars as pl

from engines.token_counter import TokenCounter
from preflight.estimates import (
    Estimate,
    Lengths,
    SampledPrompts,
    Span,
    average_tokens,
    describe_counter,
    estimate_asking,
    measure_completions,
    measure_throughput,
    sample_rows,
)
from tasks.evaluation.demonstrations import DemonstrationsOfGroup
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import build_requests, select_samples


@dataclass(frozen=True)
class AskedSamples:
    """The samples of a relation or a piece that models are asked about; prepared once for all models."""

    demonstrations: dict[str, DemonstrationsOfGroup]
    """Method -> its demonstrations."""
    worded: pl.DataFrame
    """One sample per distinct prompt whose text is known."""
    unwritten: pl.DataFrame
    """Samples whose text a language model has yet to write; each is counted as a distinct, open prompt."""


def select_asked_samples(
    samples: pl.DataFrame,
    demonstrations: dict[str, DemonstrationsOfGroup],
    unwritten_methods: Set[str],
    pairs_per_relation: int | None,
) -> AskedSamples:
    """Return the samples of one relation, or of one of its pieces, that models are asked about.

    Args:
        demonstrations: those of the relation.
        unwritten_methods: methods whose texts a language model has yet to write.
        pairs_per_relation: how many pairs are asked about; None: all of them.
    """
    asked = select_samples(samples, pairs_per_relation)
    is_unwritten = pl.col("method").is_in(sorted(unwritten_methods))
    worded = deduplicate_prompts(asked.filter(~is_unwritten), demonstrations)
    return AskedSamples(demonstrations, worded, asked.filter(is_unwritten))


@dataclass
class EvaluationTally:
    """The prompts of one evaluation, counted piece by piece."""

    evaluation: Evaluation
    settled: list[set[str]] = field(default_factory=list)
    """Of each repeat, the keys of prompts that need not be asked."""
    n_prompts: int = 0
    n_to_ask: int = 0
    n_unwritten: int = 0
    """How many samples to ask about have a text that is not written yet."""
    sampled: list[SampledPrompts] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the keys of earlier answers."""
        repeats = range(self.evaluation.subject.n_repeats)
        self.settled = [self.evaluation.store.read_settled_keys(repeat) for repeat in repeats]

    def add(self, asked: AskedSamples) -> None:
        """Count one relation or piece. A model with imported responses is asked nothing."""
        if self.evaluation.model.engine == "imported":
            return
        self.n_unwritten += asked.unwritten.height
        for settled in self.settled:
            self._add_repeat(asked, settled)

    def _add_repeat(self, asked: AskedSamples, settled: Set[str]) -> None:
        worded, unwritten = asked.worded, asked.unwritten
        to_ask = self._select_open(worded, asked.demonstrations, settled) if settled else worded
        self.n_prompts += worded.height + unwritten.height
        self.n_to_ask += to_ask.height + unwritten.height
        open_samples = pl.concat([to_ask, unwritten])
        some = build_requests(
            sample_rows(open_samples), asked.demonstrations, self.evaluation.request_settings
        )
        self.sampled.append((open_samples.height, [prompt.text for prompt in some.prompts]))

    def _select_open(
        self, samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup], settled: Set[str]
    ) -> pl.DataFrame:
        """Return the samples whose prompt has no answer."""
        requests = build_requests(samples, demonstrations, self.evaluation.request_settings).frame
        is_open = pl.Series([key not in settled for key in requests["prompt_key"]], dtype=pl.Boolean)
        return samples.join(requests.filter(is_open).select("sample_id"), on="sample_id", how="semi")


def deduplicate_prompts(
    samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup]
) -> pl.DataFrame:
    """Return one sample per distinct prompt: methods with equal demonstrations share their prompts."""
    groups: dict[object, int] = {}
    numbers = [
        groups.setdefault(demonstrations[method].get((relation, transformation), ()), len(groups))
        for method, relation, transformation in samples.select(
            "method", "relation", "transformation"
        ).iter_rows()
    ]
    return (
        samples.with_columns(pl.Series("group", numbers, pl.Int32))
        .unique(["group", "text"], keep="first", maintain_order=True)
        .drop("group")
    )


def estimate_evaluation(tally: EvaluationTally) -> Estimate:
    """Return the estimate of a counted evaluation."""
    evaluation = tally.evaluation
    counter = TokenCounter(evaluation.model)
    completion, completion_basis = measure_completions(evaluation.store, evaluation.model.max_tokens)
    rate, rate_basis = measure_throughput(evaluation.root, evaluation.model_id)
    notes = [describe_counter(counter), completion_basis, rate_basis]
    if tally.n_unwritten:
        notes.append(f"{tally.n_unwritten:,} texts are not written yet and are estimated by their statements")
    counts = (Span.of(tally.n_prompts), tally.n_prompts - tally.n_to_ask, Span.of(tally.n_to_ask))
    lengths = Lengths(average_tokens(counter, tally.sampled), completion)
    return estimate_asking(evaluation.model, "evaluation", counts, lengths, rate, notes)
