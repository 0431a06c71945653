"""Draw reliability diagrams: the share of true samples at each probability that a model gives."""

from collections.abc import Sequence
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import FONT, SIDE, build_chart, encode_link, encode_percent, frame_chart, quote_link
from report.browser.links import link_samples
from report.contents import Contents, Row
from report.drawings import PANEL, Panel
from report.formats import format_count, format_percent
from report.palette import MUTED
from report.svg import render_svg

LEFT = 50
INNER = PANEL - LEFT - SIDE
# The area of the largest dot, in square pixels.
LARGEST = 320
_DIAGONAL: dict[str, Any] = {"stroke": MUTED, "strokeDash": [3, 3], "strokeWidth": 1.2, "aria": False}
_TITLE: dict[str, Any] = {"fontSize": FONT - 1, "fill": MUTED, "aria": False}


def draw_reliability_panels(contents: Contents) -> list[Panel]:
    """Return a panel for each model with probabilities."""
    return [
        Panel(model, draw_reliability(f"Reliability diagram, {model.label}", rows, model.colour))
        for model in contents.models
        if (rows := contents.select_model("calibration_bins", model))
    ]


def draw_reliability(title: str, rows: Sequence[Row], colour: str) -> Markup:
    """Return a chart of the share of true samples over p(true); the area of a dot shows its samples."""
    texts = [_describe(row) for row in rows]
    most = max(row["n_samples"] for row in rows)
    dots = [
        {
            "said": row["mean_p_true"],
            "value": row["true_rate"],
            "size": LARGEST * row["n_samples"] / most,
            "text": text,
            "link": quote_link(link_samples(row)),
        }
        for row, text in zip(rows, texts, strict=True)
    ]
    x, y = encode_percent("said", alt.X, "bottom"), encode_percent("value", alt.Y, "left")
    size = alt.Size("size:Q").scale(None).legend(None)
    chart = alt.layer(
        build_chart([{"said": 0, "value": 0}, {"said": 1, "value": 1}])
        .mark_line(**_DIAGONAL)
        .encode(x=x, y=y),
        build_chart(dots).mark_line(stroke=colour, strokeWidth=1.5, aria=False).encode(x=x, y=y),
        build_chart(dots)
        .mark_point(shape="circle", fill=colour, opacity=0.85, strokeWidth=0)
        .encode(x=x, y=y, size=size, description=alt.Description("text:N"), **encode_link(dots)),
        *_draw_axis_labels(),
    )
    frame = frame_chart(chart, INNER, INNER, left=LEFT, top=10, bottom=28)
    return render_svg(frame, f"{title}. {'; '.join(texts)}.")


def _describe(row: Row) -> str:
    said, true = format_percent(row["mean_p_true"]), format_percent(row["true_rate"])
    return f"said to be true with {said}: {true} are (of {format_count(row['n_samples'])} samples)"


def _draw_axis_labels() -> list[alt.Chart]:
    """Return the labels of both axes, in the corners that usually have no dots."""
    corners = [
        {"text": "↑ share true", "x": 6, "y": 12, "align": "left"},
        {"text": "p(true) by the model →", "x": INNER - 6, "y": INNER - 8, "align": "right"},
    ]
    return [
        build_chart([corner])
        .mark_text(align=corner["align"], **_TITLE)
        .encode(x=alt.XValue(corner["x"]), y=alt.YValue(corner["y"]), text=alt.Text("text:N"))
        for corner in corners
    ]
