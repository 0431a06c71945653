"""Decide which of several differences are certain, with allowance for how many of them are looked at.

A difference without an interval comes from too few facts, and is never certain.
"""

from collections.abc import Mapping, Sequence
from itertools import combinations
from typing import Any

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
    known = [row for row in rows if has_interval(row, name)]
    adjusted = adjust_by_holm([find_p_value(row, name) for row in known])
    return [
        row for row, p in zip(known, adjusted, strict=True) if p < LEVEL and is_distinguishable(row, name)
    ]


def adjust_by_holm(values: Sequence[float]) -> list[float]:
    """Return the p-values, each adjusted for the number of all (Holm 1979)."""
    adjusted, highest = [1.0] * len(values), 0.0
    for rank, place in enumerate(sorted(range(len(values)), key=values.__getitem__)):
        highest = max(highest, min(1.0, (len(values) - rank) * values[place]))
        adjusted[place] = highest
    return adjusted


def find_p_value(row: Row, name: str = "difference") -> float:
    """Return the two-sided p-value of a difference with an interval: the row's own, or that of the interval.

    That of the interval is below 0.05 exactly if the interval does not contain 0. Farther out it is
    approximate: the distance to the limit next to 0 is taken for the t quantile times the standard error
    (Altman and Bland 2011).
    """
    from scipy.stats import t

    value: float | None = row.get(f"{name.removesuffix('difference')}p_value")
    if value is not None:
        return value
    difference = row[name]
    limit = row[f"{name}_ci_low" if difference > 0 else f"{name}_ci_high"]
    if difference in (0, limit):
        return 1.0
    freedom = max((row.get("n_effective") or 1000.0) - 1, 1.0)
    quantiles = abs(difference / (difference - limit))
    return float(2 * t.sf(quantiles * t.ppf(1 - LEVEL / 2, freedom), freedom))


def order_certainly(shares: Mapping[str, Share]) -> list[tuple[str, str, float]]:
    """Return (lower, higher, difference) for every two shares whose order is certain, the largest first.

    The shares are of the same model, and it is not known how their errors are correlated. The interval of a
    difference is therefore the widest that any correlation allows: it excludes 0 only where those of both
    shares do not overlap.
    """
    rows = [
        {
            "names": (one, other),
            "difference": shares[one][0] - shares[other][0],
            "difference_ci_low": shares[one][1] - shares[other][2],
            "difference_ci_high": shares[one][2] - shares[other][1],
        }
        for one, other in combinations(shares, 2)
    ]
    ordered = [
        (*sorted(row["names"], key=lambda name: shares[name][0]), abs(row["difference"]))
        for row in select_certain(rows)
    ]
    return sorted(ordered, key=lambda pair: (-pair[2], pair))
