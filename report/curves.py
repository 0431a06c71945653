"""Draw curves over n with their bands, each with its name at its right end."""

import json
from collections import defaultdict
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from itertools import pairwise
from statistics import fmean
from typing import Any

import altair as alt
from markupsafe import Markup

from pretexeval.config.schedule import Period, find_period
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
    model_colour,
    render_svg,
)
from report.browser.links import link_mastered_from_index
from report.contents import Contents, Model, Row, Setting, list_models
from report.drawings import PANEL, Drawing
from report.formats import NOTHING, format_count, format_percent, shorten
from report.paper_tables import METHODS
from report.shares import MASTERY, Curve, Share, build_all_right_measure
from schemas.stages import SINGLE_METHODS

HEIGHT = 300
WIDE = 660
GUTTER = 170
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


def draw_named_curves(
    title: str,
    curves: Sequence[Curve],
    labels: Sequence[str] | None = None,
    short_labels: Sequence[str] | None = None,
    gutter: int = GUTTER,
) -> Drawing:
    """Return the curves for a wide column, with names at their ends, and for a phone, with a key."""
    wide = draw_curves(title, curves, WIDE, gutter, labels)
    return Drawing(wide, draw_curves(title, curves, PANEL, labels=short_labels), tuple(curves))


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


@dataclass(frozen=True)
class MeanShare(Share):
    """The mean of the models' shares. It has no interval, because the models are no sample of all models."""

    @property
    def text(self) -> str:
        """Return the measure, the mean and the number of models in words."""
        return f"{self.measure.name} {format_percent(self.value)} ({self.of})"


def draw_method_curves(contents: Contents) -> Drawing | None:
    """Return a curve per method; None unless models were asked by two methods with several samples."""
    means, n_models = average_curves(contents.method_curves)
    if len(means.keys() - set(SINGLE_METHODS)) < 2:
        return None
    of = "one model" if n_models == 1 else f"mean of {n_models} models"
    curves = [
        Curve(method, model_colour(METHODS.index(method)), (1, 0), _build_shares(means[method], of))
        for method in METHODS
        if method in means
    ]
    title = f"Joint accuracy by method and by number of samples asked, n: {of}"
    return draw_named_curves(title, curves, gutter=110)


def average_curves(rows: list[Row]) -> tuple[dict[str, list[float]], int]:
    """Return method -> the mean joint accuracy at n = 1, 2, …, and the number of models.

    Only the models that were asked by every method count.

    Args:
        rows: rows of joint_accuracy_curve of one edition, policy and repeat, by every method.
    """
    known = [row for row in rows if row["joint_accuracy"] is not None]
    methods = {row["method"] for row in known}
    asked = defaultdict(set)
    for row in known:
        asked[row["model_id"]].add(row["method"])
    models = {model_id for model_id, of_model in asked.items() if of_model == methods}
    values: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in known:
        if row["model_id"] in models:
            values[row["method"], row["n"]].append(row["joint_accuracy"])
    means: dict[str, list[float]] = defaultdict(list)
    for method, n in sorted(values):
        means[method].append(fmean(values[method, n]))
    return dict(means), len(models)


def _build_shares(means: list[float], of: str) -> tuple[Share, ...]:
    return tuple(
        MeanShare(build_all_right_measure(n), mean, None, None, of) for n, mean in enumerate(means, start=1)
    )


@dataclass(frozen=True)
class Trend:
    """The editions of one base and one kind of period under one setting, in the order of their periods.

    Editions without a period are a trend of their own, in the order of their first evaluations.
    """

    kb: str
    period: Period | None
    setting: Setting
    editions: list[Row]
    models: list[Model]
    drawing: Drawing

    def find_row(self, edition: Row, model: Model) -> Row | None:
        """Return the model's row of the edition's leaderboard; None if it has not answered it."""
        return _find_row(edition, model.model_id)


@dataclass(frozen=True)
class TrendCurve(Curve):
    """The mastery of a model over editions."""

    @property
    def text(self) -> str:
        """Return the shares in words."""
        return f"{self.name}: {', '.join(share.text for share in self.shares if share.value is not None)}"


def draw_trends(editions: Sequence[Row], places: Mapping[str, int]) -> list[Trend]:
    """Return a trend for each base, kind of period and setting with several answered editions.

    Args:
        editions: what `read_editions` returns, each with `has_page`.
        places: model_id -> place in the palette.
    """
    groups: dict[tuple[str, Period | None, Setting], list[Row]] = {}
    for row in sorted(filter(_has_mastery, editions), key=_order):
        key = row["kb"] or NOTHING, find_period(str(row["label"])), row["setting"]
        groups.setdefault(key, []).append(row)
    return [_draw_trend(*key, rows, places) for key, rows in groups.items() if len(rows) > 1]


def _has_mastery(edition: Row) -> bool:
    is_measured = any(row["mastery"] is not None for row in edition["ranked"])
    return edition["first_evaluated_at"] is not None and is_measured


def _order(edition: Row) -> tuple[object, str]:
    # Editions of other kinds of periods are in other trends.
    return (edition["period_start"] or date.min, edition["first_evaluated_at"]), edition["edition_id"]


def _draw_trend(
    kb: str, period: Period | None, setting: Setting, editions: list[Row], places: Mapping[str, int]
) -> Trend:
    # The newest edition comes first here, so that the models stand in its order.
    ranked = [row for edition in reversed(editions) for row in edition["ranked"]]
    models = list_models(ranked, setting, {}, places)
    curves = [TrendCurve(m.label, m.colour, m.dash, _list_shares(editions, m)) for m in models]
    shown = [curve for curve in curves if any(share.value is not None for share in curve.shares)]
    title = f"Mastery over the editions of {kb}, by {period or 'first evaluation'}"
    labels = [str(row["label"]) if period else str(place) for place, row in enumerate(editions, start=1)]
    return Trend(kb, period, setting, editions, models, draw_named_curves(title, shown, labels, labels))


def _list_shares(editions: Sequence[Row], model: Model) -> tuple[Share, ...]:
    """Return the mastery of the model on every edition, without a value where it was not evaluated."""
    shares = []
    for edition in editions:
        row = _find_row(edition, model.model_id)
        if row is None:
            shares.append(Share(MASTERY, None, None, None, ""))
            continue
        of = f"{format_count(row['n_complete_pairs'])} pairs of {edition['edition_id']}"
        low, high = row["mastery_ci_low"], row["mastery_ci_high"]
        link = link_mastered_from_index(row) if edition["has_page"] else ""
        shares.append(Share(MASTERY, row["mastery"], low, high, of, link))
    return tuple(shares)


def _find_row(edition: Row, model_id: str) -> Row | None:
    return next((row for row in edition["ranked"] if row["model_id"] == model_id), None)
