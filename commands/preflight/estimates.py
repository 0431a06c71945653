"""What asking a model takes: prompts, tokens, time and cost, each as a range with its basis."""

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path

import polars as pl

from pretexeval.config.engines import EngineConfig
from pretexeval.engines.token_counter import CHARACTERS_PER_TOKEN, TokenCounter
from pretexeval.storage.layout import evaluation_folder, run_file
from pretexeval.storage.records import read_record
from pretexeval.storage.responses import ResponseStore

MILLION = 1_000_000
# How many prompts of each relation or piece have their tokens counted.
N_SAMPLED_PROMPTS = 16
Measured = tuple["Span | None", str]
"""A measured value, None if it was never measured; and its basis, for people."""
NO_RATE: Measured = (None, "time not measured")


@dataclass(frozen=True)
class Span:
    """A range of numbers; both ends are equal if the number is known."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> "Span":
        """Return the span of a known number."""
        return cls(value, value)

    def __add__(self, other: "Span") -> "Span":
        """Return the sum of both."""
        return Span(self.low + other.low, self.high + other.high)

    def __mul__(self, other: "Span | float") -> "Span":
        """Return the product of both, or the span multiplied by a number."""
        factor = other if isinstance(other, Span) else Span.of(other)
        return Span(self.low * factor.low, self.high * factor.high)

    def render(self, show: Callable[[float], str]) -> str:
        """Return one number, or `1,200 to 3,600`."""
        return " to ".join(dict.fromkeys(map(show, (self.low, self.high))))


@dataclass(frozen=True)
class Estimate:
    """What one model will be asked in one part of a run, and what that takes."""

    name: str
    part: str
    """panel, rephraser, judge, llmeval, evaluation, or the setting of questions."""
    n_prompts: Span
    n_answered: int
    """The prompts that have an answer already."""
    n_to_ask: Span
    n_prompt_tokens: Span
    n_completion_tokens: Span
    duration_s: Span | None
    """None if it was never measured."""
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
        self, completion: Measured, rate: Measured, notes: Sequence[str] = (), per_prompt: Span | None = None
    ) -> Estimate:
        """Return what asking the prompts takes.

        Args:
            completion: tokens of one completion.
            rate: prompts per second.
            per_prompt: how often each counted prompt is followed by further ones, itself included; once each
                if not given.
        """
        n_prompts = (per_prompt or Span(1, 1)) * self.n_prompts
        n_answered = self.n_answered + self.n_answered_later
        # The counted prompts are certain if there is one each; those that follow depend on replies.
        n_least = min(self.n_prompts - self.n_answered, n_prompts.low)
        n_to_ask = Span(max(n_prompts.low - n_answered, n_least), max(n_prompts.high - n_answered, n_least))
        config, counter, prompts_per_s = self.config, TokenCounter(self.config), rate[0]
        tokens_in = n_to_ask * self._average_tokens(counter)
        tokens_out = n_to_ask * (completion[0] or Span.of(0))
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
            None if prompts_per_s is None else n_to_ask * (1 / prompts_per_s.low),
            cost,
            config.price_currency,
            (*notes, f"prompt tokens {basis}", completion[1], rate[1]),
        )

    def _average_tokens(self, counter: TokenCounter) -> float:
        """Return the mean tokens of a prompt; pieces are weighted by their prompts to ask."""
        sampled = [(n, texts) for n, texts in self._sampled if texts]
        n_tokens = sum(n * sum(map(counter.count, texts)) / len(texts) for n, texts in sampled)
        return n_tokens / max(sum(n for n, _ in sampled), 1)


def sample_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a few rows, drawn at random with a fixed seed: every n-th row could have one transformation."""
    return rows.sample(min(N_SAMPLED_PROMPTS, rows.height), seed=0)


def measure_completions(store: ResponseStore, max_tokens: int, marker: str | None = None) -> Measured:
    """Return the tokens of one completion, from earlier completions or else from the limit.

    Args:
        marker: only earlier prompts that contain this text count; all of them if not given.
    """
    if not store.is_empty:
        rows = store.read(["prompt", "status", "n_completion_tokens"]).filter(status="ok")
        if marker is not None:
            rows = rows.filter(pl.col("prompt").str.contains(marker, literal=True))
        lengths = rows["n_completion_tokens"].drop_nulls()
        if len(lengths):
            mean = min(float(lengths.sum()) / len(lengths), max_tokens)
            basis = f"completions of {mean:.1f} tokens, the mean of {len(lengths):,} earlier ones"
            return Span.of(mean), basis
    return Span(1, max_tokens), f"completions of 1 to {max_tokens} tokens"


def measure_throughput(root: Path, model_id: str, setting: str | None = None) -> Measured:
    """Return the prompts per second over all finished evaluations of the model.

    Args:
        setting: the setting of evaluations of questions; None: the evaluations of samples.
    """
    n_asked, seconds = 0, 0.0
    for path in root.glob(run_file(evaluation_folder("*", model_id, setting))):
        try:
            record = read_record(path) or {}
            asked, duration_s = int(record["n_asked"]), float(record["duration_s"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if asked > 0 and duration_s > 0:
            n_asked, seconds = n_asked + asked, seconds + duration_s
    if not n_asked:
        return None, "time not measured: the model was never evaluated under this root"
    rate = n_asked / seconds
    basis = f"time at {rate:,.1f} prompts per second, loading included, as for {n_asked:,} earlier prompts"
    return Span.of(rate), basis
