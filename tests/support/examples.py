"""How many examples a property test tries: a fifth of them in `make test`, and all in `make test-all`."""

from hypothesis import settings

PROFILES = {"suite": 20, "all": 100}
"""Profile of hypothesis -> examples of a test that names no number; `make test-all` chooses `all`."""


def count_examples(n_in_all: int) -> int:
    """Return how many of these examples the chosen profile tries."""
    return max(3, n_in_all * settings().max_examples // PROFILES["all"])
