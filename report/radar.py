"""Draw a radar of shares: one axis per facet from the middle outwards, one polygon per line."""

import math
from collections.abc import Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import FONT, SIDE, build_chart, encode_as_is, encode_link, frame_chart
from report.drawings import PANEL
from report.palette import INK, LINE, MUTED
from report.shares import Curve
from report.svg import render_svg

# With its corners at the top and at the bottom, four axes leave most room for their names.
_TURN = -math.pi / 4
# How far the drawing reaches from the middle; the rim, 100 %, is at 1.
_REACH = 0.84
_RINGS = (0.25, 0.5, 0.75, 1.0)
INNER = PANEL - 2 * SIDE


def draw_radar(title: str, axes: Sequence[str], polygons: Sequence[Curve]) -> Markup:
    """Return a radar with one polygon per curve.

    Args:
        axes: their names, clockwise from the top left; share k of a polygon lies on axis k.
    """
    n = len(axes)
    corners = [
        {"name": polygon.name, "colour": polygon.colour, "dash": list(polygon.dash), "order": k}
        | _place(share.value or 0.0, k % n, n)
        | {"text": f"{polygon.name}: {axes[k % n]}, {share.text}"}
        | share.as_link
        for polygon in polygons
        for k, share in enumerate([*polygon.shares, polygon.shares[0]])
    ]
    rings = [
        {"name": str(ring), "order": k} | _place(ring, k % n, n) for ring in _RINGS for k in range(n + 1)
    ]
    spokes = [{"name": str(k), "order": end} | _place(end, k, n) for k in range(n) for end in (0, 1)]
    chart = alt.layer(
        _draw_lines(rings).encode(stroke=alt.StrokeValue(LINE)),
        _draw_lines(spokes).encode(stroke=alt.StrokeValue(LINE)),
        _draw_marks(),
        *_draw_names(axes),
        _draw_lines(corners, 2).encode(
            stroke=encode_as_is("colour", alt.Stroke), strokeDash=encode_as_is("dash", alt.StrokeDash)
        ),
        build_chart(corners)
        .mark_point(shape="circle", size=34, opacity=1, strokeWidth=0)
        .encode(
            **_at(),
            fill=encode_as_is("colour", alt.Fill),
            description=alt.Description("text:N"),
            **encode_link(corners),
        ),
    )
    frame = frame_chart(chart, INNER, INNER, top=4, bottom=4)
    texts = [
        f"{polygon.name}: "
        + ", ".join(f"{axis} {share.text}" for axis, share in zip(axes, polygon.shares, strict=True))
        for polygon in polygons
    ]
    return render_svg(frame, f"{title}. {'; '.join(texts)}.")


def _place(share: float, k: int, n: int) -> dict[str, float]:
    """Return the position of a share on the k-th of n axes."""
    angle = 2 * math.pi * k / n + _TURN
    return {"x": round(share * math.sin(angle), 6), "y": round(share * math.cos(angle), 6)}


def _draw_names(names: Sequence[str]) -> list[alt.Chart]:
    """Return the names of the axes, above the corners at the top and below those at the bottom."""
    charts = []
    for k, name in enumerate(names):
        place = _place(1, k, len(names))
        chart = build_chart([place | {"text": name}]).mark_text(
            align="left" if place["x"] < 0 else "right",
            baseline="middle",
            dy=-11 if place["y"] > 0 else 11,
            fill=INK,
            fontSize=FONT,
            aria=False,
        )
        charts.append(chart.encode(**_at(), text=alt.Text("text:N")))
    return charts


def _draw_marks() -> alt.Chart:
    """Return the shares of the rings, on the line upwards from the middle."""
    marks = [{"x": 0.0, "y": ring * math.cos(_TURN), "text": f"{100 * ring:.0f}"} for ring in _RINGS]
    chart = build_chart(marks).mark_text(baseline="middle", fill=MUTED, fontSize=FONT - 2, aria=False)
    return chart.encode(**_at(), text=alt.Text("text:N"))


def _draw_lines(points: list[dict[str, Any]], width: float = 1) -> alt.Chart:
    line = build_chart(points).mark_line(strokeWidth=width, aria=False)
    return line.encode(**_at(), detail=alt.Detail("name:N"), order=alt.Order("order:Q"))


def _at() -> dict[str, Any]:
    """Return the channels of a position around the middle, without axes."""
    return {
        name: channel(f"{name}:Q", scale=alt.Scale(domain=[-_REACH, _REACH], nice=False), axis=None)
        for name, channel in (("x", alt.X), ("y", alt.Y))
    }
