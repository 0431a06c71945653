"""What a run made of every item, one character per item: a page can count and select without texts."""

from dataclasses import dataclass
from typing import Any

import numpy as np

Array = np.ndarray[Any, Any]
# The code of an item in a run is the sum of graded 1, correct 2, unanswered 4, failed 8 and unfinished 16,
# written in base 32. An item that the model was not asked has a code of its own.
STATES = ("graded", "correct", "unanswered", "failed", "unfinished")
NOT_ASKED = 32
_ALPHABET = np.frombuffer(b"0123456789abcdefghijklmnopqrstuv-", dtype=np.uint8)
N_SLOTS = 64


@dataclass(frozen=True)
class ItemPlaces:
    """Where the items of every group are: parallel arrays of all items, ordered by group and place."""

    n_groups: int
    position: Array
    """The number of the item's group."""
    slot: Array
    """The item's bit in the bit sets of its group."""
    form: Array
    """The number of the item's form."""

    def list_forms(self) -> list[str]:
        """Return the forms of each group's items, one letter per item, from `a` on."""
        return self._cut((self.form + ord("a")).astype(np.uint8))

    def encode(self, bits: dict[str, Array]) -> list[str]:
        """Return the codes of each group's items in a run, one character per item.

        Args:
            bits: `position` and, for every state and for `asked`, the bit sets of the groups.
        """
        slots = np.arange(N_SLOTS, dtype=np.uint64)

        def spread(name: str) -> Array:
            return (bits[f"{name}_bits"].astype(np.uint64)[:, None] >> slots & np.uint64(1)).astype(np.uint8)

        codes = np.full((self.n_groups, N_SLOTS), NOT_ASKED, dtype=np.uint8)
        asked = sum(spread(state) << k for k, state in enumerate(STATES))
        codes[bits["position"]] = np.where(spread("asked"), asked, NOT_ASKED)
        return self._cut(_ALPHABET[codes[self.position, self.slot]])

    def _cut(self, characters: Array) -> list[str]:
        """Return the characters of each group."""
        ends = np.cumsum(np.bincount(self.position, minlength=self.n_groups)).tolist()
        text = characters.tobytes().decode("ascii")
        return [text[start:end] for start, end in zip([0, *ends], ends, strict=False)]
