"""The cells of the page as text, built from rows of the views."""

from report.formats import format_interval, format_percent, format_points, format_span
from tests.support.stage_rows import Row

SETTING = "edition_id = 'tiny-seed1-00000001' and scoring_policy = 'strict'"


def share(row: Row, name: str, low: str, high: str) -> str:
    """Return the text of a cell with a share and its interval."""
    interval = format_interval(row[low], row[high])
    return format_percent(row[name]) + (f"\n{interval}" if interval else "")


def change(row: Row, name: str) -> str:
    """Return the text of a cell with a difference and its interval."""
    span = format_span(row[f"{name}_ci_low"], row[f"{name}_ci_high"])
    return format_points(row[name]) + (f"\n{span}" if span else "")
