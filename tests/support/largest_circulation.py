"""An exact linear program that the circulation is compared with: the largest number of heads to keep."""

import numpy as np
from scipy.optimize import linprog
from scipy.sparse import coo_array

from tasks.drawing.candidates import Candidates


def count_keepable(candidates: Candidates) -> int:
    """Return the largest number of heads that can be kept with as many arrows into every tail as out of it.

    This is a flow problem: each head sends at most one unit from a true tail to a tail that is not excluded,
    and the flow into a tail equals the flow out of it. The constraints are those of a network, so the optimum
    is a whole number.
    """
    n_tails, n_heads = len(candidates.pool), len(candidates.heads)
    row_of = {tail: row for row, tail in enumerate(candidates.pool)}
    arcs = [
        (row_of[tail], n_tails + i, sign)
        for i, head in enumerate(candidates.heads)
        for tails, sign in (
            (head.tails, 1),
            ([t for t in candidates.pool if t not in head.excluded], -1),
        )
        for tail in tails
    ]
    tails, heads, signs = (np.array(column) for column in zip(*arcs, strict=True))
    columns = np.arange(len(arcs))
    balance = coo_array(
        (np.tile(signs, 2), (np.concatenate([tails, heads]), np.tile(columns, 2))),
        shape=(n_tails + n_heads, len(arcs)),
    ).tocsr()
    is_positive = signs == 1
    once = coo_array(
        (np.ones(is_positive.sum()), (heads[is_positive] - n_tails, columns[is_positive])),
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
