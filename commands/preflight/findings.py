"""Findings: what a check says about a configuration, this machine, or a service that a run uses."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from typing import Any, Literal

from pretexeval.primitives.errors import InputError
from report.console import align

State = Literal["ok", "warning", "failing"]
MAX_SHOWN = 200
"""Characters of a cell that are shown."""


@dataclass(frozen=True)
class Finding:
    """One result of a check."""

    name: str
    state: State
    found: str
    """A line for people, and further lines below it."""
    remedy: str = ""
    """The next step for the user; empty if the state is ok, or if `found` already names it."""
    rows: Sequence[Mapping[str, Any]] = ()
    """The figures behind `found`: a table for people, and objects for programs."""


def run_check(name: str, check: Callable[[], Iterable[Finding]]) -> list[Finding]:
    """Return the findings of a check; what it refuses is a failing one with this name."""
    try:
        return list(check())
    except InputError as error:
        return [Finding(name, "failing", str(error))]


def show_size(n_bytes: float) -> str:
    """Return a size in GB, or in MB if it is small."""
    return f"{n_bytes / 1e9:.2f} GB" if n_bytes >= 1e8 else f"{n_bytes / 1e6:.1f} MB"


def render_findings(findings: Sequence[Finding]) -> str:
    """Return a line per finding, its further lines and rows below it, and the number in each state."""
    width = max((len(finding.name) for finding in findings), default=0)
    lines = list[str]()
    for finding in findings:
        first, *more = finding.found.splitlines()
        lines.append(f"{finding.state:<7}  {finding.name:<{width}}  {first}")
        lines += [f"         {line}".rstrip() for line in more]
        lines += [f"         -> {finding.remedy}"] if finding.remedy else []
        lines += [align(*_tabulate_rows(finding.rows)), ""] if finding.rows else []
    states = [finding.state for finding in findings]
    counts = ", ".join(f"{states.count(state)} {state}" for state in ("ok", "warning", "failing"))
    return "\n".join([*lines, *([""] if lines[-1:] != [""] else []), counts])


def _tabulate_rows(rows: Sequence[Mapping[str, Any]]) -> tuple[list[str], list[list[str]]]:
    """Return the names of the columns, and the cells of each row as text."""
    names = [name.removeprefix("n_").replace("_", " ") for name in rows[0]]
    return names, [[_show_cell(value) for value in row.values()] for row in rows]


def _show_cell(value: object) -> str:
    if isinstance(value, bool):
        return str(value).lower()
    if isinstance(value, int | float):
        return f"{value:,}" if isinstance(value, int) else f"{value:.3g}"
    text = (
        ", ".join(map(str, value))
        if isinstance(value, list | tuple)
        else str("-" if value is None else value)
    )
    return text if len(text) <= MAX_SHOWN else f"{text[:MAX_SHOWN]}…"
