"""The tokens and the time that prompts take: measured here, or from stated figures and marked as such."""

import re
from collections.abc import Callable
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.config.engines import EngineConfig
from pretexeval.primitives.gpus import find_gpus
from pretexeval.storage.layout import evaluation_folder, run_file
from pretexeval.storage.records import read_record
from pretexeval.storage.responses import ResponseStore


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


Measured = tuple[Span, str]
"""A value, and its basis for people."""

# Dense bfloat16 (T4: float16) operations per second in 1e12, as NVIDIA's data sheets state them.
STATED_TFLOPS = {
    "B200": 2250,
    "H200": 989,
    "H100": 989,
    "L40S": 362,
    "A100": 312,
    "A10": 125,
    "L4": 121,
    "T4": 65,
}
DEFAULT_CARD = "H100"
# Shares of these that are assumed to be reached, at best and at worst.
UTILISATION = (0.5, 0.2)
# Assumed seconds from a request to an endpoint to its answer, at best and at worst.
REQUEST_S = Span(0.5, 3)
_BILLIONS = re.compile(r"(?<![\w.])(\d+(?:\.\d+)?)[bB](?![a-zA-Z])")


def state_duration(config: EngineConfig, n_prompts: Span, n_tokens: Span) -> tuple[Span | None, str]:
    """Return the seconds that the prompts take and the basis; no seconds if nothing is known of the model.

    A model of p parameters computes 2 p operations for each token (Kaplan et al. 2020, section 2.1).

    Args:
        n_tokens: of all prompts and completions.
    """
    if config.engine == "openai":
        basis = (
            f"time assumed: {REQUEST_S.low:g} to {REQUEST_S.high:g} s a request, {config.concurrency} at once"
        )
        return n_prompts * REQUEST_S * (1 / config.concurrency), basis
    size = _BILLIONS.search(config.model.rpartition("/")[2])
    if config.engine != "vllm" or size is None:
        return None, "time not measured"
    found = [name for gpu in find_gpus() for name in STATED_TFLOPS if name in gpu.name]
    card = (found or [DEFAULT_CARD])[0]
    seconds = n_tokens * (2e9 * float(size[1]) / (1e12 * STATED_TFLOPS[card] * config.n_gpus))
    best, worst = UTILISATION
    basis = (
        f"time stated, not measured: {size[1]} billion parameters on {config.n_gpus} × {card}, which reach "
        f"{worst:.0%} to {best:.0%} of NVIDIA's figure, without loading and without prefix caching"
    )
    return seconds * Span(1 / best, 1 / worst), basis


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


def measure_throughput(root: Path, model_id: str, setting: str | None = None) -> Measured | None:
    """Return the prompts per second over all finished evaluations of the model; None if there are none.

    Args:
        setting: the setting of the evaluations; None: those of samples with two answers.
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
        return None
    rate = n_asked / seconds
    basis = f"time at {rate:,.1f} prompts per second, loading included, as for {n_asked:,} earlier prompts"
    return Span.of(rate), basis
