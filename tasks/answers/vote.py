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
    for key in ("answer", "fragment"):
        values = [value for reading in readings if (value := getattr(reading, key)) is not None]
        if values:
            # A Counter keeps the order of first occurrence among equals.
            winner = Counter(values).most_common(1)[0][0]
            return next(reading for reading in readings if getattr(reading, key) == winner)
    return NOTHING
