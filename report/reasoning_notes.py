"""What a reader must know about models that were still thinking when their tokens were used up."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from report.facet_scores import FacetScores


def note_unfinished(rows: Iterable[Mapping[str, Any]]) -> list[str]:
    """Return a sentence for each model and method of a leaderboard with thoughts that did not end."""
    found = [row for row in rows if row["unfinished_reasoning_rate"]]
    return list(dict.fromkeys(map(_note, found)))


def _note(row: Mapping[str, Any]) -> str:
    return (
        f"{row['model']} ({row['method']}): in {100 * row['unfinished_reasoning_rate']:.1f} % of the replies "
        "the thought did not end, so they have no answer. Raise max_tokens of the model."
    )


def note_unfinished_questions(scores: Iterable[FacetScores]) -> list[str]:
    """Return a sentence for each model and setting with facets in which thoughts did not end."""
    return list(dict.fromkeys(note for score in scores for note in _list_notes(score)))


def _list_notes(score: FacetScores) -> Iterator[str]:
    shares = {facet: row["unfinished_reasoning_rate"] for facet, row in score.facets.items()}
    found = [f"{100 * share:.1f} % of {facet}" for facet, share in shares.items() if share]
    if found:
        table = "questions" if score.setting == "answer_only" else score.setting
        yield (
            f"{score.model} ({score.setting}): the thought did not end in {', '.join(found)}, so these "
            f"questions have no answer. Raise max_tokens of [{table}]."
        )
