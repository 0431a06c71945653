"""Draw the figures of a page from the rows of the views."""

from collections.abc import Sequence
from dataclasses import dataclass

from report.comparisons import (
    draw_comparison,
    draw_components,
    draw_drift,
    draw_methods,
    draw_steps,
)
from report.contents import Contents, Row
from report.curves import draw_curves
from report.drawings import PANEL, Drawing, Panel, draw_both, draw_panel
from report.formats import BASELINES, FACTS, format_words
from report.method_curves import MethodCurves, draw_method_curves
from report.palette import BASELINE
from report.question_figures import SettingDrawing, draw_mastered, draw_radars
from report.reliability import draw_reliability_panels
from report.shares import (
    Curve,
    DotRow,
    Share,
    build_all_right_measure,
    build_average,
    build_curve_share,
    build_mastery,
)

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
