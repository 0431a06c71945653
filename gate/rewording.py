"""A rewording, and the reasons for which the gate rejects one."""

from dataclasses import dataclass

# In the order of the checks. The caller adds "collision" itself, from the result of `find_collisions`.
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
    """A statement, the text that should mean the same, and the two names that the statement contains."""

    statement: str
    text: str
    head: str
    tail: str
