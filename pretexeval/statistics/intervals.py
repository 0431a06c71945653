"""Intervals and p-values of shares and of paired differences, for many scores at once.

A share has Wilson's score interval (Wilson 1927) on an effective number of observations. A difference
combines the limits of gains and losses (MOVER: Zou and Donner 2008; for single pairs, method 10 of Newcombe
1998). Its p-value is the level at which the interval meets 0, so that the test and the interval always agree.
docs/statistics.md names the sources and says how often the intervals contain the truth.
"""

from collections.abc import Sequence
from dataclasses import dataclass, fields

import numpy as np
import polars as pl
from scipy.special import ndtri, stdtrit

from pretexeval.statistics.clusters import Floats, Spread

LEVEL = 0.05
MIN_RARE = 9
"""Effective heads or tails that `choose_degrees` counts at least."""
MIN_CLUSTERS = 10
"""With fewer effective heads or tails, a difference has no interval and no test."""
MAX_RATIO = 2
"""Limit of the observations of a side without events, as a multiple of those of the other side."""
MIN_P, MAX_P = 1e-12, 1 - 1e-6
N_HALVINGS = 50


@dataclass(frozen=True)
class Limits:
    """The limits of an interval of each score."""

    low: Floats
    high: Floats


class Estimates:
    """Scores and differences with intervals of any level."""

    def __init__(self, spreads: Sequence[Spread]) -> None:
        """Take what the intervals need of each score."""
        self._columns = {
            field.name: np.array([getattr(spread, field.name) for spread in spreads], float)
            for field in fields(Spread)
        }

    @property
    def scores(self) -> Floats:
        """Return each share or difference."""
        return self["gained"] - self["lost"]

    def __getitem__(self, name: str) -> Floats:
        """Return a field of all spreads."""
        return self._columns[name]

    def limit(self, *, level: Floats | float = LEVEL, is_base_fixed: bool = False) -> Limits:
        """Return the intervals that miss the truth with this probability.

        A difference of too few clusters has nan.

        Args:
            is_base_fixed: claim nothing about other heads and tails, so that pairs are the only clusters.
        """
        level = np.minimum(level, MAX_P)
        z = -ndtri(level / 2)
        gained, lost = self["gained"], self["lost"]
        n_gained, n_lost = self._count_independent(level, is_base_fixed)
        low_gained, high_gained = limit_share(gained, n_gained, z)
        low_lost, high_lost = limit_share(lost, n_lost, z)
        r, difference = self["correlation"], gained - lost
        low = difference - _reach(gained - low_gained, high_lost - lost, r)
        high = difference + _reach(high_gained - gained, lost - low_lost, r)
        is_difference = self["is_difference"] > 0
        low, high = (np.where(self["n_effective"] < MIN_CLUSTERS, np.nan, limit) for limit in (low, high))
        return Limits(np.where(is_difference, low, low_gained), np.where(is_difference, high, high_gained))

    def test(self) -> Floats:
        """Return the two-sided p-value of each difference: the level at which its interval meets 0.

        It is nan for a share, and where there are too few clusters for an interval.
        """
        low, high = np.full(len(self.scores), np.log(MIN_P)), np.full(len(self.scores), np.log(MAX_P))
        for _ in range(N_HALVINGS):
            middle = (low + high) / 2
            limits = self.limit(level=np.exp(middle))
            contains_zero = (limits.low <= 0) & (limits.high >= 0)
            # A lower level gives a wider interval.
            low, high = np.where(contains_zero, middle, low), np.where(contains_zero, high, middle)
        has_test = (self["is_difference"] > 0) & (self["n_effective"] >= MIN_CLUSTERS)
        return np.where(has_test, np.where(self.scores == 0, 1.0, np.exp(high)), np.nan)

    def tabulate(self) -> pl.DataFrame:
        """Return a row per score: `score`, its limits, and what they rest on; null where there is none."""
        free, fixed = self.limit(), self.limit(is_base_fixed=True)
        columns = {
            "n_pairs": self["n_pairs"],
            "n_observations": np.round(self["n_observations"]),
            "score": self.scores,
            "ci_low": free.low,
            "ci_high": free.high,
            "fixed_base_ci_low": fixed.low,
            "fixed_base_ci_high": fixed.high,
            "p_value": self.test(),
            "n_effective": self["n_effective"],
        }
        return pl.DataFrame(columns).with_columns(pl.all().fill_nan(None))

    def _count_independent(self, level: Floats | float, is_base_fixed: bool) -> tuple[Floats, Floats]:
        """Return the numbers of independent observations of gains and of losses.

        Each is the number of observations over the design effect with pairs as clusters, times (z/t)², over
        the inflation for new facts. (z/t)² alone never lowers it below one observation per pair. If the pairs
        of a side do not vary, a pair counts as one observation.
        """
        m, n, most = self["n_pairs"], self["n_observations"], self["n_most"]
        inflation = np.ones_like(m) if is_base_fixed else self["inflation"]
        n_rare = np.full_like(m, np.inf) if is_base_fixed else self["n_rare"]
        is_single = n == m
        degrees = choose_degrees(inflation, n_rare, np.where(is_single, np.inf, self["pair_degrees"]))
        factor = student_factor(level, degrees)

        def count(side: str, factor: Floats | float) -> Floats:
            robust = self[f"{side}_robust_n"]
            several = np.minimum(most, np.maximum(np.minimum(m, robust), robust * factor) / inflation)
            single = m / inflation * np.where(inflation > 1, factor, 1)
            return np.where(is_single, single, several)

        counts = []
        for side, other in (("gained", "lost"), ("lost", "gained")):
            varies, other_varies = ((m > 1) & np.isfinite(self[f"{name}_robust_n"]) for name in (side, other))
            # A side without events has the design effect of the other side, which other pairs tell.
            borrowed = np.minimum(count(other, 1.0), MAX_RATIO * count(other, factor))
            without = np.where(other_varies, borrowed, np.minimum(m, most))
            counts.append(np.where(varies, count(side, factor), without))
        return counts[0], counts[1]


