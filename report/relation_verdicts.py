"""Verdicts on the difference of two models per relation, corrected for their number (Holm 1979)."""

from collections.abc import Sequence

from report.contents import Row
from report.model_difference import Verdict, judge

LEVEL = 0.05


def judge_relations(rows: Sequence[Row]) -> list[tuple[Verdict, float]]:
    """Return the verdict on each relation, and its adjusted p-value.

    The chance that any relation gets a verdict although the models are equal in all of them is at most 5 %. A
    verdict is therefore harder to get than from the interval of the relation alone.
    """
    values = [estimate_p_value(row) for row in rows]
    adjusted, highest = dict.fromkeys(range(len(rows)), 1.0), 0.0
    for rank, place in enumerate(sorted(adjusted, key=lambda place: values[place])):
        highest = max(highest, min(1.0, (len(rows) - rank) * values[place]))
        adjusted[place] = highest
    return [
        (judge(row) if adjusted[place] < LEVEL else "not distinguishable", adjusted[place])
        for place, row in enumerate(rows)
    ]


def estimate_p_value(row: Row) -> float:
    """Return the two-sided p-value that belongs to the 95 % interval of a difference.

    It is below 0.05 exactly if the interval does not contain 0. Farther out it is approximate: the distance
    to the limit next to 0 is taken for the t quantile times the standard error (Altman and Bland 2011).
    """
    from scipy.stats import t

    difference = row["difference"]
    limit = row["difference_ci_low"] if difference > 0 else row["difference_ci_high"]
    if difference == 0 or limit == difference:
        return 1.0
    freedom = max(row["n_effective"] - 1, 1.0)
    quantiles = abs(difference) / abs(difference - limit)
    return float(2 * t.sf(quantiles * t.ppf(1 - LEVEL / 2, freedom), freedom))
