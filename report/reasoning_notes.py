"""What a reader must know about models that were still thinking when their tokens were used up."""

from collections.abc import Iterable, Mapping
from typing import Any


def note_unfinished(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each model and method of a leaderboard with thoughts that did not end."""
    found = [row for row in rows if row["unfinished_reasoning_rate"]]
    return list(dict.fromkeys(map(_note, found)))


def _note(row: Mapping[str, Any]) -> str:
    return (
        f"{row['model']} ({row['method']}): in {100 * row['unfinished_reasoning_rate']:.1f} % of the replies "
        "the thought did not end, so they have no answer. Raise max_tokens of the model."
    )
