"""What asking a model takes: prompts, tokens, time and cost, each as a range with its basis."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property

import polars as pl

from commands.preflight.speed import Measured, Span, state_duration
from pretexeval.config.engines import EngineConfig
from pretexeval.engines.token_counter import CHARACTERS_PER_TOKEN, TokenCounter
from pretexeval.storage.responses import ResponseStore

MILLION = 1_000_000
# How many prompts of each relation or piece have their tokens counted.
N_SAMPLED_PROMPTS = 16


@dataclass(frozen=True)
class Estimate:
    """What one model will be asked in one part of a run, and what that takes."""

    name: str
    part: str
    """The role of a writer (`rephraser`, …), evaluation, or the setting of an evaluation."""
    n_prompts: Span
    n_answered: int
    """The prompts that have an answer already."""
    n_to_ask: Span
    n_prompt_tokens: Span
    n_completion_tokens: Span
    duration_s: Span | None
    """None if nothing is known of the model's speed."""
    cost: Span | None
    """None if no price is configured."""
    currency: str
    notes: tuple[str, ...] = ()
    """The basis of the numbers, for people."""


@dataclass
class Tally:
    """The prompts of one part of a run for one model, counted piece by piece."""

    config: EngineConfig
    part: str
    store: ResponseStore
    n_repeats: int = 1
    n_prompts: int = 0
    """Distinct prompts times repeats."""
    n_answered: int = 0
    n_answered_later: int = 0
    """Prompts with an answer that follow from replies to the counted ones."""
    n_unwritten: int = 0
    """Prompts about texts that a language model has yet to write."""
    _sampled: list[tuple[int, list[str]]] = field(default_factory=list)
    """Of each piece, the number of prompts to ask, and the texts of some prompts."""

    @cached_property
    def settled(self) -> list[set[str]]:
        """Of each repeat, the keys of prompts that need not be asked."""
        return [self.store.read_settled_keys(repeat) for repeat in range(self.n_repeats)]

    def add(self, n_distinct: int, texts: list[str], find_keys: Callable[[], Iterable[str]]) -> None:
        """Count distinct prompts, of which some texts are given."""
        n, n_answered = n_distinct * self.n_repeats, self.count_answered(find_keys)
        self.n_prompts += n
        self.n_answered += n_answered
        self._sampled.append((n - n_answered, texts))

    def count_answered(self, find_keys: Callable[[], Iterable[str]]) -> int:
        """Return how many prompts have an answer, over all repeats.

        Args:
            find_keys: returns the keys of the prompts. To make those of all MedLAMA statements takes 10 s, so
                it is only called if the model has been asked something.
        """
        keys = set(find_keys()) if any(self.settled) else set()
        return sum(len(keys & settled) for settled in self.settled)

    def estimate(
        self,
        completion: Measured,
        rate: Measured | None = None,
        notes: Sequence[str] = (),
        per_prompt: Span | None = None,
    ) -> Estimate:
        """Return what asking the prompts takes.

        Args:
            completion: tokens of one completion.
            rate: prompts per second; None if it was never measured.
            per_prompt: how often each counted prompt is followed by further ones, itself included; once each
                if not given.
        """
        n_prompts = (per_prompt or Span(1, 1)) * self.n_prompts
        n_answered = self.n_answered + self.n_answered_later
        # The counted prompts are certain if there is one each; those that follow depend on replies.
        n_least = min(self.n_prompts - self.n_answered, n_prompts.low)
        n_to_ask = Span(max(n_prompts.low - n_answered, n_least), max(n_prompts.high - n_answered, n_least))
        config, counter = self.config, TokenCounter(self.config)
        tokens_in = n_to_ask * self._average_tokens(counter)
        tokens_out = n_to_ask * completion[0]
        duration_s, basis_of_time = (
            state_duration(config, n_to_ask, tokens_in + tokens_out)
            if rate is None
            else (n_to_ask * (1 / rate[0].low), rate[1])
        )
        cost = None
        if config.price_input is not None and config.price_output is not None:
            cost = (tokens_in * config.price_input + tokens_out * config.price_output) * (1 / MILLION)
        basis = f"as characters / {CHARACTERS_PER_TOKEN}: its tokenizer is not on this machine"
        if counter.is_exact:
            basis = "counted by the model's tokenizer on a sample of prompts"
        return Estimate(
            config.name,
            self.part,
            n_prompts,
            n_answered,
            n_to_ask,
            tokens_in,
            tokens_out,
            duration_s,
            cost,
            config.price_currency,
            (*notes, f"prompt tokens {basis}", completion[1], basis_of_time),
        )

    def _average_tokens(self, counter: TokenCounter) -> float:
        """Return the mean tokens of a prompt; pieces are weighted by their prompts to ask."""
        sampled = [(n, texts) for n, texts in self._sampled if texts]
        n_tokens = sum(n * sum(map(counter.estimate, texts)) / len(texts) for n, texts in sampled)
        return n_tokens / max(sum(n for n, _ in sampled), 1)


def sample_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a few rows, drawn at random with a fixed seed: every n-th row could have one transformation."""
    return rows.sample(min(N_SAMPLED_PROMPTS, rows.height), seed=0)
