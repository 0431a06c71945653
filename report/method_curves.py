"""Draw the joint accuracy by every method on one chart, as the mean of the models (PretexEval, figure 4)."""

from collections import defaultdict
from dataclasses import dataclass
from statistics import fmean

from report.contents import Contents, Row
from report.curves import draw_curves
from report.drawings import PANEL, Drawing
from report.formats import format_percent
from report.palette import model_colour
from report.paper_tables import METHODS
from report.shares import Curve, Share, build_all_right_measure
from schemas.stages import SINGLE_METHODS

WIDTH = 660
GUTTER = 110


@dataclass(frozen=True)
class MeanShare(Share):
    """The mean of the models' shares. It has no interval, because the models are no sample of all models."""

    @property
    def text(self) -> str:
        """Return the measure, the mean and the number of models in words."""
        return f"{self.measure.name} {format_percent(self.value)} ({self.of})"


@dataclass(frozen=True)
class MethodCurves:
    """The chart, and its curves."""

    drawing: Drawing
    curves: list[Curve]


def draw_method_curves(contents: Contents) -> MethodCurves | None:
    """Return the chart; None unless the same models were asked by two methods with several samples."""
    means, n_models = average_curves(contents.method_curves)
    if len(means.keys() - set(SINGLE_METHODS)) < 2:
        return None
    of = "one model" if n_models == 1 else f"mean of {n_models} models"
    curves = [
        Curve(method, model_colour(METHODS.index(method)), (1, 0), _build_shares(means[method], of))
        for method in METHODS
        if method in means
    ]
    title = f"Joint accuracy by method and by number of samples asked, n: {of}"
    drawing = Drawing(draw_curves(title, curves, WIDTH, GUTTER), draw_curves(title, curves, PANEL))
    return MethodCurves(drawing, curves)


def average_curves(rows: list[Row]) -> tuple[dict[str, list[float]], int]:
    """Return method -> the mean joint accuracy at n = 1, 2, …, and the number of models.

    Only the models that were asked by every method count.

    Args:
        rows: rows of joint_accuracy_curve of one edition, policy and repeat, by every method.
    """
    known = [row for row in rows if row["joint_accuracy"] is not None]
    methods = {row["method"] for row in known}
    asked = defaultdict(set)
    for row in known:
        asked[row["model_id"]].add(row["method"])
    models = {model_id for model_id, of_model in asked.items() if of_model == methods}
    values: dict[tuple[str, int], list[float]] = defaultdict(list)
    for row in known:
        if row["model_id"] in models:
            values[row["method"], row["n"]].append(row["joint_accuracy"])
    means: dict[str, list[float]] = defaultdict(list)
    for method, n in sorted(values):
        means[method].append(fmean(values[method, n]))
    return dict(means), len(models)


def _build_shares(means: list[float], of: str) -> tuple[Share, ...]:
    return tuple(
        MeanShare(build_all_right_measure(n), mean, None, None, of) for n, mean in enumerate(means, start=1)
    )
