"""What an evaluation will ask a model about questions: prompts are built from the questions and looked up."""

from collections.abc import Sequence
from dataclasses import dataclass, field, replace

import polars as pl

from engines.token_counter import TokenCounter
from preflight.estimates import (
    N_SAMPLED_PROMPTS,
    Estimate,
    Lengths,
    SampledPrompts,
    Span,
    average_tokens,
    describe_counter,
    estimate_asking,
    measure_completions,
    measure_throughput,
)
from schemas.exchange import Prompt
from tasks.asking.question_prompts import ANSWER, THINK
from tasks.evaluation.chains import read_chains
from tasks.evaluation.evaluation import Evaluation

# A text that only the prompts of a setting contain.
MARKERS = {"answer_only": ANSWER, "chain_of_thought": THINK}


@dataclass
class QuestionTally:
    """The prompts of one evaluation in one setting, counted piece by piece."""

    evaluation: Evaluation
    is_built: bool
    """Whether the edition is complete; only then are chains of thought known."""
    n_prompts: int = 0
    """Distinct prompts times repeats."""
    n_to_ask: int = 0
    sampled: list[SampledPrompts] = field(default_factory=list)

    def __post_init__(self) -> None:
        """Read the keys of earlier answers, and the chains of thought."""
        evaluation = self.evaluation
        repeats = range(evaluation.subject.n_repeats)
        self.settled = [evaluation.store.read_settled_keys(repeat) for repeat in repeats]
        chains = read_chains(evaluation) if self.is_built else {}
        self.settings = replace(evaluation.request_settings, chains=chains)

    def add(self, questions: pl.DataFrame) -> None:
        """Count the questions of a piece."""
        evaluation = self.evaluation
        n_points = evaluation.model.pairs_per_relation
        requests = evaluation.subject.build_requests(questions, self.settings, n_points)
        texts = dict(zip(requests.frame["prompt_key"], requests.prompts, strict=True))
        n_open = sum(len(texts.keys() - keys) for keys in self.settled)
        self.n_prompts += len(texts) * len(self.settled)
        self.n_to_ask += n_open
        self.sampled.append((n_open, [prompt.text for prompt in _select_some(list(texts.values()))]))

    def estimate(self) -> Estimate:
        """Return what asking the counted prompts takes."""
        evaluation, sampling = self.evaluation, self.evaluation.request_settings.sampling
        counter = TokenCounter(evaluation.model)
        completion, basis = measure_completions(evaluation.store, sampling.max_tokens, MARKERS[self.setting])
        rate, rate_basis = measure_throughput(evaluation.root, evaluation.model_id, self.setting)
        counts = (Span.of(self.n_prompts), self.n_prompts - self.n_to_ask, Span.of(self.n_to_ask))
        lengths = Lengths(average_tokens(counter, self.sampled), completion)
        notes = [describe_counter(counter), basis, rate_basis]
        return estimate_asking(evaluation.model, self.setting, counts, lengths, rate, notes)

    @property
    def setting(self) -> str:
        """The setting in which the questions are asked."""
        assert self.evaluation.subject.setting is not None
        return self.evaluation.subject.setting


def _select_some(prompts: Sequence[Prompt]) -> Sequence[Prompt]:
    """Return a few prompts, spread over all of them."""
    return prompts[:: max(len(prompts) // N_SAMPLED_PROMPTS, 1)]
