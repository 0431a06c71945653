"""The papers' tables for the console.

Tables 1 to 3 and 15 and figure 4 of PretexEval: methods, components, transformations, relations and joint
accuracy, as gains over random in percentage points, here with 95 % intervals. Where there are several models,
their mean follows, which has no interval. Tables 1 and 2 of MultifacetEval: the facets.
"""

from collections.abc import Callable, Mapping, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from report.columns import FACETS, TABLES, Row
from report.console import align
from report.facet_scores import read_facet_scores
from report.score_tables import render_facets
from warehouse.query import read_rows

PAPER_ORDER = ("coin-flip", "strict", "excluded")
METHODS = {name: name for name in ("origin", "direct", "llmeval", "prototype", "pretexeval")}
COMPONENTS = {
    "full": "PretexEval",
    "without_transformations": "w/o transformations",
    "without_rephrasing": "w/o rephrasing",
}
# The steps of ablations, in PretexEval's order.
STEPS = {1: "none", 2: "+ inversion", 3: "+ denial", 4: "+ instantiation (all)"}
# The columns of MultifacetEval, tables 1 and 2.
OF_QUESTIONS = ("model_id", "setting", *FACETS, "average")
MEAN = "mean of models"
_LIMITS = ("value", "low", "high")
GAIN = ", ".join(
    f"100 * (average_accuracy{end} - 0.5) as {name}"
    for end, name in zip(("", "_ci_low", "_ci_high"), _LIMITS, strict=True)
)
LOSS = ", ".join(
    f"100 * difference{end} as {name}" for end, name in zip(("", "_ci_low", "_ci_high"), _LIMITS, strict=True)
)
LOSSES = (
    "PretexEval minus each other method, in points of average accuracy, and the relative loss of the gain"
)


def render_all_tables(root: Path, edition_id: str) -> str:
    """Return the tables of both papers for an edition, without those that would be empty.

    The papers fill missing answers by a coin. If the edition was not scored so, the first policy is taken.
    """
    scores = read_facet_scores(lambda sql: read_rows(root, sql), edition_id, has_all_policies=True)
    of_samples = read_rows(
        root,
        "select scoring_policy, method, min(n_samples) as least, max(n_samples) as most from leaderboard "
        f"where edition_id = '{edition_id}' and repeat = 0 group by all order by method",
    )
    policies = {row["scoring_policy"] for row in (*of_samples, *scores)}
    policy = min(policies, key=PAPER_ORDER.index, default=PAPER_ORDER[0])
    chosen = [row for row in scores if row["scoring_policy"] == policy]
    counts = [
        f"{row['method']} {row['most']:,}"
        if row["least"] == row["most"]
        else f"{row['method']} {row['least']:,} to {row['most']:,}"
        for row in of_samples
        if row["scoring_policy"] == policy
    ]
    counts += [f"questions ({row['model']}, {row['setting']}) {row['n_questions']:,}" for row in chosen]
    head = f"Scoring policy {policy}. Graded samples or questions of each model: {', '.join(counts)}"
    tables = [render_paper_tables(lambda sql: read_rows(root, sql), edition_id, policy)]
    if chosen:
        columns = [column for column in TABLES["facets"] if column.name in OF_QUESTIONS]
        tables.append(f"Facets: accuracy\n{render_facets(chosen, columns)}")
    return "\n\n".join(table for table in (head, *tables) if table)


def render_paper_tables(read: Callable[[str], list[Row]], edition_id: str, policy: str) -> str:
    """Return the tables of an edition under a scoring policy, without those that would be empty.

    Args:
        read: runs SQL on the warehouse and returns the rows.
    """
    where = f"where edition_id = '{edition_id}' and scoring_policy = '{policy}' and repeat = 0"

    def read_gains(column: str, source: str, condition: str = "true") -> list[Row]:
        chosen = f"from {source} {where} and {condition} order by part, model"
        return read(f"select model, {column} as part, {GAIN} {chosen}")

    by_order = "method = 'pretexeval' and ablation = 'pretexeval'"
    losses = read(
        f"select model, method as part, {LOSS}, relative_loss from method_comparison {where} order by all"
    )
    curve = read(
        f"select model, method, n as part, 100 * joint_accuracy as value from joint_accuracy_curve {where} "
        "order by all"
    )
    grids = [
        _render_grid("Methods: gain over random", METHODS, read_gains("method", "leaderboard")),
        _render_grid(LOSSES, METHODS, losses, has_mean=False),
        _render_grid(
            "Components: gain over random",
            COMPONENTS,
            read_gains("component", "ablations", "ablation = 'components'"),
        ),
        _render_grid("Transformations: gain over random", STEPS, read_gains("step", "ablations", by_order)),
        _render_grid(
            "Relations: gain over random",
            {},
            read_gains("relation", "accuracy_by_relation", "method = 'pretexeval'"),
            is_turned=True,
        ),
    ]
    for method in dict.fromkeys(row["method"] for row in curve):
        rows = [row for row in curve if row["method"] == method]
        grids.append(
            _render_grid(f"Joint accuracy (%) when n samples are asked, {method}", {}, rows, form=".1f")
        )
    return "\n\n".join(filter(None, grids))


def _render_grid(
    title: str,
    names: Mapping[Any, str],
    rows: Sequence[Row],
    *,
    form: str = "+.1f",
    has_mean: bool = True,
    is_turned: bool = False,
) -> str | None:
    """Return a table with a line per model, and a column per part; None if no row has a value.

    Args:
        names: part -> the head of its column, in the order of the paper; without names, parts stand in the
            order of the rows.
        form: the format of the values.
        has_mean: whether the mean of the models follows, for parts that all of several models have.
        is_turned: whether parts are lines, because there are more of them than fit.
    """
    known = [row for row in rows if row["value"] is not None]
    if not known:
        return None
    models = list(dict.fromkeys(row["model"] for row in known))
    cells = {(row["model"], row["part"]): _write_cell(row, form) for row in known}
    parts = [
        part
        for part in names or dict.fromkeys(row["part"] for row in known)
        if any((m, part) in cells for m in models)
    ]
    if has_mean and len(models) > 1:
        for part in parts:
            values = [row["value"] for row in known if row["part"] == part]
            cells[MEAN, part] = f"{fmean(values):{form}}" if len(values) == len(models) else "-"
        models.append(MEAN)
    lines = [
        [str(names.get(part, part)), *(cells.get((model, part), "-") for model in models)] for part in parts
    ]
    head = ["relation", *models]
    if not is_turned:
        head, *lines = map(list, zip(["model", *models], *lines, strict=True))
    return f"{title}\n{align(head, lines)}"


def _write_cell(row: Row, form: str) -> str:
    text = f"{row['value']:{form}}"
    if "low" in row:
        text += " [too few]" if row["low"] is None else f" [{row['low']:{form}}, {row['high']:{form}}]"
    return text if row.get("relative_loss") is None else f"{text} loss {100 * row['relative_loss']:.0f} %"
