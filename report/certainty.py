"""Decide which of several differences are certain, with allowance for how many of them are looked at.

A difference without an interval comes from too few facts, and is never certain.
"""

import math
from collections.abc import Mapping, Sequence
from itertools import permutations
from typing import Any

import numpy as np
from scipy.special import ndtri

from pretexeval.statistics.intervals import adjust_by_holm

Row = dict[str, Any]
LEVEL = 0.05
Share = tuple[float, float, float]
"""A share with the limits of its 95 % interval."""


def has_interval(row: Row, name: str = "difference") -> bool:
    """Return whether the difference of the row is known, and comes from enough facts for an interval."""
    return None not in (row[name], row[f"{name}_ci_low"], row[f"{name}_ci_high"])


def is_distinguishable(row: Row, name: str = "difference") -> bool:
    """Return whether the interval of the difference is known and does not contain 0."""
    return has_interval(row, name) and not row[f"{name}_ci_low"] <= 0 <= row[f"{name}_ci_high"]


def select_certain(rows: Sequence[Row], name: str = "difference") -> list[Row]:
    """Return the rows whose difference is certain, among all these rows (Holm 1979).

    The chance that any row is returned although no difference is real is at most 5 %.
    """
    return [row for row, p in zip(rows, adjust(rows, name), strict=True) if p is not None and p < LEVEL]


def adjust(rows: Sequence[Row], name: str = "difference") -> list[float | None]:
    """Return the p-values of differences, adjusted for the number of all (Holm 1979); None without interval.

    The p-value is the level at which the interval meets 0, so that one alone is certain if its interval does
    not contain 0.
    """
    column = "p_value" if name == "difference" else f"{name.removesuffix('_difference')}_p_value"
    values = [math.nan if row[column] is None else row[column] for row in rows]
    return [None if math.isnan(p) else float(p) for p in adjust_by_holm(np.array(values, float))]


def widen(interval: Share, n_tests: int) -> tuple[float, float]:
    """Return limits that are wider by the factor of the normal distribution for n tests (Bonferroni)."""
    value, low, high = interval
    factor = float(ndtri(LEVEL / 2 / n_tests) / ndtri(LEVEL / 2))
    return value - factor * (value - low), value + factor * (high - value)


def order_certainly(shares: Mapping[str, Share], n_models: int = 1) -> list[tuple[str, str, float]]:
    """Return (lower, higher, difference) for every two shares whose order is certain, the largest first.

    The shares are of the same model, and it is not known how their errors are correlated. Their order is
    therefore certain only where their intervals do not overlap. The intervals allow for the number of all
    pairs of shares.

    Args:
        n_models: the number of models of which such shares are ordered.
    """
    n_pairs = max(len(shares) * (len(shares) - 1) // 2, 1)
    wide = {name: widen(share, n_pairs * n_models) for name, share in shares.items()}
    ordered = [
        (one, other, shares[other][0] - shares[one][0])
        for one, other in permutations(shares, 2)
        if wide[one][1] < wide[other][0]
    ]
    return sorted(ordered, key=lambda pair: (-pair[2], pair))
