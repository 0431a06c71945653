"""What a source has and the base lacks: the first parts of each reason are listed, and all are counted."""

import re
from collections import Counter
from collections.abc import Iterable
from dataclasses import dataclass

# Prefect visits every item of a task's parameters: a list of 1.7 million repeated rows cost ten minutes and
# gigabytes. A list of this length costs 0.1 s per task, and no known knowledge base leaves out as much.
MAX_LISTED = 10_000
"""How many parts of one reason are listed."""


@dataclass(frozen=True)
class LeftOut:
    """A part of the source that is not in the base, and the reason. The edition's manifest lists these."""

    where: str
    what: str
    reason: str

    @property
    def kind(self) -> str:
        """The reason without the numbers of rows that it may name."""
        return re.sub(r"\d+", "N", self.reason)


def cap_left_out(items: Iterable[LeftOut]) -> tuple[tuple[LeftOut, ...], dict[str, int]]:
    """Return the first items of each kind of reason, and kind -> the number of its further items."""
    listed, counts = [], Counter[str]()
    for item in items:
        counts[item.kind] += 1
        if counts[item.kind] <= MAX_LISTED:
            listed.append(item)
    return tuple(listed), {kind: n - MAX_LISTED for kind, n in counts.items() if n > MAX_LISTED}
