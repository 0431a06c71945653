import re
from pathlib import Path

import pytest

from report.palette import N_HUES

STYLE = (Path(__file__).parents[2] / "report" / "style.css").read_text(encoding="utf-8")
LIGHT, DARK = STYLE.split("@media (prefers-color-scheme: dark)")
THEMES = {
    name: dict(re.findall(r"--([\w-]+): (#[0-9a-f]{6})", part.split("\n* {")[0]))
    for name, part in (("light", LIGHT), ("dark", DARK))
}


def luminance(colour: str) -> float:
    """Return the relative luminance (WCAG 2)."""
    channels = [int(colour[k : k + 2], 16) / 255 for k in (1, 3, 5)]
    linear = [c / 12.92 if c <= 0.04045 else ((c + 0.055) / 1.055) ** 2.4 for c in channels]
    return 0.2126 * linear[0] + 0.7152 * linear[1] + 0.0722 * linear[2]


def contrast(one: str, other: str) -> float:
    low, high = sorted((luminance(one), luminance(other)))
    return (high + 0.05) / (low + 0.05)


@pytest.mark.parametrize("theme", THEMES)
def test_everything_stands_out_from_the_page(theme: str) -> None:
    colours = THEMES[theme]
    for name in ("ink", "muted", "accent", "true", "false"):
        assert contrast(colours[name], colours["page"]) >= 4.5, name
        assert contrast(colours[name], colours["card"]) >= 4.5, name
    for name in ("baseline", *(f"model-{k}" for k in range(N_HUES))):
        assert contrast(colours[name], colours["page"]) >= 3, name
