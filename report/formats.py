"""Format numbers and names for the page."""

from datetime import datetime

from schemas.transformations import TRANSFORMATIONS

NOTHING = "–"
_NARROW = "\u202f"
_NO_BREAK = "\u00a0"
BASELINES = {
    "always_true": "always True",
    "best": "best of each relation",
    "consistent_coin": "consistent coin",
    "overlap": "name overlap, trained",
    "neighbour": "other facts of the base",
    "polarity": "polarity alone",
    "tail_frequency": "tail frequency",
    "word_overlap": "word overlap",
}


def format_percent(share: float | None, digits: int = 1) -> str:
    """Format a share: 0.648 -> 64.8 %."""
    return NOTHING if share is None else f"{100 * share:.{digits}f}{_NO_BREAK}%"


def format_points(difference: float | None, digits: int = 1) -> str:
    """Format a difference in percentage points: 0.148 -> +14.8."""
    if difference is None:
        return NOTHING
    text = f"{100 * difference:+.{digits}f}"
    return text.replace("-", "−") if float(text) else text[1:]


def format_span(low: float | None, high: float | None) -> str:
    """Format the interval of a difference: -0.012, 0.094 -> −1.2 to +9.4; empty if it is missing."""
    return "" if low is None or high is None else f"{format_points(low)} to {format_points(high)}"


def format_decimal(value: float | None, digits: int = 2) -> str:
    """Format a number with fixed decimals: 0.8731 -> 0.87."""
    return NOTHING if value is None else f"{value:.{digits}f}".replace("-", "−")


def format_magnitude(difference: float | None) -> str:
    """Format the size of a difference in percentage points, without its sign: 0.148 -> 14.8."""
    return NOTHING if difference is None else f"{100 * abs(difference):.1f}"


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


def format_date(moment: datetime | None) -> str:
    """Format the day of a time in UTC: 2026-11-20."""
    return NOTHING if moment is None else f"{moment:%Y-%m-%d}"


def format_words(identifier: str) -> str:
    """Format an identifier: may_treat -> may treat."""
    return identifier.replace("_", " ")


def format_list(names: list[str] | None) -> str:
    """Join the names with commas; return a dash if there are none."""
    return ", ".join(names) if names else NOTHING


def shorten(text: str, n_chars: int) -> str:
    """Return the text, cut to `n_chars` characters with an ellipsis if it is longer."""
    return text if len(text) <= n_chars else text[: n_chars - 1].rstrip() + "…"


def format_answer(answer: str) -> str:
    """Format the answer to a question: T -> true, A,C -> A, C, F|B -> wrong, B is right."""
    if "|" in answer:
        judgement, letter = answer.split("|")
        return f"{'right' if judgement == 'T' else 'wrong'}, {letter} is right"
    return {"T": "true", "F": "false"}.get(answer, answer.replace(",", ", "))


FACTS = {"pool": "learned", "other": "learned in other wordings", "nothing": "never seen"}
"""The facts of `known_mastery`, by `taught_with`."""
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
FILTERS = {
    "form": FORMS.__getitem__,
    "facts": FACTS.__getitem__,
    "answer": format_answer,
    "percent": format_percent,
    "points": format_points,
    "interval": format_interval,
    "span": format_span,
    "magnitude": format_magnitude,
    "decimal": format_decimal,
    "p_value": format_p,
    "count": format_count,
    "date": format_date,
    "words": format_words,
    "names": format_list,
}
