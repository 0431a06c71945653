"""Draw the figures about questions: a radar of facets per model, and falling curves of mastered points."""

from dataclasses import dataclass

from report.browser.links import link_mastered, link_samples
from report.contents import Contents, Model, Row
from report.curves import draw_curves
from report.drawings import PANEL, Drawing, Panel
from report.facet_scores import FacetScores
from report.formats import format_count, format_words
from report.palette import BASELINE
from report.radar import draw_radar
from report.shares import Curve, Measure, Share
from schemas.question_stages import SETTINGS

WIDE = 660
GUTTER = 170
ACCURACY = Measure("accuracy")
MASTERED = Measure("mastered points")
# The dash patterns: the second setting of a radar, random answers, and curves with negated questions.
_SECOND = (6, 3)
_DOTTED = (2, 3)
_SOLID = (1, 0)
_SHORT = {"comparison": "Comp.", "verification": "Veri.", "rectification": "Rect.", "discrimination": "Disc."}


@dataclass(frozen=True)
class SettingDrawing:
    """The curves of all models in one setting."""

    setting: str
    drawing: Drawing
    n_points: str
    """The numbers of points, in words."""


def draw_radars(contents: Contents) -> list[Panel]:
    """Return a panel per model: a polygon of its facets in each setting, and that of random answers."""
    if contents.questions is None:
        return []
    panels = []
    for model in contents.models:
        scores = [score for score in contents.questions.scores if score.model_id == model.model_id]
        if scores:
            axes = list(scores[0].facets)
            polygons = [_build_random(scores[0]), *(_build_polygon(score, model) for score in scores)]
            panels.append(Panel(model, draw_radar(f"Facets of {model.label}", axes, polygons)))
    return panels


def _build_random(score: FacetScores) -> Curve:
    shares = tuple(
        Share(ACCURACY, row["random_baseline"], None, None, "by formula") for row in score.facets.values()
    )
    return Curve("random answers", BASELINE, _DOTTED, shares)


def _build_polygon(score: FacetScores, model: Model) -> Curve:
    shares = tuple(
        Share(
            ACCURACY,
            row["accuracy"],
            row["ci_low"],
            row["ci_high"],
            f"{format_count(row['n_questions'])} questions of {format_count(row['n_points'])} points",
            link_samples(row) if row["accuracy"] is not None else "",
        )
        for row in score.facets.values()
    )
    dash = _SOLID if score.setting == SETTINGS[0] else _SECOND
    return Curve(format_words(score.setting), model.colour, dash, shares)


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
            drawing = Drawing(
                draw_curves(title, curves, WIDE, GUTTER, full),
                draw_curves(title, curves, PANEL, labels=short),
            )
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
            dash = _SECOND if is_negated_included else _SOLID
            curves.append(Curve(name, model.colour, dash, tuple(map(_build_share, steps))))
    return curves


def _build_share(row: Row) -> Share:
    of = f"{format_count(row['n_points'])} points; {', '.join(row['facets'])}"
    link = link_mastered(row, "mastered_rate")
    return Share(MASTERED, row["mastered_rate"], row["ci_low"], row["ci_high"], of, link)


def _count_points(rows: list[Row]) -> str:
    last = max(row["step"] for row in rows)
    counts = [
        max(row["n_points"] for row in rows if row["step"] == last and row["is_negated_included"] == negated)
        for negated in (False, True)
    ]
    return f"{format_count(counts[0])} points, {format_count(counts[1])} with negated questions"
