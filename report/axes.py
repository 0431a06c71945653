"""What the charts share in Altair: their scales, channels with values as they are, the frame.

Every position is given in pixels and nothing is laid out by the width of a text, so that a figure
is the same on a machine with other fonts.
"""

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Any

import altair as alt

from report.palette import LINE, MUTED

SIDE = 20
FONT = 12
# More than the mean width of a character at that size.
CHARACTER = 5.9
AXIS: dict[str, Any] = {
    "title": None,
    "domain": False,
    "gridColor": LINE,
    "tickColor": LINE,
    "labelColor": MUTED,
    "labelFontSize": 11,
    "labelPadding": 6,
    # Else Vega hides labels by the widths that it measures.
    "labelOverlap": False,
    "labelFlush": False,
    "labelBound": False,
}
TEXT: dict[str, Any] = {"fontSize": FONT, "baseline": "alphabetic", "aria": False}


@dataclass(frozen=True)
class Scale:
    """From where to where a chart goes, and how its ticks are written."""

    low: float
    high: float
    ticks: tuple[float, ...]
    label: str
    """Of a tick, as a Vega expression."""
    middle: float
    """Where the dashed line stands: what nothing earns."""


PERCENT = Scale(0, 1, (0, 0.25, 0.5, 0.75, 1), "round(100 * datum.value) + ' %'", 0.5)
# Half the width of a scale of differences: the least that holds them all.
_REACHES = (0.05, 0.1, 0.2, 0.4, 0.6, 0.8, 1.0)
_SIGNED = "(datum.value > 0 ? '+' : datum.value < 0 ? '−' : '') + format(abs(100 * datum.value), '~r')"


def scale_points(limits: Iterable[float]) -> Scale:
    """A scale of differences around 0, in percentage points, with room for the limits."""
    most = max(map(abs, limits), default=0.0)
    reach = next((reach for reach in _REACHES if most <= reach), _REACHES[-1])
    return Scale(-reach, reach, (-reach, -reach / 2, 0, reach / 2, reach), _SIGNED, 0)


def build_chart(values: list[dict[str, Any]]) -> alt.Chart:
    """A chart of the values, to be marked."""
    return alt.Chart(alt.Data(values=values))


def encode_as_is(field: str, channel: type[alt.SchemaBase]) -> alt.SchemaBase:
    """The channel with the field's own value: a colour, a shape, a dash pattern."""
    return channel(f"{field}:N").scale(None).legend(None)


def encode_position(field: str, channel: type[alt.SchemaBase], orient: str, scale: Scale) -> alt.SchemaBase:
    """The channel as a position on the scale."""
    position = channel(f"{field}:Q").scale(domain=[scale.low, scale.high], nice=False)
    return position.axis(values=list(scale.ticks), labelExpr=scale.label, ticks=False, orient=orient, **AXIS)


def encode_percent(field: str, channel: type[alt.SchemaBase], orient: str) -> alt.SchemaBase:
    """The channel as a position from 0 to 100 %."""
    return encode_position(field, channel, orient, PERCENT)


def encode_pixels(height: float) -> alt.Y:
    """The field y in pixels from the top, without an axis."""
    return alt.Y("y:Q").scale(domain=[0, height], range=[0, height], nice=False).axis(None)


def frame_chart(chart: alt.LayerChart, inner: float, height: float, **padding: float) -> alt.LayerChart:
    """The chart at its size, with its padding in pixels (left and right 20 unless told)."""
    return chart.properties(
        width=inner,
        height=height,
        autosize=alt.AutoSizeParams(type="none"),
        padding={"left": SIDE, "right": SIDE} | padding,
        background="transparent",
    ).configure_view(stroke=None)
