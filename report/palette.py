"""The colours of the figures: names of CSS variables, so that one page works in light and dark mode.

There are seven hues. Under simulated deuteranopia and protanopia (Machado et al. 2009), any two colours
differ by at least 28 in CIELAB in light mode and 22 in dark mode, and each has a contrast of at least 3:1
with the page. Colour never carries information alone: every mark has its name beside it, and lines are also
dashed from the eighth model on.
"""

N_HUES = 7
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
BASELINE = "var(--baseline)"
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 3), (9, 3, 2, 3))


def model_colour(index: int) -> str:
    """Return the colour of the model with this index, the same in every figure of the page."""
    return f"var(--model-{index % N_HUES})"


def model_dash(index: int) -> list[int]:
    """Return the dash pattern that distinguishes two models of the same hue."""
    return list(DASHES[index // N_HUES % len(DASHES)])
