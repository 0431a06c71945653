"""A year of weekly editions in fast motion: ``python -m benchmarks --only year``.

Lives a year of the weeks that tests/flows/test_weeks.py checks, prints a row per week, and draws the
picture of docs/operations.md: the accuracy of each model by week, and the size of the data folder.
"""

import tempfile
from collections.abc import Sequence
from pathlib import Path

import altair as alt
import vl_convert

from benchmarks.measuring import REPOSITORY, build_parser
from report.console import align
from tests.support.weeks import YEAR, LivedWeeks, Week, name_week, serve_models, start_history

PICTURES = REPOSITORY / "docs" / "pictures"
# Theme -> the colours of the ground, of texts, and of lines, and those of the three models.
THEMES = {
    "light": (("#ffffff", "#1f2328", "#d1d9e0"), ("#1b62b6", "#e46911", "#065f02")),
    "dark": (("#0d1117", "#f0f6fc", "#3d444d"), ("#2f9eb6", "#fb910e", "#6da50d")),
}
EVENTS = {
    YEAR.missed[0]: f"W10 and W11 made after W{YEAR.backfilled_after}",
    YEAR.added_in: "a model is added",
    YEAR.changed_in: "an endpoint changes",
    YEAR.withdrawn: "an edition is withdrawn",
}
# Part of the picture -> the folders and files of the root that it adds up.
PARTS = {
    "history of Prefect": ("prefect",),
    "answers": ("responses",),
    "anchors": ("anchor_predictions",),
    "cache of stages": ("cache",),
    "warehouse": ("warehouse.duckdb",),
    "pages": ("report",),
    "editions and predictions": ("editions", "predictions", "checks", "diversity", "guesses", "failures"),
}
WIDTH, HEIGHT = 860, 220
VEGA_LITE = "6.4"


def main(arguments: Sequence[str]) -> None:
    """Live the year, print a row per week, and write the pictures."""
    parser = build_parser("year", __doc__)
    parser.add_argument("--pictures", type=Path, default=PICTURES, metavar="FOLDER", help="where they go")
    options = parser.parse_args(arguments)
    with tempfile.TemporaryDirectory(prefix="pretexeval-year-") as name, serve_models() as endpoint:
        folder = Path(name)
        year = LivedWeeks(YEAR, folder, start_history(folder / "data"), endpoint)
        year.live()
        weeks = sorted(year.weeks, key=lambda week: week.number)
    names = list(weeks[-1].accuracy)
    rows = [
        [name_week(week.number), f"{week.seconds:.1f}", f"{sum(week.n_bytes.values()) / 1e6:.1f}"]
        + [f"{100 * week.accuracy[name]:.1f}" if name in week.accuracy else "" for name in names]
        for week in weeks
    ]
    print(align(["week", "seconds", "root (MB)", *(f"{name} (%)" for name in names)], rows))
    for theme in THEMES:
        draw_year(year.weeks, theme, options.pictures / f"year-{theme}.svg")


def draw_year(weeks: Sequence[Week], theme: str, path: Path) -> None:
    """Write the picture of a year.

    Args:
        weeks: in the order in which they were lived.
    """
    (ground, text, line), colours = THEMES[theme]
    charts = _draw_accuracy(weeks, text, colours), _draw_sizes(weeks)
    chart = alt.vconcat(*charts, spacing=24).resolve_scale(color="independent", shape="independent")
    chart = chart.configure(
        background=ground,
        axis=alt.AxisConfig(
            labelColor=text, titleColor=text, gridColor=line, domainColor=line, tickColor=line
        ),
        legend=alt.LegendConfig(labelColor=text, titleColor=text, symbolBaseFillColor=text),
        title=alt.TitleConfig(color=text, anchor="start"),
        view=alt.ViewConfig(stroke=None),
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.write_text(vl_convert.vegalite_to_svg(chart.to_json(), vl_version=VEGA_LITE), encoding="utf-8")


def _draw_accuracy(weeks: Sequence[Week], text: str, colours: Sequence[str]) -> alt.LayerChart:
    points = [
        {"week": week.number, "model": name, "accuracy": accuracy, "edition": _describe(week.number)}
        for week in sorted(weeks, key=lambda week: week.number)
        for name, accuracy in week.accuracy.items()
    ]
    events = [{"week": number, "event": event} for number, event in EVENTS.items()]
    x = alt.X("week:Q").title(None).scale(domain=[1, 53], nice=False).axis(tickCount=12, grid=False)
    y = alt.Y("accuracy:Q").title("average accuracy").scale(zero=False).axis(format="%")
    colour = alt.Color("model:N").title("model").scale(domain=list(weeks[-1].accuracy), range=list(colours))
    shape = (
        alt.Shape("edition:N")
        .title("edition")
        .scale(domain=["on time", "made later", "withdrawn"], range=["circle", "square", "cross"])
    )
    lines = alt.Chart(alt.Data(values=[p for p in points if p["edition"] != "withdrawn"]))
    marks = alt.Chart(alt.Data(values=points))
    rules = alt.Chart(alt.Data(values=events))
    return alt.layer(
        rules.mark_rule(strokeDash=[3, 3], color=text, opacity=0.5).encode(x=x),
        rules.mark_text(align="left", baseline="bottom", dx=3, fontSize=10, color=text).encode(
            x=x, y=alt.value(-2), text="event:N"
        ),
        lines.mark_line(strokeWidth=1.5).encode(x=x, y=y, color=colour),
        marks.mark_point(filled=True, size=32, opacity=1).encode(x=x, y=y, color=colour, shape=shape),
    ).properties(width=WIDTH, height=HEIGHT, title="Scores of the weekly editions")


def _draw_sizes(weeks: Sequence[Week]) -> alt.Chart:
    parts = [
        {"week": n, "part": part, "size": sum(week.n_bytes.get(name, 0) for name in names) / 1e6}
        for n, week in enumerate(weeks, start=1)
        for part, names in PARTS.items()
    ]
    return (
        alt.Chart(alt.Data(values=parts))
        .mark_area()
        .encode(
            x=alt.X("week:Q").title("week").scale(domain=[1, 53], nice=False).axis(tickCount=12, grid=False),
            y=alt.Y("size:Q").title("MB"),
            color=alt.Color("part:N").title("part").scale(domain=list(PARTS), scheme="tableau10"),
            order=alt.Order("place:Q"),
        )
        .transform_calculate(place=f"indexof({list(PARTS)}, datum.part)")
        .properties(width=WIDTH, height=HEIGHT, title="Size of the data folder")
    )


def _describe(number: int) -> str:
    return "withdrawn" if number == YEAR.withdrawn else "made later" if number in YEAR.missed else "on time"
