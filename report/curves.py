"""Draw the trends of mastery: a line with its band per model over the editions of a base."""

import json
from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from datetime import date
from typing import Any

import altair as alt
from markupsafe import Markup

from pretexeval.config.schedule import Period, find_period
from report.axes import (
    AXIS,
    build_chart,
    encode_as_is,
    encode_link,
    encode_percent,
    frame_chart,
    quote_link,
    render_svg,
)
from report.browser.links import link_mastered_from_index
from report.contents import N_HUES, Model, Row, Setting, list_models
from report.formats import NOTHING, format_count, format_interval, format_percent

HEIGHT = 300
WIDE, NARROW = 1000, 340
LEFT = 50
RIGHT = 30
DASHES = ((1, 0), (6, 3), (2, 3), (9, 3, 2, 3))


@dataclass(frozen=True)
class Share:
    """The mastery of a model on an edition with its 95 % interval; None where it was not evaluated."""

    value: float | None
    low: float | None
    high: float | None
    of: str
    """The total of the share, in words."""
    link: str = ""
    """The address of the samples behind it, from the list of editions; empty without a link."""

    @property
    def text(self) -> str:
        """Return the value, the interval and n in words."""
        interval = format_interval(self.low, self.high)
        return f"mastery {format_percent(self.value)} (95 % interval {interval}; {self.of})"


@dataclass(frozen=True)
class Curve:
    """The mastery of a model over editions."""

    model: Model
    shares: tuple[Share, ...]

    @property
    def dash(self) -> list[int]:
        """Return the dash pattern: neighbours in the palette differ, and so do two models of one colour."""
        return list(DASHES[(self.model.place + self.model.place // N_HUES) % len(DASHES)])

    @property
    def text(self) -> str:
        """Return the shares in words."""
        known = [share.text for share in self.shares if share.value is not None]
        return f"{self.model.label}: {', '.join(known)}"


@dataclass(frozen=True)
class Trend:
    """The mastery of models over editions of one base and setting whose periods are of one kind.

    Editions without a period are a trend of their own, in the order of their first evaluations.
    """

    kb: str
    period: Period | None
    setting: Setting
    editions: list[Row]
    models: list[Model]
    curves: list[Curve]
    wide: Markup
    narrow: Markup

    def find_row(self, edition: Row, model: Model) -> Row | None:
        """Return the model's row of the edition's leaderboard; None if it has not answered it."""
        return _find_row(edition, model.model_id)


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
    curves = [Curve(model, _list_shares(editions, model)) for model in models]
    shown = [curve for curve in curves if any(share.value is not None for share in curve.shares)]
    title = f"Mastery over the editions of {kb}, by {period or 'first evaluation'}"
    labels = [str(row["label"]) if period else str(place) for place, row in enumerate(editions, start=1)]
    drawn = (draw_curves(title, shown, labels, width) for width in (WIDE, NARROW))
    return Trend(kb, period, setting, editions, models, shown, *drawn)


def _list_shares(editions: Sequence[Row], model: Model) -> tuple[Share, ...]:
    shares = []
    for edition in editions:
        row = _find_row(edition, model.model_id)
        if row is None:
            shares.append(Share(None, None, None, ""))
            continue
        of = f"{format_count(row['n_complete_pairs'])} pairs of {edition['edition_id']}"
        link = link_mastered_from_index(row) if edition["has_page"] else ""
        shares.append(Share(row["mastery"], row["mastery_ci_low"], row["mastery_ci_high"], of, link))
    return tuple(shares)


def _find_row(edition: Row, model_id: str) -> Row | None:
    return next((row for row in edition["ranked"] if row["model_id"] == model_id), None)


def draw_curves(title: str, curves: Sequence[Curve], labels: Sequence[str], width: int) -> Markup:
    """Return a line with its band per curve; `labels` stand below the editions."""
    inner = width - LEFT - RIGHT
    points = [point for curve in curves for point in _place_points(curve)]
    x = (
        alt.X("n:Q")
        .scale(domain=[1, len(labels)], nice=False)
        .axis(
            values=list(range(1, len(labels) + 1)),
            grid=False,
            tickSize=4,
            labelExpr=f"{json.dumps(list(labels))}[datum.value - 1]",
            **AXIS,
        )
    )
    frame = frame_chart(
        alt.layer(*_draw_lines(points, x)), inner, HEIGHT, left=LEFT, right=RIGHT, top=10, bottom=28
    )
    return render_svg(frame, f"{title}. {'; '.join(curve.text for curve in curves)}.")


def _place_points(curve: Curve) -> list[dict[str, Any]]:
    return [
        {
            "name": curve.model.model_id,
            "n": n,
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "colour": curve.model.colour,
            "dash": curve.dash,
            "text": f"{curve.model.label}: {share.text}",
        }
        | ({"link": quote_link(share.link)} if share.link else {})
        for n, share in enumerate(curve.shares, start=1)
        if share.value is not None
    ]


def _draw_lines(points: list[dict[str, Any]], x: alt.X) -> list[alt.Chart]:
    """Return the bands, then the lines, then the points with the tooltips."""
    base = build_chart(points)
    y = encode_percent("value", alt.Y, "left")
    return [
        base.transform_filter("isValid(datum.low)")
        .mark_area(opacity=0.1, aria=False)
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
