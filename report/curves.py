"""Draw curves over n with their bands, each with its name at its right end."""

import json
from collections.abc import Sequence
from itertools import pairwise
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import (
    AXIS,
    CHARACTER,
    FONT,
    SIDE,
    TEXT,
    build_chart,
    encode_as_is,
    encode_link,
    encode_percent,
    frame_chart,
)
from report.formats import shorten
from report.shares import Curve
from report.svg import render_svg

HEIGHT = 300
LEFT = 50
_N_LABEL = "datum.value == 1 ? 'n = 1' : format(datum.value, 'd')"


def draw_curves(
    title: str, curves: Sequence[Curve], width: int, gutter: int = 0, labels: Sequence[str] | None = None
) -> Markup:
    """Return a line with its band per curve, with names at the right ends if there is a gutter for them.

    Args:
        labels: what stands below n = 1, 2, …; the numbers by default.
    """
    right = max(gutter, SIDE)
    inner = width - LEFT - right
    points = [point for curve in curves for point in _place_points(curve)]
    steps = list(range(1, max(len(curve.shares) for curve in curves) + 1))
    n_label = f"{json.dumps(list(labels))}[datum.value - 1]" if labels else _N_LABEL
    x = (
        alt.X("n:Q")
        .scale(domain=[1, len(steps)], nice=False)
        .axis(values=steps, grid=False, tickSize=4, labelExpr=n_label, **AXIS)
    )
    layers = _draw_lines(points, x)
    if gutter:
        layers.append(_draw_names(curves, inner, gutter))
    frame = frame_chart(alt.layer(*layers), inner, HEIGHT, left=LEFT, right=right, top=10, bottom=28)
    return render_svg(frame, f"{title}. {'; '.join(curve.text for curve in curves)}.")


def spread_apart(places: Sequence[float], gap: float, limit: float) -> list[float]:
    """Return the places, moved so that no two are closer than `gap` and none lies beyond `limit`."""
    order = sorted(range(len(places)), key=lambda k: places[k])
    moved = list(places)
    for before, k in pairwise(order):
        moved[k] = max(moved[k], moved[before] + gap)
    for k in reversed(order):
        moved[k] = min(moved[k], limit)
        limit = moved[k] - gap
    return moved


def _place_points(curve: Curve) -> list[dict[str, Any]]:
    return [
        {
            "name": curve.name,
            "n": n,
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "colour": curve.colour,
            "dash": list(curve.dash),
            "text": f"{curve.name}: {share.tip}",
        }
        | share.as_link
        for n, share in enumerate(curve.shares, start=1)
        if share.value is not None
    ]


def _draw_lines(points: list[dict[str, Any]], x: alt.X) -> list[alt.Chart]:
    """Return the bands, then the lines, then the points with the tooltips."""
    base = build_chart(points)
    y = encode_percent("value", alt.Y, "left")
    return [
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.14, aria=False)
        .encode(
            x=x,
            y=encode_percent("low", alt.Y, "left"),
            y2=alt.Y2("high:Q"),
            fill=encode_as_is("colour", alt.Fill),
            detail=alt.Detail("name:N"),
        ),
        base.mark_line(strokeWidth=2, aria=False).encode(
            x=x,
            y=y,
            stroke=encode_as_is("colour", alt.Stroke),
            strokeDash=encode_as_is("dash", alt.StrokeDash),
            detail=alt.Detail("name:N"),
        ),
        base.mark_point(shape="circle", size=34, opacity=1, strokeWidth=0).encode(
            x=x,
            y=y,
            fill=encode_as_is("colour", alt.Fill),
            description=alt.Description("text:N"),
            **encode_link(points),
        ),
    ]


def _draw_names(curves: Sequence[Curve], inner: float, gutter: float) -> alt.Chart:
    """Return the names at the right ends of the curves, far enough apart to be readable."""
    # A model may lack the last values: its name stands at the height of the last one that it has.
    ends = [(c, [share.value for share in c.shares if share.value is not None]) for c in curves]
    places = [HEIGHT * (1 - values[-1]) for _, values in ends if values]
    named = [c for c, values in ends if values]
    n_chars = int((gutter - 12) / CHARACTER)
    names = [
        {"value": 1 - y / HEIGHT, "name": shorten(c.name, n_chars), "colour": c.colour}
        for c, y in zip(named, spread_apart(places, FONT + 3, HEIGHT), strict=True)
    ]
    return (
        build_chart(names)
        .mark_text(align="left", **(TEXT | {"baseline": "middle"}))
        .encode(
            x=alt.XValue(inner + 10),
            y=encode_percent("value", alt.Y, "left"),
            text=alt.Text("name:N"),
            fill=encode_as_is("colour", alt.Fill),
        )
    )
