"""A rewording, and the reasons for which the gate rejects one."""

from dataclasses import dataclass

# In the order of the checks. The caller adds "collision" itself, from the result of `find_collisions`.
REASONS: tuple[str, ...] = (
    "no text",
    "unchanged",
    "not one statement",
    "head lost",
    "tail lost",
    "other entity",
    "contradiction",
    "polarity",
    "modality",
    "roles",
    "predicate",
    "addition",
    "new words",
    "collision",
)


@dataclass(frozen=True)
class Rewording:
    """A statement, the text that should mean the same, and the two names that the statement contains."""

    statement: str
    text: str
    head: str
    tail: str
    head_aliases: tuple[str, ...] = ()
    """Other names of the head that the text may use instead."""
    tail_aliases: tuple[str, ...] = ()
