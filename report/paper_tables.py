"""Render the papers' tables for the console: methods, components, transformations, joint accuracy curve.

They correspond to tables 1 to 3 and figure 4 of PretexEval: gains over random in percentage points, here with
95 % intervals.
"""

from collections.abc import Callable, Iterable, Sequence
from typing import Any

from report.console import align

Query = Callable[[str], tuple[list[str], list[tuple[Any, ...]]]]
Cells = dict[tuple[str, str], str]

METHODS = ("direct", "llmeval", "prototype", "pretexeval")
COMPONENTS = {
    "full": "PretexEval",
    "without_transformations": "w/o transformations",
    "without_rephrasing": "w/o rephrasing",
}
# The steps of transformation_ablation, in PretexEval's order.
STEPS = {1: "none", 2: "+ inversion", 3: "+ denial", 4: "+ instantiation (all)"}
GAIN = "100 * (average_accuracy - 0.5), 100 * (ci_low - 0.5), 100 * (ci_high - 0.5)"


def render_paper_tables(query: Query, edition_id: str) -> str:
    """Return the four tables of an edition under the policy strict, without those that would be empty.

    Args:
        query: runs SQL on the warehouse and returns columns and rows.
    """
    where = f"where edition_id = '{edition_id}' and scoring_policy = 'strict' and repeat = 0"
    parts = [
        ("Methods: gain over random", METHODS, f"select model, method, {GAIN} from average_accuracy {where}"),
        (
            "Components: gain over random",
            tuple(COMPONENTS.values()),
            f"select model, {_name('component', COMPONENTS)}, {GAIN} from component_ablation {where}",
        ),
        (
            "Transformations: gain over random",
            tuple(STEPS.values()),
            f"select model, {_name('step', STEPS)}, {GAIN} from transformation_ablation {where} "
            "and method = 'pretexeval' and ablation = 'pretexeval'",
        ),
    ]
    tables = [_render_gains(title, columns, query(sql)[1]) for title, columns, sql in parts]
    sql = f"select model, method, n, 100 * joint_accuracy from joint_accuracy_curve {where} order by all"
    tables.append(_render_curve(query(sql)[1]))
    return "\n\n".join(table for table in tables if table)


def _name(column: str, names: dict[Any, str]) -> str:
    cases = " ".join(f"when {key!r} then '{name}'" for key, name in names.items())
    return f"case {column} {cases} end"


def _render_gains(title: str, columns: Sequence[str], rows: Iterable[tuple[Any, ...]]) -> str | None:
    cells: Cells = {
        (model, name): f"{gain:+.1f} [{low:+.1f}, {high:+.1f}]"
        for model, name, gain, low, high in rows
        if gain is not None
    }
    return _render_grid(title, columns, cells)


def _render_curve(rows: Iterable[tuple[Any, ...]]) -> str | None:
    cells: Cells = {
        (f"{model}, {method}", str(n)): f"{joint:.1f}"
        for model, method, n, joint in rows
        if joint is not None
    }
    counts = sorted({n for _, n in cells}, key=int)
    return _render_grid("Joint accuracy (%) when n samples are asked", counts, cells)


def _render_grid(title: str, columns: Sequence[str], cells: Cells) -> str | None:
    if not cells:
        return None
    present = [column for column in columns if any(name == column for _, name in cells)]
    models = list(dict.fromkeys(model for model, _ in cells))
    rows = [[model, *(cells.get((model, column), "-") for column in present)] for model in models]
    return f"{title}\n{align(['model', *present], rows)}"
