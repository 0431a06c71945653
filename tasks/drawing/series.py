"""Draws that repeat as late as possible over a series of editions, such as those of a weekly schedule.

Everything is computed from the base, the seed of the series and the number of the edition, so that an edition
is the same on every machine, whichever editions were built before it. The true tails of a head take turns. A
tail of a head is a negative preferably in one of NEGATIVE_TURNS successive editions. A template takes another
wording whenever its triplet comes back.
"""

from dataclasses import dataclass, replace
from itertools import count
from math import gcd

NEGATIVE_TURNS = 8
"""Number of successive editions that share the possible negatives. With more, too few are left to balance
them: the guesser that compares letters reached 58 % on one of three relations of the starter base with 8."""


@dataclass(frozen=True)
class SeriesTurn:
    """The place of an edition in its series."""

    seed: int
    """The seed that all editions of the series share."""
    number: int
    """Successive editions have successive numbers."""

    def slow_down(self, n_tested: int, n_heads: int) -> "SeriesTurn":
        """Return the turn of heads of which each edition tests only some, so that they come back later."""
        return replace(self, number=self.number * n_tested // n_heads)

    def shift_wording(self, n_turns: int, n_wordings: int) -> int:
        """Return how many wordings after its own first one a variant has now.

        Successive editions have successive wordings, in case the triplet comes back out of turn. The editions
        in which it is due use every wording before one comes back, because the steps between them and the
        number of wordings have no common divisor.

        Args:
            n_turns: the triplet is due in one of so many editions.
        """
        skipped = next(step for step in count() if gcd(n_turns + step, n_wordings) == 1)
        return self.number + self.number // n_turns * skipped
