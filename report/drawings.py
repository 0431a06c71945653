"""The parts of the page's figures: drawings in two widths, and panels, one per model."""

from collections.abc import Sequence
from dataclasses import dataclass

from markupsafe import Markup

from report.axes import PERCENT, Scale
from report.contents import Model
from report.dots import draw_dots
from report.shares import DotRow

WIDE = 1000
PANEL = 340
# The width of the gutter for names beside the rows of a wide figure.
BESIDE = 240


@dataclass(frozen=True)
class Drawing:
    """One figure, drawn for a wide column and for a phone."""

    wide: Markup
    narrow: Markup


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
