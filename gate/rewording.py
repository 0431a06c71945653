"""A rewording and the reasons for which the gate turns one away."""

from dataclasses import dataclass

# In the order in which they are looked for; "collision" is the caller's, from `find_collisions`.
REASONS: tuple[str, ...] = (
    "no text",
    "not one statement",
    "head lost",
    "tail lost",
    "other entity",
    "polarity",
    "modality",
    "roles",
    "predicate",
    "collision",
)


@dataclass(frozen=True)
class Rewording:
    """A statement, the text that should say the same, and the two names that the statement holds."""

    statement: str
    text: str
    head: str
    tail: str
