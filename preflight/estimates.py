"""What asking a model takes: prompts, tokens, time and cost, each as a range with its basis."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from config.engines import EngineConfig
from engines.token_counter import CHARACTERS_PER_TOKEN, TokenCounter
from storage.layout import evaluation_folder, run_file
from storage.records import read_record
from storage.responses import ResponseStore

MILLION = 1_000_000
# How many prompts of each relation have their tokens counted.
N_SAMPLED_PROMPTS = 16

SampledPrompts = tuple[int, list[str]]
"""(the number of prompts of a relation, the texts of some of them)."""


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

    def times(self, factor: float) -> "Span":
        """Return the span multiplied by a number."""
        return Span(self.low * factor, self.high * factor)


@dataclass(frozen=True)
class Estimate:
    """What one model will be asked in one part of a run, and what that takes."""

    name: str
    part: str
    """rephraser, judge, llmeval, or evaluation."""
    n_prompts: Span
    """All prompts of the part."""
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


@dataclass(frozen=True)
class Lengths:
    """The mean number of tokens of a prompt and of a completion."""

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
    """Return the estimate of a part.

    Args:
        counts: the number of all prompts, of those with an answer, and of those to ask.
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
    """Return the basis of the number of prompt tokens."""
    if counter.is_exact:
        return "prompt tokens counted by the model's tokenizer on a sample of prompts"
    return f"prompt tokens as characters / {CHARACTERS_PER_TOKEN}: its tokenizer is not on this machine"


def average_tokens(counter: TokenCounter, sampled: Sequence[SampledPrompts]) -> float:
    """Return the mean number of tokens of a prompt, relations weighted by their prompts; 0 for no prompts."""
    n_tokens = sum(n * sum(map(counter.count, texts)) / len(texts) for n, texts in sampled if texts)
    return n_tokens / max(sum(n for n, texts in sampled if texts), 1)


def sample_rows(rows: pl.DataFrame) -> pl.DataFrame:
    """Return a few rows, drawn at random with a fixed seed: every n-th row could have one transformation."""
    return rows.sample(min(N_SAMPLED_PROMPTS, rows.height), seed=0)


def measure_completions(store: ResponseStore, max_tokens: int, marker: str | None = None) -> tuple[Span, str]:
    """Return the tokens of one completion, from earlier completions or else from the limit, and the basis.

    Args:
        marker: only earlier prompts that contain this text count; all of them if not given.
    """
    if not store.is_empty:
        rows = store.read(["prompt", "status", "n_completion_tokens"]).filter(pl.col("status") == "ok")
        if marker is not None:
            rows = rows.filter(pl.col("prompt").str.contains(marker, literal=True))
        lengths = rows["n_completion_tokens"].drop_nulls()
        if len(lengths):
            mean = min(float(lengths.sum()) / len(lengths), max_tokens)
            basis = f"completions of {mean:.1f} tokens, the mean of {len(lengths):,} earlier ones"
            return Span.of(mean), basis
    return Span(1, max_tokens), f"completions of 1 to {max_tokens} tokens"


def measure_throughput(root: Path, model_id: str, setting: str | None = None) -> tuple[float | None, str]:
    """Return the prompts per second over all finished evaluations of the model, and the basis.

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
    return rate, basis
