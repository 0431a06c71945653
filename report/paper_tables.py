"""The papers' tables for the console.

Tables 1 to 3 and 15 and figure 4 of PretexEval: methods, components, transformations, relations and joint
accuracy, as gains over random in percentage points, here with 95 % intervals. Where there are several models,
their mean follows, which has no interval. Tables 1 and 2 of MultifacetEval: the facets.
"""

from collections.abc import Callable, Iterable, Sequence
from pathlib import Path
from statistics import fmean
from typing import Any

from report.console import align, format_share
from report.facet_scores import FACETS, FacetScores, read_facet_scores
from warehouse.query import read_rows, run_query

Query = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]
Cells = dict[tuple[str, str], str]

PAPER_ORDER = ("coin-flip", "strict", "excluded")
METHODS = ("origin", "direct", "llmeval", "prototype", "pretexeval")
COMPONENTS = {
    "full": "PretexEval",
    "without_transformations": "w/o transformations",
    "without_rephrasing": "w/o rephrasing",
}
# The steps of ablations, in PretexEval's order.
STEPS = {1: "none", 2: "+ inversion", 3: "+ denial", 4: "+ instantiation (all)"}
# The columns of MultifacetEval.
PAPER_NAMES = dict(zip(FACETS, ("Comp.", "Rect.", "Disc.", "Veri."), strict=True))
MEAN = "mean of models"
GAIN = ", ".join(f"100 * (average_accuracy{end} - 0.5)" for end in ("", "_ci_low", "_ci_high"))


def render_all_tables(root: Path, edition_id: str) -> str:
    """Return the tables of both papers for an edition, without those that would be empty.

    The papers fill missing answers by a coin. If the edition was not scored so, the first policy is taken.
    """
    scores = read_facet_scores(lambda sql: read_rows(root, sql), edition_id)
    of_samples = read_rows(
        root,
        "select scoring_policy, method, min(n_samples) as least, max(n_samples) as most from leaderboard "
        f"where edition_id = '{edition_id}' and repeat = 0 group by all order by method",
    )
    policies = {row["scoring_policy"] for row in of_samples} | {score.scoring_policy for score in scores}
    policy = min(policies, key=PAPER_ORDER.index, default=PAPER_ORDER[0])
    chosen = [score for score in scores if score.scoring_policy == policy]
    counts = [
        f"{row['method']} {row['most']:,}"
        if row["least"] == row["most"]
        else f"{row['method']} {row['least']:,} to {row['most']:,}"
        for row in of_samples
        if row["scoring_policy"] == policy
    ]
    counts += [f"questions ({score.model}, {score.setting}) {score.n_questions:,}" for score in chosen]
    head = f"Scoring policy {policy}. Graded samples or questions of each model: {', '.join(counts)}"
    tables = (
        render_paper_tables(lambda sql: run_query(root, sql), edition_id, policy),
        render_paper_facets(chosen),
    )
    return "\n\n".join(table for table in (head, *tables) if table)


def render_paper_tables(query: Query, edition_id: str, policy: str) -> str:
    """Return the six tables of an edition under a scoring policy, without those that would be empty.

    Args:
        query: runs SQL on the warehouse and returns columns and rows.
    """
    where = f"where edition_id = '{edition_id}' and scoring_policy = '{policy}' and repeat = 0"
    parts = [
        ("Methods: gain over random", METHODS, f"select model, method, {GAIN} from leaderboard {where}"),
        (
            "Components: gain over random",
            tuple(COMPONENTS.values()),
            f"select model, {_name('component', COMPONENTS)}, {GAIN} from ablations {where} "
            "and ablation = 'components'",
        ),
        (
            "Transformations: gain over random",
            tuple(STEPS.values()),
            f"select model, {_name('step', STEPS)}, {GAIN} from ablations {where} "
            "and method = 'pretexeval' and ablation = 'pretexeval'",
        ),
    ]
    tables = [_render_gains(title, columns, query(sql)[1]) for title, columns, sql in parts]
    sql = (
        "select model, method, 100 * difference, 100 * difference_ci_low, 100 * difference_ci_high, "
        f"relative_loss from method_comparison {where} order by model, model_id"
    )
    tables.insert(1, _render_losses(query(sql)[1]))
    sql = (
        f"select model, relation, {GAIN} from accuracy_by_relation {where} and method = 'pretexeval' "
        "order by relation, model"
    )
    tables.append(_render_relations(query(sql)[1]))
    sql = f"select model, method, n, 100 * joint_accuracy from joint_accuracy_curve {where} order by all"
    tables.append(_render_curve(query(sql)[1]))
    return "\n\n".join(table for table in tables if table)


