"""Draw the figures of a page from the rows of the views."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import (
    BASELINE,
    FONT,
    MUTED,
    SIDE,
    Scale,
    build_chart,
    encode_link,
    encode_percent,
    frame_chart,
    quote_link,
    render_svg,
    scale_points,
)
from report.browser.links import link_samples
from report.contents import Contents, Row
from report.curves import MethodCurves, draw_curves, draw_method_curves
from report.drawings import PANEL, Drawing, Panel, draw_both, draw_panel
from report.formats import BASELINES, FACTS, format_count, format_percent, format_words
from report.paper_tables import STEPS
from report.question_figures import SettingDrawing, draw_mastered, draw_radars
from report.shares import (
    Curve,
    Difference,
    DotRow,
    Share,
    build_all_right_measure,
    build_average,
    build_average_difference,
    build_curve_share,
    build_joint,
    build_joint_difference,
    build_mastery,
    build_mastery_difference,
)

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


def draw_methods(contents: Contents) -> list[Panel]:
    """Return a panel per model with a row per method."""
    rows = contents.select_methods()
    panels = []
    for model in contents.models:
        dots = [
            DotRow(row["method"], model.colour, (build_average(row), build_joint(row)))
            for row in rows
            if row["model_id"] == model.model_id
        ]
        panels += draw_panel(model, "Average and joint accuracy by method", dots)
    return panels


def draw_components(contents: Contents) -> list[Panel]:
    """Return a panel per model: how much higher it scores without each component."""
    scale = _scale(map(_component_differences, _list_removed(contents)))
    panels = []
    for model in contents.models:
        dots = [
            DotRow(format_words(row["component"]), model.colour, _component_differences(row))
            for row in _list_removed(contents)
            if row["model_id"] == model.model_id
        ]
        panels += draw_panel(model, "Difference to the full method, in percentage points", dots, scale)
    return panels


def draw_steps(contents: Contents) -> list[Panel]:
    """Return a panel per model: its scores as transformations are added, in PretexEval's order."""
    panels = []
    for model in contents.models:
        dots = [
            DotRow(STEPS[row["step"]], model.colour, (build_average(row), build_joint(row)))
            for row in contents.select_model("transformation_ablation", model)
            if row["ablation"] == "pretexeval"
        ]
        panels += draw_panel(model, "Average and joint accuracy as transformations are added", dots)
    return panels


def draw_comparison(contents: Contents) -> Drawing | None:
    """Return the figure of the first model minus each of the others; None without others."""
    by_id = {model.model_id: model for model in contents.models}
    first = contents.models[0] if contents.models else None
    rows = contents.select_model("model_comparison", first) if first else []
    if not first or not rows:
        return None
    others = [by_id[row["other_model_id"]] for row in rows]
    dots = [
        DotRow(f"against {other.label}", other.colour, _differences(row))
        for row, other in zip(rows, others, strict=True)
    ]
    title = f"Difference between {first.label} and each other model, in percentage points"
    return draw_both(title, dots, _scale(map(_differences, rows)))


def draw_drift(contents: Contents) -> list[Panel]:
    """Return a panel per model: how much higher it scores on this edition than on each other one."""
    scale = _scale(map(_differences, contents.edition_drift))
    panels = []
    for model in contents.models:
        dots = [
            DotRow(f"above {row['other_edition_id']}", model.colour, _differences(row))
            for row in contents.select_model("edition_drift", model)
        ]
        panels += draw_panel(model, "Difference to other editions, in percentage points", dots, scale)
    return panels


def _list_removed(contents: Contents) -> list[Row]:
    """Return the rows of removed components that can be compared with the full method."""
    return [row for row in contents.component_ablation if row["difference"] is not None]


def _component_differences(row: Row) -> tuple[Difference, Difference]:
    of = f"{format_count(row['n_shared_pairs'])} pairs"
    return build_average_difference(row, of), build_joint_difference(row, of)


def _differences(row: Row) -> tuple[Difference, Difference]:
    """Return the differences in average accuracy and mastery of a row of either comparison view."""
    samples = f"{format_count(row['n_samples'])} samples"
    n_units = row.get("n_complete_pairs", row.get("n_complete_heads"))
    facts = f"{format_count(n_units)} facts"
    return build_average_difference(row, samples), build_mastery_difference(row, facts)


def _scale(differences: Iterable[tuple[Difference, Difference]]) -> Scale:
    """Return one scale for all panels of a figure."""
    found = [difference for both in differences for difference in both]
    return scale_points(limit for d in found for limit in (d.low, d.high) if limit is not None)


CURVE = 660
GUTTER = 170


