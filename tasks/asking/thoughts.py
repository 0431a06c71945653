"""Remove the thought from a reply (method, section 3)."""

from collections.abc import Sequence

from pretexeval.engines.thoughts import split_reply

THINK_MARKS = None
"""Default of the marks of thoughts: those of all known families of models."""


def remove_reasoning(response: str, marks: Sequence[str] | None = THINK_MARKS) -> str | None:
    """Return the answer of a reply, or None if its last thought does not end."""
    return split_reply(response, marks).answer