def _name(column: str, names: dict[Any, str]) -> str:
    cases = " ".join(f"when {key!r} then '{name}'" for key, name in names.items())
    return f"case {column} {cases} end"


def _render_gains(title: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> str | None:
    found = [row for row in rows if row[2] is not None]
    cells = _render_cells(found)
    for name, mean in _average(found).items():
        cells[MEAN, name] = mean
    return _render_grid(title, columns, cells)


def _render_losses(rows: Iterable[tuple[Any, ...]]) -> str | None:
    """Return how much lower each model scores by PretexEval, on the same pairs, with the relative loss."""
    found = [row for row in rows if row[2] is not None]
    cells = _render_cells(row[:5] for row in found)
    for model, method, *_, loss in found:
        cells[model, method] += "" if loss is None else f" loss {100 * loss:.0f} %"
    title = (
        "PretexEval minus each other method, in points of average accuracy, and the relative loss of the gain"
    )
    return _render_grid(title, METHODS, cells)


def _render_relations(rows: Iterable[tuple[Any, ...]]) -> str | None:
    """Return a line per relation and a column per model, because there are more relations than fit."""
    found = [(relation, model, *gains) for model, relation, *gains in rows if gains[0] is not None]
    models = list(dict.fromkeys(model for _, model, *_ in found))
    cells = _render_cells(found)
    if len(models) > 1:
        for relation, mean in _average([(model, name, *gain) for name, model, *gain in found]).items():
            cells[relation, MEAN] = mean
    return _render_grid("Relations: gain over random", (*models, MEAN), cells, "relation")


def _render_cells(rows: Iterable[tuple[Any, ...]]) -> Cells:
    return {(one, other): f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]" for one, other, gain, low, high in rows}


def _average(rows: Sequence[tuple[Any, ...]]) -> dict[str, str]:
    """Return column -> the mean of the models, for the columns that all of several models have."""
    models = {model for model, *_ in rows}
    gains: dict[str, list[float]] = {}
    for _, name, gain, *_ in rows:
        gains.setdefault(name, []).append(gain)
    if len(models) < 2:
        return {}
    return {name: f"{fmean(values):+.1f}" for name, values in gains.items() if len(values) == len(models)}


def _render_curve(rows: Iterable[tuple[Any, ...]]) -> str | None:
    """Return a line per model and method, then the means of the models by method."""
    found = [row for row in rows if row[3] is not None]
    cells: Cells = {(f"{model}, {method}", str(n)): f"{joint:.1f}" for model, method, n, joint in found}
    for (method, n), values in _group_values(found).items():
        if len(values) == len({model for model, *_ in found}) > 1:
            cells[f"{MEAN}, {method}", str(n)] = f"{fmean(values):.1f}"
    counts = sorted({n for _, n in cells}, key=int)
    return _render_grid("Joint accuracy (%) when n samples are asked", counts, cells)


def _group_values(rows: Iterable[tuple[Any, ...]]) -> dict[tuple[str, int], list[float]]:
    """Return (method, n) -> the joint accuracies of the models."""
    values: dict[tuple[str, int], list[float]] = {}
    for _, method, n, joint in rows:
        values.setdefault((method, n), []).append(joint)
    return values


def _render_grid(title: str, columns: Sequence[str], cells: Cells, first: str = "model") -> str | None:
    if not cells:
        return None
    present = [column for column in columns if any(name == column for _, name in cells)]
    lines = list(dict.fromkeys(line for line, _ in cells))
    rows = [[line, *(cells.get((line, column), "-") for column in present)] for line in lines]
    return f"{title}\n{align([first, *present], rows)}"


def render_paper_facets(scores: Sequence[FacetScores]) -> str:
    """Return a table per setting as in the paper: accuracies of the facets in %, and their macro average.

    Args:
        scores: the scores under one policy.
    """
    settings = dict.fromkeys(score.setting for score in scores)
    return "\n\n".join(
        _render_setting(setting, [score for score in scores if score.setting == setting])
        for setting in settings
    )


def _render_setting(setting: str, scores: Sequence[FacetScores]) -> str:
    facets = list(scores[0].facets)
    random = [scores[0].facets[facet]["random_baseline"] for facet in facets]
    rows = [["Random", *map(format_share, [*random, scores[0].random_average])]]
    for score in scores:
        accuracies = [score.facets[facet]["accuracy"] for facet in facets]
        rows.append([score.model, *map(format_share, [*accuracies, score.average])])
    names = [PAPER_NAMES[facet] for facet in facets]
    return f"Facets: accuracy (%), {setting}\n{align(['model', *names, 'Average'], rows)}"
