"""An exact linear program that balanced pairs are compared with: the largest number of heads to keep."""

from collections.abc import Collection, Mapping

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

Tails = Collection[str]


def count_keepable(heads: Mapping[str, tuple[Tails, Tails]]) -> int:
    """Return the largest number of heads that can be kept so that every tail is as often true as false.

    This is a flow problem: each head sends at most one unit from a true tail to a tail that may be false, and
    the flow into a tail equals the flow out of it. The constraints are those of a network, so the optimum is
    a whole number.

    Args:
        heads: head -> its true tails, and the tails that may be false of it.
    """
    pool = sorted({tail for pair in heads.values() for tails in pair for tail in tails})
    n_tails, n_heads = len(pool), len(heads)
    row_of = {tail: row for row, tail in enumerate(pool)}
    arcs = [
        (row_of[tail], n_tails + i, sign)
        for i, pair in enumerate(heads.values())
        for tails, sign in zip(pair, (1, -1), strict=True)
        for tail in tails
    ]
    tails, ends, signs = (np.array(column) for column in zip(*arcs, strict=True))
    columns = np.arange(len(arcs))
    balance = coo_array(
        (np.tile(signs, 2), (np.concatenate([tails, ends]), np.tile(columns, 2))),
        shape=(n_tails + n_heads, len(arcs)),
    ).tocsr()
    is_positive = signs == 1
    once = coo_array(
        (np.ones(is_positive.sum()), (ends[is_positive] - n_tails, columns[is_positive])),
        shape=(n_heads, len(arcs)),
    ).tocsr()
    found = linprog(
        -is_positive.astype(float),
        A_ub=once,
        b_ub=np.ones(n_heads),
        A_eq=balance,
        b_eq=np.zeros(n_tails + n_heads),
        bounds=(0, 1),
        method="highs",
    )
    assert found.status == 0, found.message
    return round(-float(found.fun))
