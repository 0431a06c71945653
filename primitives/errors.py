"""Errors that a user can fix. Their messages say where the problem is, what it is, and what to do."""

from collections.abc import Sequence


class InputError(ValueError):
    """The input cannot be used: a configuration, a knowledge base, a prototype pool or a model."""


N_PROBLEMS_SHOWN = 20


def join_problems(problems: Sequence[str]) -> str:
    """Return one message with the first problems, and the number of the others."""
    n_more = len(problems) - N_PROBLEMS_SHOWN
    rest = [f"and {n_more:,} more"] if n_more > 0 else []
    return "; ".join([*problems[:N_PROBLEMS_SHOWN], *rest])
