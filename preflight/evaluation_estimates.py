"""What evaluating a model on an edition will ask: counted on its drafts, against what it was asked before."""

from dataclasses import dataclass, field

import polars as pl

from engines.token_counter import TokenCounter
from preflight.estimates import (
    Estimate,
    Lengths,
    Shown,
    Span,
    average_tokens,
    describe_counter,
    estimate_asking,
    measure_completions,
    measure_throughput,
    take_some,
)
from tasks.edition.preview import RelationPreview
from tasks.evaluation.demonstrations import DemonstrationsOfGroup, draw_demonstrations_of_methods
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.requests import build_requests, select_samples


@dataclass(frozen=True)
class Questions:
    """What models are asked of one relation, worked out once for all of them."""

    demonstrations: dict[str, DemonstrationsOfGroup]
    worded: pl.DataFrame
    """One sample per prompt whose text is known."""
    unwritten: pl.DataFrame
    """Samples that a language model has yet to word: never asked, and counted as if all differed."""


def draw_questions(draft: RelationPreview, pairs_per_relation: int | None) -> Questions:
    """The questions of one relation, of all its pairs or of so many."""
    asked = select_samples(draft.samples, pairs_per_relation)
    demonstrations = draw_demonstrations_of_methods(draft.samples)
    is_unwritten = pl.col("method").is_in(sorted(draft.unwritten_methods))
    worded = find_distinct(asked.filter(~is_unwritten), demonstrations)
    return Questions(demonstrations, worded, asked.filter(is_unwritten))


@dataclass
class Tally:
    """The prompts of one evaluation, counted relation by relation."""

    evaluation: Evaluation
    settled: set[str] = field(default_factory=set)
    """Keys of prompts that need not be asked."""
    n_prompts: int = 0
    n_to_ask: int = 0
    n_unwritten: int = 0
    """Of those to ask, the ones whose texts are not written yet."""
    shown: list[Shown] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read what was settled before."""
        self.settled = self.evaluation.store.read_settled_keys()

    def add(self, questions: Questions) -> None:
        """Count one relation."""
        worded, unwritten = questions.worded, questions.unwritten
        to_ask = self._find_open(worded, questions.demonstrations) if self.settled else worded
        self.n_prompts += worded.height + unwritten.height
        self.n_to_ask += to_ask.height + unwritten.height
        self.n_unwritten += unwritten.height
        open_samples = pl.concat([to_ask, unwritten])
        settings = self.evaluation.request_settings
        some = build_requests(take_some(open_samples), questions.demonstrations, settings)
        self.shown.append((open_samples.height, [prompt.text for prompt in some.prompts]))

    def _find_open(
        self, samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup]
    ) -> pl.DataFrame:
        """The samples whose prompt has no answer."""
        requests = build_requests(samples, demonstrations, self.evaluation.request_settings).frame
        is_open = pl.Series([key not in self.settled for key in requests["prompt_key"]], dtype=pl.Boolean)
        return samples.join(requests.filter(is_open).select("sample_id"), on="sample_id", how="semi")


def find_distinct(samples: pl.DataFrame, demonstrations: dict[str, DemonstrationsOfGroup]) -> pl.DataFrame:
    """One sample per prompt of a relation: methods that show the same demonstrations share theirs."""
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


def estimate_evaluation(tally: Tally) -> Estimate:
    """What the evaluation takes."""
    evaluation = tally.evaluation
    counter = TokenCounter(evaluation.model)
    completion, how_long = measure_completions(evaluation.store, evaluation.model.max_tokens)
    rate, how_fast = measure_throughput(evaluation.root, evaluation.model_id)
    notes = [describe_counter(counter), how_long, how_fast]
    if tally.n_unwritten:
        notes.append(f"{tally.n_unwritten:,} texts are not written yet: their statements stand in")
    counts = (Span.of(tally.n_prompts), tally.n_prompts - tally.n_to_ask, Span.of(tally.n_to_ask))
    lengths = Lengths(average_tokens(counter, tally.shown), completion)
    return estimate_asking(evaluation.model, "evaluation", counts, lengths, rate, notes)
