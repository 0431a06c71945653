"""The parts of the page's figures: drawings in two widths, and panels, one per model."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import (
    CHARACTER,
    INK,
    MUTED,
    PERCENT,
    SIDE,
    TEXT,
    Scale,
    build_chart,
    encode_as_is,
    encode_link,
    encode_pixels,
    encode_position,
    frame_chart,
    render_svg,
)
from report.contents import Model
from report.formats import shorten
from report.shares import Curve, DotRow

ROW = 38
# The height of a row with its name beside it.
FLAT_ROW = 30
VALUES = 92
FIGURE_SPACE = "\u2007"
_CHANCE: dict[str, Any] = {
    "stroke": MUTED,
    "strokeDash": [3, 3],
    "strokeWidth": 1.2,
    "aria": False,
}


@dataclass(frozen=True)
class Layout:
    """The positions in a row, in pixels; `left` and `right` are the gutters beside the scale."""

    width: int
    left: float
    right: float
    row: float
    name_at: tuple[float, float]
    values_at: tuple[float, str]
    dots_y: float
    n_chars: int

    @property
    def inner(self) -> float:
        """Return the width of the scale."""
        return self.width - self.left - self.right


def lay_out(width: int, gutter: int) -> Layout:
    """Return the layout with names in a gutter beside the rows, or above the rows without a gutter."""
    if gutter:
        inner = width - gutter - VALUES
        n_chars = int((gutter - 24) / CHARACTER)
        return Layout(width, gutter, VALUES, FLAT_ROW, (-gutter, 19), (inner + 22, "left"), 15, n_chars)
    inner = width - 2 * SIDE
    n_chars = int((inner - VALUES + 14) / CHARACTER)
    return Layout(width, SIDE, SIDE, ROW, (0, 13), (inner, "right"), 25, n_chars)


def draw_dots(
    title: str, rows: Sequence[DotRow], width: int, gutter: int = 0, scale: Scale = PERCENT
) -> Markup:
    """Return a chart with a line per row, and on it a mark for each share, one below the other."""
    layout = lay_out(width, gutter)
    height = layout.row * len(rows)
    dots = [d for k, row in enumerate(rows) for d in _place_dots(row, k * layout.row, layout)]
    x = encode_position("value", alt.X, "top", scale)
    chart = alt.layer(
        build_chart([{"value": scale.middle}]).mark_rule(**_CHANCE).encode(x=x),
        *_draw_names(rows, layout, encode_pixels(height)),
        _draw_intervals(dots, encode_position("low", alt.X, "top", scale), encode_pixels(height)),
        _draw_points(dots, x, encode_pixels(height)),
    )
    frame = frame_chart(chart, layout.inner, height, left=layout.left, right=layout.right, top=24, bottom=4)
    return render_svg(frame, f"{title}. {'; '.join(row.text for row in rows)}.")


def _place_dots(row: DotRow, top: float, layout: Layout) -> list[dict[str, Any]]:
    spread = 4 if len(row.shares) > 1 else 0
    return [
        {
            "y": top + layout.dots_y + (2 * k - 1) * spread,
            "value": share.value,
            "low": share.low,
            "high": share.high,
            "colour": row.colour,
            "shape": share.measure.shape,
            "text": f"{row.name}: {share.tip}",
        }
        | share.as_link
        for k, share in enumerate(row.shares)
        if share.value is not None
    ]


def _draw_names(rows: Sequence[DotRow], layout: Layout, y: alt.Y) -> list[alt.Chart]:
    """Return the names at the left and, at the right, the values in whole percent with their marks."""
    base = build_chart(
        [
            {
                "y": k * layout.row + layout.name_at[1],
                "name": shorten(row.name, layout.n_chars),
                "values": "\u2002".join(
                    f"{share.measure.glyph}\u2009{share.short.rjust(share.width, FIGURE_SPACE)}"
                    for share in row.shares
                ),
            }
            for k, row in enumerate(rows)
        ]
    )
    x_values, side = layout.values_at
    return [
        base.mark_text(align="left", fill=INK, **TEXT).encode(
            x=alt.XValue(layout.name_at[0]), y=y, text=alt.Text("name:N")
        ),
        base.mark_text(align=side, fill=MUTED, **TEXT).encode(
            x=alt.XValue(x_values), y=y, text=alt.Text("values:N")
        ),
    ]


def _draw_intervals(dots: list[dict[str, Any]], low: alt.X, y: alt.Y) -> alt.Chart:
    mark = build_chart(dots).mark_rule(strokeWidth=5, strokeCap="round", opacity=0.4, aria=False)
    return mark.encode(x=low, x2=alt.X2("high:Q"), y=y, stroke=encode_as_is("colour", alt.Stroke))


def _draw_points(dots: list[dict[str, Any]], x: alt.X, y: alt.Y) -> alt.Chart:
    return (
        build_chart(dots)
        .mark_point(size=58, opacity=1, strokeWidth=0)
        .encode(
            x=x,
            y=y,
            fill=encode_as_is("colour", alt.Fill),
            shape=encode_as_is("shape", alt.Shape),
            description=alt.Description("text:N"),
            **encode_link(dots),
        )
    )


WIDE = 1000
PANEL = 340
# The width of the gutter for names beside the rows of a wide figure.
BESIDE = 240


@dataclass(frozen=True)
class Drawing:
    """One figure, drawn for a wide column and for a phone."""

    wide: Markup
    narrow: Markup
    curves: tuple[Curve, ...] = ()
    """The curves that a key names on a phone, where they have no names at their ends."""


@dataclass(frozen=True)
class Panel:
    """One model's part of a figure."""

    model: Model
    svg: Markup


def draw_both(title: str, rows: Sequence[DotRow], scale: Scale = PERCENT) -> Drawing:
    """Draw rows of dots, for a wide column and for a phone."""
    wide = draw_dots(title, rows, WIDE, BESIDE, scale)
    return Drawing(wide, draw_dots(title, rows, PANEL, scale=scale))


def draw_panel(model: Model, title: str, rows: Sequence[DotRow], scale: Scale = PERCENT) -> list[Panel]:
    """Return a list with the model's panel; empty if there are no rows."""
    if not rows:
        return []
    return [Panel(model, draw_dots(f"{title}, {model.label}", rows, PANEL, scale=scale))]
