"""Meanings of the tables and columns of the warehouse: the texts of the stages, and of meanings.toml."""

import re
from collections.abc import Iterable
from functools import cache
from pathlib import Path

from pretexeval.primitives.toml_files import Table, parse_toml
from schemas.columns import Stage
from schemas.stages import SAMPLES, STAGES

# Every limit of an interval is named after its score.
_LIMIT = re.compile(r"(\w+?)(_fixed_base)?_ci_(low|high)")
FILE = Path(__file__).with_name("meanings.toml")
# Where stages give a name different meanings, views have that of the first of these.
STAGE_ORDER: tuple[Stage, ...] = (SAMPLES, *STAGES.values())


@cache
def read_meanings() -> Table:
    """Return the tables of meanings.toml."""
    return parse_toml(FILE)


def list_tables() -> dict[str, str]:
    """Return loaded table -> what a row of it is."""
    return dict(read_meanings()["tables"])


def list_keys() -> dict[str, list[str]]:
    """Return table or view -> the columns that tell its rows apart."""
    return {relation: key.split() for relation, key in read_meanings()["keys"].items()}


def find_reference(relation: str, column: str) -> str | None:
    """Return the table to whose key the column refers; None if it is no reference."""
    table = read_meanings()["references"].get(column)
    return None if table == relation else table


def describe_column(relation: str, column: str) -> str:
    """Return the comment on a column: its meaning, and in brackets what it has to do with keys.

    Raises:
        LookupError: neither a stage nor meanings.toml says what it means, or the relation has no key.
    """
    table = find_reference(relation, column)
    marks = ["key"] * (column in list_keys()[relation]) + ([f"refers to {table}"] if table else [])
    return explain_column(relation, column) + (f" [{', '.join(marks)}]" if marks else "")


def explain_column(relation: str, column: str) -> str:
    """Return what a column of a table or view means.

    Raises:
        LookupError: neither a stage nor meanings.toml says it.
    """
    meanings = read_meanings()
    if own := meanings["overrides"].get(relation, {}).get(column):
        return str(own)
    sources = [STAGES[name] for name in meanings["stages"].get(relation, ())]
    if text := _explain_by_stages(sources, column):
        return text
    if shared := meanings["columns"].get(column):
        return str(shared)
    if text := _explain_by_stages(STAGE_ORDER, column):
        return text
    if limit := _LIMIT.fullmatch(column):
        score, is_fixed, side = limit.groups()
        clusters = " with only pairs or points as clusters" if is_fixed else ""
        return f"{'lower' if side == 'low' else 'upper'} limit of the 95 % interval of {score}{clusters}"
    raise LookupError(f"{FILE.name} does not say what {relation}.{column} means")


def _explain_by_stages(stages: Iterable[Stage], column: str) -> str | None:
    return next((c.meaning for stage in stages for c in stage.columns if c.name == column), None)
