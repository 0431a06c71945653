"""Remove a thought between marks from a response (method, section 3).

This module imports only the standard library, because the tasks for other tools (`commands/exports/`)
contain a copy of it.
"""

from dataclasses import dataclass


@dataclass(frozen=True)
class ReasoningMarks:
    """The texts that open and close a thought in a response."""

    opening: str = "<think>"
    """Empty if the chat template opens the thought of every response."""
    closing: str = "</think>"
    """Empty if nothing in a response is a mark."""


THINK_MARKS = ReasoningMarks()
NO_MARKS = ReasoningMarks("", "")


def remove_reasoning(response: str, marks: ReasoningMarks = THINK_MARKS) -> str | None:
    """Return what follows the last thought, or None if the last thought does not end.

    A response without marks is returned unchanged, unless the chat template opens every thought.
    """
    if not marks.closing:
        return response
    _, closing, answer = response.rpartition(marks.closing)
    if marks.opening:
        return None if marks.opening in answer else answer
    return answer if closing else None
