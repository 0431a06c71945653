"""Render a case study for the console: one fact, and what two models reply to all of its texts.

It corresponds to figure 6 of PretexEval. One of the models masters the fact; the other one judges the plain
statement right and others wrong.
"""

from typing import Any

from report.console import align
from report.formats import shorten
from report.paper_tables import METHODS, Query
from schemas.transformations import NAMES

SHOWN = ("pretexeval", "llmeval")
"""The methods whose texts the paper shows."""
REPLY_CHARACTERS = 40


def render_case_study(query: Query, edition_id: str) -> str:
    """Return the texts of a fact and of its false twin, with the replies of two models; empty without a case.

    The case is that in which the second model is wrong most often, the first one by pair and by model. Wrong
    replies are marked.

    Args:
        query: runs SQL on the warehouse and returns columns and rows.
    """
    found = query(
        "select pair_id, one.relation, one.model_id, one.model, other.model_id, other.model "
        "from pair_scores as one "
        "inner join pair_scores as other using (edition_id, method, scoring_policy, repeat, pair_id) "
        f"where edition_id = '{edition_id}' and method = 'pretexeval' and scoring_policy = 'strict' "
        "and repeat = 0 and one.is_complete and one.is_mastered and other.is_complete "
        "and (other.correct_bits & 1) = 1 and not other.is_mastered "
        "order by other.n_correct, pair_id, one.model, one.model_id, other.model, other.model_id limit 1"
    )[1]
    if not found:
        return ""
    ((pair_id, relation, one_id, one, other_id, other),) = found
    rows = query(
        "select method, is_positive, transformation, sample_id, text, label, model_id, response, error, "
        f"is_correct from prediction_details where edition_id = '{edition_id}' and pair_id = '{pair_id}' "
        f"and model_id in ('{one_id}', '{other_id}') and scoring_policy = 'strict' and repeat = 0 "
        f"and method in {SHOWN} order by sample_id, model_id"
    )[1]
    columns = ["method", "form", "text", "right answer", one, other]
    title = f"Case study: a fact of {relation} that {one} masters, and {other} does not (✗: wrong)"
    return f"{title}\n{align(columns, _build_lines(rows, (one_id, other_id)))}"


def _build_lines(rows: list[tuple[Any, ...]], model_ids: tuple[str, str]) -> list[list[str]]:
    """Return a line per text: those of the true triplet first, in the order of the transformations."""
    texts: dict[tuple[Any, ...], dict[str, str]] = {}
    for method, is_positive, name, sample_id, text, label, model_id, response, error, is_correct in rows:
        place = (METHODS[::-1].index(method), not is_positive, NAMES.index(name) if name else 0, sample_id)
        key = (place, method, name or "-", text, str(label).lower())
        texts.setdefault(key, {})[model_id] = _format_reply(response, error, is_correct)
    return [
        [*map(str, key[1:]), *(replies.get(model_id, "-") for model_id in model_ids)]
        for key, replies in sorted(texts.items(), key=lambda item: item[0][0])
    ]


def _format_reply(response: str | None, error: str | None, is_correct: bool | None) -> str:
    if response is None:
        return f"failed: {shorten(error or '', REPLY_CHARACTERS)}"
    mark = " ✗" if is_correct is False else ""
    return shorten(" ".join(response.split()) or "(empty)", REPLY_CHARACTERS) + mark
