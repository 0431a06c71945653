"""The parts of an Altair chart that do not depend on its contents: scales, channels and the frame.

Every position is given in pixels and no layout depends on the width of a text, so that a figure is the same
on a machine with other fonts.
"""

import re
from typing import Any
from urllib.parse import quote, unquote
from xml.etree import ElementTree

import altair as alt
import vl_convert
from markupsafe import Markup

LINE = "var(--line)"
MUTED = "var(--muted)"
VEGA_LITE = "6.4"
_NAMESPACE = re.compile(r'\sxmlns(:\w+)?="[^"]*"')
_FRACTION = re.compile(r"\d+\.\d{3,}")
# Attributes for Vega's own use: the page does not need them, and they are half of its size.
_DROPPED = (
    "class",
    "role",
    "aria-roledescription",
    "aria-label",
    "aria-hidden",
    "font-family",
    "pointer-events",
)


def render_svg(chart: alt.LayerChart, alternative: str) -> Markup:
    """Return the chart as an `<svg>` element that shrinks with its column; `alternative` is its text."""
    # Altair validated every part when it was created; validating the whole again would double the time.
    text = vl_convert.vegalite_to_svg(chart.to_json(validate=False), vl_version=VEGA_LITE)
    root = ElementTree.fromstring(_NAMESPACE.sub("", text).replace(" xlink:href=", " href="))
    for parent in root.iter():
        for child in list(parent):
            if child.get("aria-hidden") and child.tag == "path":
                parent.remove(child)
    for element in root.iter():
        _tidy(element)
    width, height = float(root.attrib.pop("width")), float(root.attrib.pop("height"))
    root.attrib.pop("version")
    root.set("viewBox", f"0 0 {width:g} {height:g}")
    root.set("style", f"max-width:{width:g}px")
    # The contents of an image are hidden from screen readers, which must find links.
    root.set("role", "group" if root.find(".//a") is not None else "img")
    root.set("aria-label", alternative)
    return Markup(ElementTree.tostring(root, encoding="unicode"))


def _tidy(element: ElementTree.Element) -> None:
    """Drop unused attributes, round to a hundredth of a pixel, and turn a description into a title."""
    description = element.get("aria-label")
    if element.tag == "a":
        # Vega changes every address but the part after `#`, which therefore holds the whole address. Every
        # link of a figure is also in a table, so that the keyboard need not stop at hundreds of marks.
        element.set("href", unquote(element.attrib["href"].partition("#")[2]))
        element.set("tabindex", "-1")
    for name in _DROPPED:
        element.attrib.pop(name, None)
    for name, value in element.attrib.items():
        element.set(
            name,
            _FRACTION.sub(lambda found: f"{float(found[0]):.2f}".rstrip("0").rstrip("."), value),
        )
    if description and element.tag != "g":
        title = ElementTree.SubElement(element, "title")
        title.text = description


AXIS: dict[str, Any] = {
    "title": None,
    "domain": False,
    "gridColor": LINE,
    "tickColor": LINE,
    "labelColor": MUTED,
    "labelFontSize": 11,
    "labelPadding": 6,
    # Without these, Vega hides labels according to the widths that it measures.
    "labelOverlap": False,
    "labelFlush": False,
    "labelBound": False,
}


def build_chart(values: list[dict[str, Any]]) -> alt.Chart:
    """Return a chart of the values without marks."""
    return alt.Chart(alt.Data(values=values))


def encode_as_is(field: str, channel: type[alt.SchemaBase]) -> alt.SchemaBase:
    """Return the channel with the field's own value: a colour, a shape, a dash pattern."""
    return channel(f"{field}:N", scale=None, legend=None)


def quote_link(address: str) -> str:
    """Return the address as a fragment, because Vega changes all others; `render_svg` undoes it."""
    return f"#{quote(address, safe='')}"


def encode_link(rows: list[dict[str, Any]]) -> dict[str, alt.Href]:
    """Return the channel of links, if any of the rows has a `link`; Vega makes no link for the others."""
    return {"href": alt.Href("link:N")} if any("link" in row for row in rows) else {}


def encode_percent(field: str, channel: type[alt.SchemaBase], orient: str) -> alt.SchemaBase:
    """Return the channel as a position from 0 to 100 %."""
    label = "round(100 * datum.value) + ' %'"
    axis = alt.Axis(values=[0, 0.25, 0.5, 0.75, 1], labelExpr=label, ticks=False, orient=orient, **AXIS)
    return channel(f"{field}:Q", scale=alt.Scale(domain=[0, 1], nice=False), axis=axis)


def frame_chart(chart: alt.LayerChart, inner: float, height: float, **padding: float) -> alt.LayerChart:
    """Return the chart with its size and padding in pixels."""
    return chart.properties(
        width=inner,
        height=height,
        autosize=alt.AutoSizeParams(type="none"),
        padding=padding,
        background="transparent",
    ).configure_view(stroke=None)
