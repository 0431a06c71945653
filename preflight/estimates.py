"""What asking a model takes: prompts, tokens, time and cost, each as a range, and how it is known."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from config.engines import EngineConfig
from engines.token_counter import CHARACTERS_PER_TOKEN, TokenCounter
from storage.layout import run_file
from storage.records import read_record
from storage.responses import ResponseStore

MILLION = 1_000_000
# Prompts of a relation whose tokens are counted.
N_PROMPTS_READ = 16

Shown = tuple[int, list[str]]
"""Of one relation: how many prompts it has, and the texts of some of them."""


@dataclass(frozen=True)
class Span:
    """A number that is known, or lies between two."""

    low: float
    high: float

    @classmethod
    def of(cls, value: float) -> "Span":
        """A number that is known."""
        return cls(value, value)

    def __add__(self, other: "Span") -> "Span":
        """The sum of both."""
        return Span(self.low + other.low, self.high + other.high)

    def times(self, factor: float) -> "Span":
        """So many times as much."""
        return Span(self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Estimate:
    """What one model will be asked in one part, and what that takes."""

    name: str
    part: str
    """rephraser, judge, llmeval, or evaluation."""
    n_prompts: Span
    """All that the part consists of."""
    n_answered: int
    """Those that were answered before."""
    n_to_ask: Span
    n_prompt_tokens: Span
    n_completion_tokens: Span
    duration_s: Span | None
    """Null where it was never measured."""
    cost: Span | None
    """Null where no price is configured."""
    currency: str
    notes: tuple[str, ...] = ()


@dataclass(frozen=True)
class Lengths:
    """Tokens of one prompt and of one completion."""

    prompt: float
    completion: Span


def estimate_asking(
    config: EngineConfig,
    part: str,
    counts: tuple[Span, int, Span],
    lengths: Lengths,
    prompts_per_s: float | None,
    notes: Sequence[str],
) -> Estimate:
    """The estimate of a part.

    Args:
        counts: prompts in all, those answered before, those to ask.
    """
    n_prompts, n_answered, n_to_ask = counts
    prompt_tokens = n_to_ask.times(lengths.prompt)
    completion_tokens = Span(n_to_ask.low * lengths.completion.low, n_to_ask.high * lengths.completion.high)
    cost = None
    if config.price_input is not None and config.price_output is not None:
        paid_in = prompt_tokens.times(config.price_input / MILLION)
        cost = paid_in + completion_tokens.times(config.price_output / MILLION)
    return Estimate(
        config.name,
        part,
        n_prompts,
        n_answered,
        n_to_ask,
        prompt_tokens,
        completion_tokens,
        n_to_ask.times(1 / prompts_per_s) if prompts_per_s else None,
        cost,
        config.price_currency,
        tuple(notes),
    )


def describe_counter(counter: TokenCounter) -> str:
    """Say how the prompt tokens are known."""
    if counter.is_exact:
        return "prompt tokens by its tokenizer, from a sample of prompts"
    return f"prompt tokens as characters / {CHARACTERS_PER_TOKEN}: its tokenizer is not here"


def average_tokens(counter: TokenCounter, shown: Sequence[Shown]) -> float:
    """Return the mean number of tokens of a prompt, relations weighted by their prompts; 0 for no prompts."""
    n_tokens = sum(n * sum(map(counter.count, texts)) / len(texts) for n, texts in shown if texts)
    return n_tokens / max(sum(n for n, texts in shown if texts), 1)


def take_some(rows: pl.DataFrame) -> pl.DataFrame:
    """A few of the rows, drawn: every n-th could be of one transformation alone."""
    return rows.sample(min(N_PROMPTS_READ, rows.height), seed=0)


def measure_completions(store: ResponseStore, max_tokens: int, marker: str | None = None) -> tuple[Span, str]:
    """Tokens of one completion, and how that is known: from those given before, else from the limit.

    Args:
        marker: what the prompts meant hold; all of them if not given.
    """
    if not store.is_empty:
        rows = store.read(["prompt", "status", "n_completion_tokens"]).filter(pl.col("status") == "ok")
        if marker is not None:
            rows = rows.filter(pl.col("prompt").str.contains(marker, literal=True))
        lengths = rows["n_completion_tokens"].drop_nulls()
        if len(lengths):
            mean = min(float(lengths.sum()) / len(lengths), max_tokens)
            return Span.of(mean), f"completions as the {len(lengths):,} before, {mean:.1f} tokens each"
    return Span(1, max_tokens), f"completions of 1 to {max_tokens} tokens"


def measure_throughput(root: Path, model_id: str) -> tuple[float | None, str]:
    """Prompts a second over all finished evaluations of the model, and how that is known."""
    n_asked, seconds = 0, 0.0
    for path in root.glob(run_file("*", model_id)):
        try:
            record = read_record(path) or {}
            asked, duration_s = int(record["n_asked"]), float(record["duration_s"])
        except (OSError, ValueError, KeyError, TypeError):
            continue
        if asked > 0 and duration_s > 0:
            n_asked, seconds = n_asked + asked, seconds + duration_s
    if not n_asked:
        return None, "time not measured: it was never evaluated under this root"
    rate = n_asked / seconds
    return rate, f"time at {rate:,.1f} prompts a second, loading included, as {n_asked:,} prompts before"
