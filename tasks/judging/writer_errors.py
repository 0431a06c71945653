"""Estimate the share of wrong texts among the rewordings of a writer that the gate accepts.

The gate is a diagnostic test. It rejects the share f of the sound texts and catches the share c of the wrong
ones; both were counted on labelled texts (`gate_calibration.tsv`). If it rejects the share r of a writer's
attempts, the share w = (r - f) / (c - f) of them is wrong (Rogan and Gladen, 1978), and so is the share
w (1 - c) / (1 - r) of the accepted ones. A limit on new words lets the share a of the texts pass that the
other rules let pass, and the share g of the wrong ones among them: the estimate is then multiplied by g / a.
Copies of the statement are no evidence of errors and are left out.
"""

from collections.abc import Collection, Iterable
from dataclasses import dataclass
from functools import cache, lru_cache
from pathlib import Path
from typing import Any

import numpy as np
import polars as pl

from pretexeval.gate import check_rewordings, fold_text
from pretexeval.primitives.hashing import checksum_file, hash_json
from schemas.stages import MAX_WRONG_RATE

Limit = int | None
"""The most words of its statement that a rewording may change; None for any number."""
# The limits that are tried for a writer, the largest first.
LIMITS: tuple[Limit, ...] = (None, 8, 4, 2, 1, 0)
PANEL = Path(__file__).with_name("panel.tsv")
CALIBRATION = Path(__file__).with_name("gate_calibration.tsv")
COUNTS = ("n_sound", "n_rejected", "n_wrong", "n_caught")
# Reasons of the gate (pretexeval/gate/check.py).
NEW_WORDS = "new words"
NO_EVIDENCE = frozenset({"unchanged", "no text"})
LOST_NAMES = frozenset({"head lost", "tail lost"})
N_DRAWS = 4000


def name_passed(limit: Limit) -> str:
    """Return the column of the calibration with the number of wrong texts that pass under a limit."""
    return "n_passed" if limit is None else f"n_passed_{limit}"


@cache
def read_panel() -> pl.DataFrame:
    """Return the panel, the statements that every writer rewords first: trap, head, tail, statement."""
    return pl.read_csv(PANEL.read_bytes(), separator="\t", quote_char=None)


@cache
def read_calibration() -> pl.DataFrame:
    """Return the counts of labelled texts, one row per source and relation."""
    return pl.read_csv(CALIBRATION.read_bytes(), separator="\t", quote_char=None)


@cache
def identify_basis() -> str:
    """Return the hash of everything besides a writer's replies that the choice of its limit depends on."""
    return hash_json([checksum_file(PANEL), checksum_file(CALIBRATION), LIMITS, MAX_WRONG_RATE], digits=16)


@dataclass(frozen=True)
class Verdicts:
    """Verdicts of the gate on a writer's attempts, except empty ones and copies of their statement."""

    n_attempts: int
    n_passed: int
    """Those against which nothing speaks but the number of new words, if anything."""
    n_accepted: int
    limit: Limit
    """The limit on new words under which the others were accepted."""


def count_verdicts(reasons: Iterable[Collection[str]], limit: Limit) -> Verdicts:
    """Count attempts by the reasons of the rules against them."""
    evidence = [set(against) for against in reasons if NO_EVIDENCE.isdisjoint(against)]
    n_passed = sum(against <= {NEW_WORDS} for against in evidence)
    return Verdicts(len(evidence), n_passed, sum(not against for against in evidence), limit)


def count_lost_names(reasons: Iterable[Collection[str]]) -> int:
    """Return the number of texts that were rejected for nothing but a missing name.

    A table of aliases saves at most so many of them: a text with another name is among them as well.
    """
    return sum(bool(against) and LOST_NAMES.issuperset(against) for against in reasons)


@dataclass(frozen=True)
class WrongRate:
    """The estimated share of wrong texts among the accepted ones, with its 95 % interval."""

    wrong_rate: float
    low: float
    high: float


def estimate_wrong_rate(verdicts: Verdicts, calibration: pl.DataFrame | None = None) -> WrongRate | None:
    """Return the estimate for these attempts; None if the gate accepted none of them.

    The estimate is the mean of N_DRAWS draws with a fixed seed, and the interval has their quantiles. Each
    draw takes the labelled relations with replacement (the bootstrap; Efron and Tibshirani, 1993), and every
    share from the Jeffreys posterior of its counts (Brown, Cai and DasGupta, 2001), so that none is 0 or 1
    for lack of texts. It takes f from a single relation, because writers differ in how many of their sound
    texts the gate rejects, and few writers are labelled.

    Args:
        calibration: counts in place of those of `read_calibration`.
    """
    if not verdicts.n_accepted:
        return None
    return _summarise(_draw_rates(verdicts, read_calibration() if calibration is None else calibration))


