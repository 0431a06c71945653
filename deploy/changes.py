"""What a registration did to each thing on the server, for the person who ran it."""

from dataclasses import dataclass
from typing import Literal

Kind = Literal["created", "changed", "unchanged", "left"]


@dataclass(frozen=True)
class Change:
    """One thing on the server, and what the registration did to it."""

    kind: Kind
    """`left`: it differs from what was asked for, and was not touched."""
    what: str
    note: str = ""

    def render(self) -> str:
        """Return a line such as `created    pool pretexeval-gpu (process, 1 at once)`."""
        return f"{self.kind:<10} {self.what}" + (f" ({self.note})" if self.note else "")
