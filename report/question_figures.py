"""Draw the figures about questions: a radar of facets per model, and falling curves of mastered points."""

import math
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import (
    BASELINE,
    FONT,
    INK,
    LINE,
    MUTED,
    SIDE,
    build_chart,
    encode_as_is,
    encode_link,
    frame_chart,
    render_svg,
)
from report.browser.links import link_mastered, link_samples
from report.contents import Contents, Model, Row
from report.curves import draw_curves
from report.drawings import PANEL, Drawing, Panel
from report.facet_scores import FacetScores
from report.formats import format_count, format_words
from report.shares import Curve, Measure, Share
from schemas.question_stages import SETTINGS

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


WIDE = 660
GUTTER = 170
ACCURACY = Measure("accuracy")
MASTERED = Measure("mastered points")
# The dash patterns: the second setting of a radar, random answers, and curves with negated questions.
_SECOND = (6, 3)
_DOTTED = (2, 3)
_SOLID = (1, 0)
_SHORT = {"comparison": "Comp.", "verification": "Veri.", "rectification": "Rect.", "discrimination": "Disc."}


@dataclass(frozen=True)
class SettingDrawing:
    """The curves of all models in one setting."""

    setting: str
    drawing: Drawing
    n_points: str
    """The numbers of points, in words."""


def draw_radars(contents: Contents) -> list[Panel]:
    """Return a panel per model: a polygon of its facets in each setting, and that of random answers."""
    if contents.questions is None:
        return []
    panels = []
    for model in contents.models:
        scores = [score for score in contents.questions.scores if score.model_id == model.model_id]
        if scores:
            axes = list(scores[0].facets)
            polygons = [_build_random(scores[0]), *(_build_polygon(score, model) for score in scores)]
            panels.append(Panel(model, draw_radar(f"Facets of {model.label}", axes, polygons)))
    return panels


def _build_random(score: FacetScores) -> Curve:
    shares = tuple(
        Share(ACCURACY, row["random_baseline"], None, None, "by formula") for row in score.facets.values()
    )
    return Curve("random answers", BASELINE, _DOTTED, shares)


def _build_polygon(score: FacetScores, model: Model) -> Curve:
    shares = tuple(
        Share(
            ACCURACY,
            row["accuracy"],
            row["ci_low"],
            row["ci_high"],
            f"{format_count(row['n_questions'])} questions of {format_count(row['n_points'])} points",
            link_samples(row) if row["accuracy"] is not None else "",
        )
        for row in score.facets.values()
    )
    dash = _SOLID if score.setting == SETTINGS[0] else _SECOND
    return Curve(format_words(score.setting), model.colour, dash, shares)


def draw_mastered(contents: Contents) -> list[SettingDrawing]:
    """Return a figure per setting: mastered points as facets are added, without and with negations."""
    if contents.questions is None:
        return []
    drawn = []
    for setting in SETTINGS:
        rows = [row for row in contents.questions.mastered if row["setting"] == setting]
        curves = [curve for model in contents.models for curve in _build_curves(model, rows)]
        if curves:
            facets = max((row["facets"] for row in rows), key=len)
            title = f"Mastered points as facets are added, {format_words(setting)}"
            full, short = _label(facets), _label([_SHORT[facet] for facet in facets])
            drawing = Drawing(
                draw_curves(title, curves, WIDE, GUTTER, full),
                draw_curves(title, curves, PANEL, labels=short),
            )
            drawn.append(SettingDrawing(setting, drawing, _count_points(rows)))
    return drawn


def _label(facets: list[str]) -> list[str]:
    return [facets[0], *(f"+ {facet}" for facet in facets[1:])]


def _build_curves(model: Model, rows: list[Row]) -> list[Curve]:
    """Return the curve of the model without negated questions, and the one with them."""
    curves = []
    for is_negated_included in (False, True):
        steps = [
            row
            for row in rows
            if row["model_id"] == model.model_id and row["is_negated_included"] == is_negated_included
        ]
        if steps:
            name = f"{model.label}, negated too" if is_negated_included else model.label
            dash = _SECOND if is_negated_included else _SOLID
            curves.append(Curve(name, model.colour, dash, tuple(map(_build_share, steps))))
    return curves


def _build_share(row: Row) -> Share:
    of = f"{format_count(row['n_points'])} points; {', '.join(row['facets'])}"
    link = link_mastered(row, "mastered_rate")
    return Share(MASTERED, row["mastered_rate"], row["ci_low"], row["ci_high"], of, link)


def _count_points(rows: list[Row]) -> str:
    last = max(row["step"] for row in rows)
    counts = [
        max(row["n_points"] for row in rows if row["step"] == last and row["is_negated_included"] == negated)
        for negated in (False, True)
    ]
    return f"{format_count(counts[0])} points, {format_count(counts[1])} with negated questions"
