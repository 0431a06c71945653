"""Rows of dots with their intervals, each with its name above the line."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import CHARACTER, SIDE, TEXT, as_is, as_percent, as_pixels, chart_of, frame_chart
from report.formats import format_percent, shorten
from report.palette import INK, MUTED
from report.shares import DotRow
from report.svg import render_svg

ROW = 36
SHAPES = ("circle", "diamond")
_CHANCE: dict[str, Any] = {
    "stroke": MUTED,
    "strokeDash": [3, 3],
    "strokeWidth": 1.2,
    "aria": False,
}


def draw_dots(title: str, rows: Sequence[DotRow], width: int) -> Markup:
    """A line per row, from 0 to 100 %: a dot for its first share, a diamond for its second."""
    inner, height = width - 2 * SIDE, ROW * len(rows)
    names = [_place_name(row, k * ROW, inner) for k, row in enumerate(rows)]
    dots = [dot for k, row in enumerate(rows) for dot in _place_dots(row, k * ROW)]
    x = as_percent("value", alt.X, "top")
    chart = alt.layer(
        chart_of([{"value": 0.5}]).mark_rule(**_CHANCE).encode(x=x),
        *_write_names(names, inner, as_pixels(height)),
        _draw_intervals(dots, as_pixels(height)),
        _draw_points(dots, x, as_pixels(height)),
    )
    words = f"{title}. {'; '.join(row.text for row in rows)}."
    return render_svg(frame_chart(chart, inner, height, top=22, bottom=4), words)


def _place_name(row: DotRow, top: float, inner: float) -> dict[str, Any]:
    values = "\u2003".join(format_percent(share.value, 0) for share in row.shares)
    n_chars = int(inner / CHARACTER) - len(values) - 3
    return {"y": top + 13, "name": shorten(row.name, n_chars), "values": values}


def _place_dots(row: DotRow, top: float) -> list[dict[str, Any]]:
    spread = 3.5 if len(row.shares) > 1 else 0
    return [
        {
            "y": top + 25 + (2 * k - 1) * spread,
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "colour": row.colour,
            "shape": SHAPES[k],
            "text": f"{row.name}: {share.text}",
        }
        for k, share in enumerate(row.shares)
        if share.value is not None
    ]


def _write_names(names: list[dict[str, Any]], inner: float, y: alt.Y) -> list[alt.Chart]:
    """The name at the left end, the values at the right end."""
    base = chart_of(names)
    return [
        base.mark_text(align="left", fill=INK, **TEXT).encode(x=alt.value(0), y=y, text="name:N"),
        base.mark_text(align="right", fill=MUTED, **TEXT).encode(
            x=alt.value(inner), y=y, text="values:N"
        ),
    ]


def _draw_intervals(dots: list[dict[str, Any]], y: alt.Y) -> alt.Chart:
    mark = chart_of(dots).mark_rule(strokeWidth=5, strokeCap="round", opacity=0.32, aria=False)
    low = as_percent("low", alt.X, "top")
    return mark.encode(x=low, x2="high:Q", y=y, stroke=as_is("colour", alt.Stroke))


def _draw_points(dots: list[dict[str, Any]], x: alt.X, y: alt.Y) -> alt.Chart:
    return (
        chart_of(dots)
        .mark_point(size=58, opacity=1, strokeWidth=0)
        .encode(
            x=x,
            y=y,
            fill=as_is("colour", alt.Fill),
            shape=as_is("shape", alt.Shape),
            description="text:N",
        )
    )
