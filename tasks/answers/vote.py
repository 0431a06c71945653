"""Self-consistency: the majority of the answers of a question's repeats (MultifacetEval, section 4.1)."""

from collections import Counter
from collections.abc import Sequence

from tasks.answers.reading import NOTHING, Reading


def vote(readings: Sequence[Reading]) -> Reading:
    """Return the reading with the most frequent answer; the earliest one if several are as frequent.

    A repeat without an answer has no vote. Without any answer, the most frequent fragment comes back.

    Args:
        readings: the readings of the repeats of one question, in the order of the repeats.
    """
    return next(iter(list_winners(readings)), NOTHING)


def list_winners(readings: Sequence[Reading]) -> list[Reading]:
    """Return the first reading of each of the most frequent answers, or else of the most frequent fragments.

    Several come back if there is a tie, in the order in which they were given; none if nothing was read.
    """
    for key in ("answer", "fragment"):
        firsts: dict[str, Reading] = {}
        for reading in readings:
            firsts.setdefault(getattr(reading, key), reading)
        counts = Counter(value for reading in readings if (value := getattr(reading, key)) is not None)
        if counts:
            return [firsts[value] for value, n in counts.items() if n == max(counts.values())]
    return []