def estimate_after_reading(verdicts: Verdicts, n_read: int, n_wrong: int) -> WrongRate:
    """Return the estimate after people read some accepted texts, and found n_wrong of them wrong.

    They read the most doubtful texts first. The others are therefore wrong at most as often as these, and at
    most as often as the verdicts of the gate say.
    """
    of_read = np.random.default_rng(1).beta(n_wrong + 0.5, n_read - n_wrong + 0.5, N_DRAWS)
    # Texts that differ in orthography alone are read, but not counted.
    n_others = max(verdicts.n_accepted - n_read, 0)
    others = n_others * np.minimum(_draw_rates(verdicts, read_calibration()), of_read)
    return _summarise((n_wrong + others) / (n_read + n_others))


def _summarise(drawn: Any) -> WrongRate:  # noqa: ANN401
    mean, (low, high) = drawn.mean(), np.quantile(drawn, [0.025, 0.975])
    return WrongRate(*(round(float(rate), 4) for rate in (mean, low, high)))


def _draw_rates(verdicts: Verdicts, calibration: pl.DataFrame) -> Any:  # noqa: ANN401
    """Return draws of the share of wrong texts among the accepted ones."""
    # The smallest limit of the calibration that is not smaller than the writer's.
    limit = verdicts.limit
    larger = [tabled for tabled in LIMITS if tabled is not None and limit is not None and tabled >= limit]
    within = pl.col(name_passed(min(larger, default=None))).alias("n_within")
    table = calibration.select(*COUNTS, name_passed(None), within).to_numpy().astype(float)
    n, n_passed, n_accepted = verdicts.n_attempts, verdicts.n_passed, verdicts.n_accepted
    random = np.random.default_rng(0)
    drawn = random.multinomial(len(table), np.full(len(table), 1 / len(table)), N_DRAWS) @ table
    single = random.choice(table[table[:, 0] > 0], N_DRAWS)
    of_writer = ((n - n_passed, n), (n_accepted, n_passed))
    pairs = (_pair_counts(single)[0], *_pair_counts(drawn)[1:], *of_writer)
    f, c, g, r, a = (random.beta(part + 0.5, whole - part + 0.5, N_DRAWS) for part, whole in pairs)
    wrong = np.clip((r - f) / np.maximum(c - f, 1e-9), 0, 1)
    limited = 1 if verdicts.limit is None else g / a
    return np.clip(wrong * (1 - c) / np.maximum(1 - r, 1e-9) * limited, 0, 1)


def _pair_counts(counts: Any) -> list[tuple[Any, Any]]:  # noqa: ANN401
    """Return (part, whole) of the sound texts rejected, the wrong caught, and the wrong within the limit."""
    n_sound, n_rejected, n_wrong, n_caught, n_passed, n_within = np.moveaxis(counts, -1, 0)
    return [(n_rejected, n_sound), (n_caught, n_wrong), (n_within, n_passed)]


@dataclass(frozen=True)
class PanelResult:
    """The limit that a writer's rewordings of the panel call for."""

    limit: Limit
    verdicts: Verdicts
    """Without a limit."""
    reasons: tuple[tuple[str, ...], ...]
    """Reasons of the rules to reject each rewording, without a limit; empty if they accept it."""


@lru_cache(16)
def judge_panel(texts: tuple[str | None, ...]) -> PanelResult:
    """Return the largest limit with at most MAX_WRONG_RATE wrong texts among the accepted ones, or else 0.

    Args:
        texts: a rewording of each statement of the panel, in order; None where the writer gave none.
    """
    rows = read_panel().with_columns(pl.Series("text", texts, pl.String))
    # A text with the words of its statement is no evidence.
    is_changed = [
        fold_text(text or "") != fold_text(said) for said, text in zip(rows["statement"], texts, strict=True)
    ]
    changed = rows.filter(pl.Series(is_changed))
    verdicts = {limit: count_verdicts(check_rewordings(changed, limit), limit) for limit in LIMITS}
    estimates = {limit: estimate_wrong_rate(found) for limit, found in verdicts.items()}
    fits = [limit for limit, rate in estimates.items() if rate and rate.wrong_rate <= MAX_WRONG_RATE]
    return PanelResult(fits[0] if fits else 0, verdicts[None], tuple(check_rewordings(rows)))
