"""The colours of the figures: names of CSS variables, so that one page serves light and dark.

Seven hues. Under simulated deuteranopia and protanopia (Machado et al. 2009) any two of the light
ones stay at least 28 apart in CIELAB, of the dark ones 22, and each stands out from the page by
3:1 or more. Nothing is told by colour alone: every mark has its name beside it, and from the
eighth model on lines are also dashed.
"""

N_HUES = 7
INK = "var(--ink)"
MUTED = "var(--muted)"
LINE = "var(--line)"
BASELINE = "var(--baseline)"
DASHES: tuple[tuple[int, ...], ...] = ((1, 0), (6, 3), (2, 3), (9, 3, 2, 3))


def model_colour(index: int) -> str:
    """The colour of the model with that index, on every figure of the page."""
    return f"var(--model-{index % N_HUES})"


def model_dash(index: int) -> list[int]:
    """The dash pattern that tells apart two models of one hue."""
    return list(DASHES[index // N_HUES % len(DASHES)])
