"""Draw the figures that compare methods, components, transformations, models and editions."""

from collections.abc import Iterable

from report.axes import Scale, scale_points
from report.contents import Contents, Row
from report.drawings import Drawing, Panel, draw_both, draw_panel
from report.formats import format_count, format_words
from report.paper_tables import STEPS
from report.shares import (
    Difference,
    DotRow,
    build_average,
    build_average_difference,
    build_joint,
    build_joint_difference,
    build_mastery_difference,
)


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