def limit_share(share: Floats, n: Floats, z: Floats) -> tuple[Floats, Floats]:
    """Return the limits of Wilson's score interval (1927): (pn + z²/2 ± z √(p(1−p)n + z²/4)) / (n + z²)."""
    reach = z * np.sqrt(share * (1 - share) * n + z**2 / 4)
    centre, scale = share * n + z**2 / 2, n + z**2
    low, high = (centre - reach) / scale, (centre + reach) / scale
    return np.where(share == 0, 0.0, low), np.where(share == 1, 1.0, high)


def choose_degrees(inflation: Floats, n_rare: Floats, pair_degrees: Floats) -> Floats:
    """Return the degrees of freedom of the variance, a whole number of at least 1.

    The share 1 / inflation of the variance comes from pairs, with `pair_degrees` (inf where the variance is
    known from the mean), and the rest from n_rare effective heads or tails. Only a third of these counts,
    because their sizes are uneven, but at least three (benchmarks/coverage.py).
    """
    of_clusters = (1 - 1 / inflation) * 3 / np.maximum(n_rare, MIN_RARE)
    with np.errstate(divide="ignore"):
        of_pairs = np.where(pair_degrees > 0, 1 / inflation / pair_degrees, 0)
        degrees = np.where(of_clusters + of_pairs > 0, 1 / (of_clusters + of_pairs), np.inf)
    return np.asarray(np.maximum(1, np.floor(1e-9 + np.minimum(degrees, np.minimum(pair_degrees, 1e6)))))


def student_factor(level: Floats | float, degrees: Floats) -> Floats:
    """Return (z/t)², by which few degrees of freedom lower the effective number (Korn and Graubard 1998)."""
    level = np.asarray(level)
    return np.asarray((ndtri(level / 2) / stdtrit(degrees, level / 2)) ** 2)


def _reach(away: Floats, toward: Floats, r: Floats) -> Floats:
    """Return the distance of a limit from a difference: √(away² − 2 r · away · toward + toward²)."""
    return np.asarray(np.sqrt(np.maximum(away**2 - 2 * r * away * toward + toward**2, 0)))


def adjust_by_holm(p_values: Floats) -> Floats:
    """Return the p-values of one family of tests adjusted for their number (Holm 1979); nan stays nan."""
    adjusted = np.full(len(p_values), np.nan)
    (known,) = np.nonzero(~np.isnan(p_values))
    order = known[np.argsort(p_values[known], kind="stable")]
    factors = len(order) - np.arange(len(order))
    adjusted[order] = np.minimum(1, np.maximum.accumulate(p_values[order] * factors))
    return adjusted
