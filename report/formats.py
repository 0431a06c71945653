"""How numbers and names are written on the page."""

NOTHING = "–"
_NARROW = "\u202f"
_NO_BREAK = "\u00a0"
BASELINES = {
    "always_true": "always True",
    "polarity": "polarity alone",
    "tail_frequency": "tail frequency",
    "word_overlap": "word overlap",
}


def format_percent(share: float | None, digits: int = 1) -> str:
    """0.648 -> 64.8 %."""
    return NOTHING if share is None else f"{100 * share:.{digits}f}{_NO_BREAK}%"


def format_points(difference: float | None) -> str:
    """0.148 -> +14.8, in percentage points."""
    if difference is None:
        return NOTHING
    text = f"{100 * difference:+.1f}"
    return "0.0" if text in ("+0.0", "-0.0") else text.replace("-", "−")


def format_interval(low: float | None, high: float | None) -> str:
    """0.621, 0.674 -> 62.1–67.4; empty where there is none."""
    return "" if low is None or high is None else f"{100 * low:.1f}–{100 * high:.1f}"


def format_count(n: int | None) -> str:
    """12345 -> 12 345."""
    return NOTHING if n is None else f"{n:,}".replace(",", _NARROW)


def format_words(identifier: str) -> str:
    """may_treat -> may treat."""
    return identifier.replace("_", " ")


def format_list(names: list[str] | None) -> str:
    """The names with commas between them; a dash for none."""
    return ", ".join(names) if names else NOTHING


def shorten(text: str, n_chars: int) -> str:
    """The text, cut to so many characters with an ellipsis."""
    return text if len(text) <= n_chars else text[: n_chars - 1].rstrip() + "…"


FILTERS = {
    "percent": format_percent,
    "points": format_points,
    "interval": format_interval,
    "count": format_count,
    "words": format_words,
    "names": format_list,
}
