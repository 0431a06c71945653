"""How many pairs of every relation to ask, so that the mean over the relations has the narrowest interval.

The optimum is Neyman's (1934): in proportion to the spread within the relation. The whole numbers are those
of Wright (2012, The American Statistician 66): each further pair goes to the relation whose part of the
variance falls most.
"""

import heapq
from collections.abc import Sequence

PRIOR_PAIRS = 4
"""How many pairs the variance over all relations counts as, in the variance of one of them."""


def allocate_pairs(
    sizes: Sequence[int], asked: Sequence[int], variances: Sequence[float], n_more: int
) -> list[int]:
    """Return the pairs to have asked of each relation after `n_more` further ones; ties go to the first.

    Args:
        sizes: the pairs that there are of each relation; none is asked beyond them.
        asked: the pairs that have been asked of it.
        variances: between the pairs of the relation.
    """
    counts = list(asked)
    waiting = [(_price(variances[k], n), k) for k, n in enumerate(counts) if n < sizes[k]]
    heapq.heapify(waiting)
    for _ in range(n_more):
        if not waiting:
            break
        _, chosen = heapq.heappop(waiting)
        counts[chosen] += 1
        if counts[chosen] < sizes[chosen]:
            heapq.heappush(waiting, (_price(variances[chosen], counts[chosen]), chosen))
    return counts


def _price(variance: float, n: int) -> float:
    """Return minus the fall of variance / n by one further pair; a relation without pairs comes first."""
    return -variance / (n * (n + 1)) if n else float("-inf")


def shrink_variances(counts: Sequence[int], squares: Sequence[float]) -> list[float]:
    """Return the variance of each relation, drawn towards that of all of them.

    A relation whose first pairs are all right would otherwise have no variance and never be asked again.

    Args:
        counts: the pairs that have been asked of each relation.
        squares: the sum of their squared deviations from the mean of their relation.
    """
    freedom = [max(n - 1, 0) for n in counts]
    common = sum(squares) / max(sum(freedom), 1)
    return [
        (own + PRIOR_PAIRS * common) / (df + PRIOR_PAIRS) for own, df in zip(squares, freedom, strict=True)
    ]
