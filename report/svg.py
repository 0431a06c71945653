"""Render an Altair chart as an SVG element for the page, without scripts or ids.

Colours are CSS variables, so the page's own style decides between light and dark. The description of a mark
becomes its `<title>`, which browsers show as a tooltip.
"""

import re
from urllib.parse import unquote
from xml.etree import ElementTree

import altair as alt
import vl_convert
from markupsafe import Markup

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
