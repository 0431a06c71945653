"""Format numbers and names for the page."""

from collections.abc import Callable, Mapping, Sequence
from datetime import datetime
from functools import partial
from typing import Any

from schemas.transformations import TRANSFORMATIONS

NOTHING = "–"
_NARROW = "\u202f"
_NO_BREAK = "\u00a0"


def format_percent(share: float | None, digits: int = 1) -> str:
    """Format a share: 0.648 -> 64.8 %."""
    return NOTHING if share is None else f"{100 * share:.{digits}f}{_NO_BREAK}%"


def format_rank(row: dict[str, Any]) -> str:
    """Format the rank of a model, or the ranks that it may have where others cannot be told apart: 1–3."""
    low, high = row.get("rank_low"), row.get("rank_high")
    return f"{row['rank']}" if None in (low, high) else f"{low}" if low == high else f"{low}–{high}"


def format_points(difference: float | None, digits: int = 1) -> str:
    """Format a difference in percentage points: 0.148 -> +14.8."""
    if difference is None:
        return NOTHING
    text = f"{100 * difference:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def format_span(low: float | None, high: float | None) -> str:
    """Format the interval of a difference: -0.012, 0.094 -> −1.2 to +9.4; empty if it is missing."""
    return "" if low is None or high is None else f"{format_points(low)} to {format_points(high)}"


def format_interval_text(row: dict[str, Any], name: str = "difference") -> str:
    """Format the interval of a difference of the row in words, for the title of a cell."""
    span = format_span(row[f"{name}_ci_low"], row[f"{name}_ci_high"])
    return f"95 % interval {span}" if span else "too few facts for an interval"


def format_decimal(value: float | None, digits: int = 2) -> str:
    """Format a number with fixed decimals: 0.8731 -> 0.87."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", "−")


def format_magnitude(difference: float | None) -> str:
    """Format the size of a difference in percentage points, without its sign: 0.148 -> 14.8."""
    return NOTHING if difference is None else f"{100 * abs(difference):.1f}"


def format_whole(share: float | None) -> str:
    """Format a share as a number of percent without its sign: 0.648 -> 65."""
    return NOTHING if share is None else str(round(100 * share))


def format_range(value: float, low: float | None, high: float | None, reach: float | None = None) -> str:
    """Return the style of a bar with its interval: places from 0 to 1 on a scale of shares, or around zero.

    Args:
        reach: the largest difference of the scale; None for shares.
    """

    def place(number: float) -> float:
        return round(number if reach is None else 0.5 + number / (2 * reach), 4)

    start, end = sorted((place(0.0), place(value)))
    limits = (end if value >= 0 else start,) * 2 if low is None or high is None else (place(low), place(high))
    return f"--from:{start};--to:{end};--low:{limits[0]};--high:{limits[1]}"


def format_p(p: float | None) -> str:
    """Format a p value: 0.0234 -> 0.023; smaller values become < 0.001."""
    if p is None:
        return NOTHING
    return f"<{_NO_BREAK}0.001" if p < 0.001 else f"{p:.3f}"


def format_interval(low: float | None, high: float | None) -> str:
    """Format the interval of a share: 0.621, 0.674 -> 62.1–67.4; empty if it is missing."""
    return "" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}"


def format_count(n: int | None) -> str:
    """Format a count: 12345 -> 12 345."""
    return NOTHING if n is None else f"{n:,}".replace(",", _NARROW)


def format_counted(n: int, noun: str) -> str:
    """Format a count with its noun: 1 fact, 12 345 facts."""
    return f"{format_count(n)} {noun}{'' if n == 1 else 's'}"


def format_date(moment: datetime | None) -> str:
    """Format the day of a time in UTC: 2026-11-20."""
    return NOTHING if moment is None else f"{moment:%Y-%m-%d}"


def format_words(identifier: str) -> str:
    """Format an identifier: may_treat -> may treat."""
    return identifier.replace("_", " ")


def format_list(names: list[str] | None) -> str:
    """Join the names with commas; return a dash if there are none."""
    return ", ".join(names) if names else NOTHING


N_NAMED = 5
"""How many models a headline names at most."""


def join_names(names: Sequence[str], limit: int = N_NAMED) -> str:
    """Return the names as a list in a sentence; of more than the limit, only the first ones and a number."""
    shown = list(names)
    if len(shown) > limit:
        shown = [*shown[: limit - 1], f"{len(shown) - limit + 1} more"]
    return shown[0] if len(shown) == 1 else f"{', '.join(shown[:-1])} and {shown[-1]}"


def label_models(names: Mapping[str, str]) -> dict[str, str]:
    """Return model_id -> the name of the model, or its id if several have the name."""
    taken = list(names.values())
    return {i: name if taken.count(name) == 1 else i for i, name in names.items()}


def format_answer(answer: str) -> str:
    """Format the answer to a question: T -> true, A,C -> A, C, F|B -> wrong, B is right."""
    if "|" in answer:
        judgement, letter = answer.split("|")
        return f"{'right' if judgement == 'T' else 'wrong'}, {letter} is right"
    return {"T": "true", "F": "false"}.get(answer, answer.replace(",", ", "))


FACTS = {"pool": "learned", "other": "learned in other wordings", "nothing": "never seen"}
"""The facts that a reference model was taught, by `taught_with`."""
FORMS = {
    t.name: ", ".join(
        word
        for word, is_set in (
            ("inverted", t.is_inverted),
            ("about a patient", t.is_instantiated),
            ("denied", t.is_negated),
        )
        if is_set
    )
    or "plain"
    for t in TRANSFORMATIONS
}
"""Transformation -> what it does to the statement, in words."""
BRIEF_FORMS = {
    t.name: ", ".join(
        word for word, is_set in (("inverted", t.is_inverted), ("denied", t.is_negated)) if is_set
    )
    .join(("", " forms about a patient" if t.is_instantiated else " forms"))
    .strip()
    .capitalize()
    for t in TRANSFORMATIONS
}
"""Transformation -> a name at the beginning of a sentence."""


def format_value(value: object, kind: str) -> str:
    """Format the value of a cell of this kind (report.columns); a dash for a missing one."""
    return NOTHING if value is None else FILTERS[kind](value)


def format_forms(forms: str | Sequence[str]) -> str:
    """Format transformations: one in words, or all eight, or some of them."""
    if isinstance(forms, str):
        return FORMS[forms]
    return "all" if len(forms) == len(FORMS) else "; ".join(FORMS[form] for form in forms)


FILTERS: dict[str, Callable[..., str]] = {
    "text": str,
    "rate": format_percent,
    "rank": format_rank,
    "apply": format_value,
    "forms": format_forms,
    "negated": lambda is_negated: "negated" if is_negated else "affirmed",
    "precise": partial(format_decimal, digits=3),
    "form": FORMS.__getitem__,
    "facts": FACTS.__getitem__,
    "answer": format_answer,
    "percent": format_percent,
    "points": format_points,
    "range": format_range,
    "whole": format_whole,
    "interval": format_interval,
    "span": format_span,
    "interval_text": format_interval_text,
    "magnitude": format_magnitude,
    "decimal": format_decimal,
    "p_value": format_p,
    "count": format_count,
    "counted": format_counted,
    "date": format_date,
    "words": format_words,
    "names": format_list,
}