@dataclass(frozen=True)
class Figures:
    """The figures of a page; a figure is None or empty if there is nothing to draw."""

    overview: Drawing | None
    comparison: Drawing | None
    curve: Drawing | None
    methods: list[Panel]
    method_curves: MethodCurves | None
    components: list[Panel]
    steps: list[Panel]
    relations: list[Panel]
    transformations: list[Panel]
    known: list[Panel]
    reliability: list[Panel]
    drift: list[Panel]
    radars: list[Panel]
    mastered: list[SettingDrawing]


def draw_figures(contents: Contents) -> Figures:
    """Return all figures of the page."""
    return Figures(
        overview=_draw_overview(contents),
        comparison=draw_comparison(contents),
        curve=_draw_curve(contents),
        methods=draw_methods(contents),
        method_curves=draw_method_curves(contents),
        components=draw_components(contents),
        steps=draw_steps(contents),
        relations=_draw_relations(contents),
        transformations=_draw_transformations(contents),
        known=_draw_known(contents),
        reliability=draw_reliability_panels(contents),
        drift=draw_drift(contents),
        radars=draw_radars(contents),
        mastered=draw_mastered(contents),
    )


def _draw_overview(contents: Contents) -> Drawing | None:
    """Draw the models, then the shortcut baselines in grey."""
    of_model = {row["model_id"]: row for row in contents.select_setting()}
    models = [
        DotRow(m.label, m.colour, _both(of_model[m.model_id]))
        for m in contents.models
        if m.model_id in of_model
    ]
    baselines = [
        DotRow(f"shortcut: {BASELINES.get(name, name)}", BASELINE, _both(row))
        for row in contents.shortcut_baselines
        if row["relation"] is None and (name := row["baseline"])
    ]
    if not models and not baselines:
        return None
    title = "Average accuracy and mastery by model and shortcut baseline"
    return draw_both(title, models + baselines)


def _draw_curve(contents: Contents) -> Drawing | None:
    """Draw one curve per model, and the curve of random answers."""
    curves = [
        Curve(m.label, m.colour, m.dash, tuple(build_curve_share(row) for row in rows))
        for m in contents.models
        if (rows := contents.select_model("joint_accuracy_curve", m))
    ]
    if contents.setting.n_per_triplet == 1 or not curves:
        return None
    coin = tuple(
        Share(build_all_right_measure(n), 0.5**n, 0.5**n, 0.5**n, "by the formula 0.5ⁿ")
        for n in range(1, contents.setting.n_per_triplet + 1)
    )
    curves.append(Curve("guessing (0.5ⁿ)", BASELINE, (2, 3), coin))
    title = "Joint accuracy by number of samples asked, n"
    return Drawing(draw_curves(title, curves, CURVE, GUTTER), draw_curves(title, curves, PANEL))


def _draw_relations(contents: Contents) -> list[Panel]:
    """Draw a panel per model; the relations have one order, the hardest to master last."""
    order = order_relations(contents.accuracy_by_relation)
    panels = []
    for model in contents.models:
        rows = {r["relation"]: r for r in contents.select_model("accuracy_by_relation", model)}
        dots = [DotRow(format_words(name), model.colour, _both(rows[name])) for name in order if name in rows]
        panels += draw_panel(model, "Average accuracy and mastery by relation", dots)
    return panels


def _draw_transformations(contents: Contents) -> list[Panel]:
    """Draw a panel per model; the transformations have their fixed order, as in the view."""
    panels = []
    for model in contents.models:
        dots = [
            DotRow(row["transformation"], model.colour, (build_average(row),))
            for row in contents.select_model("accuracy_by_transformation", model)
        ]
        panels += draw_panel(model, "Average accuracy by transformation", dots)
    return panels


def _draw_known(contents: Contents) -> list[Panel]:
    """Draw a panel for each model whose learned facts are known."""
    panels = []
    for model in contents.models:
        dots = [
            DotRow(FACTS[row["taught_with"]], model.colour, _both(row))
            for row in contents.select_model("known_mastery", model)
        ]
        panels += draw_panel(model, "Average accuracy and mastery of learned and unseen facts", dots)
    return panels


def order_relations(rows: Sequence[Row]) -> list[str]:
    """Return the relations by mean mastery, then mean accuracy, over the models; the best first."""
    totals: dict[str, list[tuple[float, float]]] = {}
    for row in rows:
        scores = (row["mastery"] or 0.0, row["average_accuracy"] or 0.0)
        totals.setdefault(row["relation"], []).append(scores)

    def key(relation: str) -> tuple[float, float, str]:
        scores = totals[relation]
        mastery, average = (-sum(s[k] for s in scores) / len(scores) for k in (0, 1))
        return round(mastery, 9), round(average, 9), relation

    return sorted(totals, key=key)


def _both(row: Row) -> tuple[Share, Share]:
    return build_average(row), build_mastery(row)
