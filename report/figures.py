"""Draw the figures of a page from the rows of the views."""

from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from typing import Any

import altair as alt
from markupsafe import Markup

from report.axes import (
    BASELINE,
    FONT,
    MUTED,
    PERCENT,
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
from report.browser.links import link_mastered, link_samples
from report.contents import Contents, Model, Row
from report.curves import draw_method_curves, draw_named_curves
from report.drawings import PANEL, Drawing, Panel, draw_both, draw_panel
from report.facet_scores import FacetScores
from report.formats import BASELINES, format_count, format_percent, format_words
from report.shares import (
    Curve,
    Difference,
    DotRow,
    Measure,
    Share,
    build_all_right_measure,
    build_average,
    build_average_difference,
    build_curve_share,
    build_mastery,
    build_mastery_difference,
)
from schemas.question_stages import SETTINGS

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


def _differences(row: Row) -> tuple[Difference, Difference]:
    """Return the differences in average accuracy and mastery of a row of model_comparison."""
    samples = f"{format_count(row['n_samples'])} samples"
    facts = f"{format_count(row['n_complete_pairs'])} facts"
    return build_average_difference(row, samples), build_mastery_difference(row, facts)


def _scale(differences: Iterable[tuple[Difference, Difference]]) -> Scale:
    """Return one scale for all panels of a figure."""
    found = [difference for both in differences for difference in both]
    return scale_points(limit for d in found for limit in (d.low, d.high) if limit is not None)


@dataclass(frozen=True)
class Figures:
    """The figures of a page; a figure is None or empty if there is nothing to draw."""

    overview: Drawing | None
    comparison: Drawing | None
    curve: Drawing | None
    method_curves: Drawing | None
    relations: list[Panel]
    transformations: list[Panel]
    reliability: list[Panel]
    facets: list[Panel]
    mastered: list["SettingDrawing"]


def draw_figures(contents: Contents) -> Figures:
    """Return all figures of the page."""
    return Figures(
        overview=_draw_overview(contents),
        comparison=draw_comparison(contents),
        curve=_draw_curve(contents),
        method_curves=draw_method_curves(contents),
        relations=_draw_relations(contents),
        transformations=_draw_transformations(contents),
        reliability=draw_reliability_panels(contents),
        facets=draw_facets(contents),
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
        for row in contents.views["shortcut_baselines"]
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
    return draw_named_curves(title, curves)


def _draw_relations(contents: Contents) -> list[Panel]:
    """Draw a panel per model; the relations have one order, the hardest to master last."""
    order = order_relations(contents.views["accuracy_by_relation"])
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
            for row in contents.select_model("form_effects", model)
        ]
        panels += draw_panel(model, "Average accuracy by transformation", dots)
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


ACCURACY = {
    "answer_only": Measure("accuracy, answer only"),
    "chain_of_thought": Measure("accuracy, chain of thought", "diamond", "◆"),
}
MASTERED = Measure("mastered points")
# The dash patterns of curves without and with negated questions.
_SOLID, _DASHED = (1, 0), (6, 3)
_SHORT = {"comparison": "Comp.", "verification": "Veri.", "rectification": "Rect.", "discrimination": "Disc."}


def draw_facets(contents: Contents) -> list[Panel]:
    """Return a panel per model with a row per facet, and in it a mark per setting."""
    scores = contents.questions.scores if contents.questions else []
    if not scores:
        return []
    scale = replace(PERCENT, middle=scores[0].random_average or 0)
    panels = []
    for model in contents.models:
        of_model = [score for score in scores if score.model_id == model.model_id]
        dots = [
            DotRow(
                f"{facet} (random: {format_percent(row['random_baseline'], 0)})",
                model.colour,
                tuple(_build_facet(score, facet) for score in of_model),
            )
            for facet, row in (of_model[0].facets.items() if of_model else ())
        ]
        panels += draw_panel(model, "Accuracy of each facet", dots, scale)
    return panels


def _build_facet(score: FacetScores, facet: str) -> Share:
    row = score.facets[facet]
    of = f"{format_count(row['n_questions'])} questions of {format_count(row['n_points'])} points"
    link = link_samples(row) if row["accuracy"] is not None else ""
    return Share(
        ACCURACY[score.setting], row["accuracy"], row["accuracy_ci_low"], row["accuracy_ci_high"], of, link
    )


@dataclass(frozen=True)
class SettingDrawing:
    """The curves of all models in one setting."""

    setting: str
    drawing: Drawing
    n_points: str
    """The numbers of points, in words."""


def draw_mastered(contents: Contents) -> list[SettingDrawing]:
    """Return a figure per setting: mastered points as facets are added, without and with negations."""
    if contents.questions is None:
        return []
    drawn = []
    for setting in SETTINGS:
        rows = [row for row in contents.questions.mastered if row["setting"] == setting]
        curves = [curve for model in contents.models for curve in _build_curves(model, rows)]
        if curves:
            facets = max((row["facets"] for row in rows), key=len)
            title = f"Mastered points as facets are added, {format_words(setting)}"
            full, short = _label(facets), _label([_SHORT[facet] for facet in facets])
            drawing = draw_named_curves(title, curves, full, short)
            drawn.append(SettingDrawing(setting, drawing, _count_points(rows)))
    return drawn


def _label(facets: list[str]) -> list[str]:
    return [facets[0], *(f"+ {facet}" for facet in facets[1:])]


def _build_curves(model: Model, rows: list[Row]) -> list[Curve]:
    """Return the curve of the model without negated questions, and the one with them."""
    curves = []
    for is_negated_included in (False, True):
        steps = [
            row
            for row in rows
            if row["model_id"] == model.model_id and row["is_negated_included"] == is_negated_included
        ]
        if steps:
            name = f"{model.label}, negated too" if is_negated_included else model.label
            dash = _DASHED if is_negated_included else _SOLID
            curves.append(Curve(name, model.colour, dash, tuple(map(_build_share, steps))))
    return curves


def _build_share(row: Row) -> Share:
    of = f"{format_count(row['n_points'])} points; {', '.join(row['facets'])}"
    link = link_mastered(row, "mastered_rate")
    return Share(
        MASTERED, row["mastered_rate"], row["mastered_rate_ci_low"], row["mastered_rate_ci_high"], of, link
    )


def _count_points(rows: list[Row]) -> str:
    last = max(row["step"] for row in rows)
    counts = [
        max(row["n_points"] for row in rows if row["step"] == last and row["is_negated_included"] == negated)
        for negated in (False, True)
    ]
    return f"{format_count(counts[0])} points, {format_count(counts[1])} with negated questions"
