"""Choose the columns of a table that fit a terminal, the key columns first."""

from collections.abc import Sequence

WIDTH = 100
"""The width of a table on the console, in characters, unless all columns are asked for."""
GAP = 2
"""The spaces between two columns."""
# Results with so few columns were chosen by whoever wrote the query, so all of them are shown.
N_ALWAYS_SHOWN = 10
# The columns of views that a reader needs first, in this order.
KEY_COLUMNS = (
    "rank",
    "model",
    "model_a",
    "model_b",
    "relation",
    "transformation",
    "head",
    "average_accuracy",
    "mastery",
    "edition_id",
    "method",
    "scoring_policy",
    "setting",
    "repeat",
    "ci_low",
    "ci_high",
    "no_answer_rate",
    "n_pairs",
)
# These columns say little if they have one value in all rows.
FACTORS = ("edition_id", "method", "scoring_policy", "setting", "repeat")


def choose_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the places of the columns to show, in order: all, or the key columns that fit into WIDTH.

    Args:
        rows: the cells as they are printed.
    """
    widths = measure_columns(columns, rows)
    if len(columns) <= N_ALWAYS_SHOWN or sum(widths) + GAP * (len(widths) - 1) <= WIDTH:
        return list(range(len(columns)))
    ranks = {name: rank for rank, name in enumerate(KEY_COLUMNS)}

    def rank_column(place: int) -> tuple[bool, int, int]:
        name = columns[place]
        is_constant = len({row[place] for row in rows}) <= 1
        return (name in FACTORS and is_constant) or name == "model_id", ranks.get(name, len(ranks)), place

    return fit_columns(widths, sorted(range(len(columns)), key=rank_column))


def measure_columns(columns: Sequence[str], rows: Sequence[Sequence[str]]) -> list[int]:
    """Return the width of every column, in characters."""
    return [max(map(len, cells)) for cells in zip(columns, *rows, strict=True)]


def fit_columns(widths: Sequence[int], order: Sequence[int], n_required: int = 1) -> list[int]:
    """Return the places of the columns that fit into WIDTH together, in the order of the table.

    Args:
        order: the places, the most important one first.
        n_required: how many of the most important ones are chosen in any case.
    """
    chosen: list[int] = []
    used = -GAP
    for place in order:
        if len(chosen) < n_required or used + GAP + widths[place] <= WIDTH:
            chosen.append(place)
            used += GAP + widths[place]
    return sorted(chosen)
