"""A check of the doctor: what was found, whether it will do, and what to do if not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failing"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's."""

    name: str
    state: State
    found: str
    remedy: str = ""
    """What to do; nothing where the state is ok."""


def has_failing(checks: Sequence[Finding]) -> bool:
    """Whether something will not work."""
    return any(check.state == "failing" for check in checks)


def render_checks(checks: Sequence[Finding]) -> str:
    """A line per check and one per remedy under it, and how many there are of each state."""
    width = max(len(check.name) for check in checks)
    lines = [line for check in checks for line in _render(check, width)]
    states = [check.state for check in checks]
    counts = (states.count("ok"), states.count("warning"), states.count("failing"))
    return "\n".join([*lines, "", "{} ok, {} warning, {} failing".format(*counts)])


def _render(check: Finding, width: int) -> list[str]:
    first, *more = check.found.splitlines()
    indent = " " * (len("warning") + width + 4)
    lines = [f"{check.state:<7}  {check.name:<{width}}  {first}", *(indent + line.strip() for line in more)]
    return [*lines, f"{indent}-> {check.remedy}"] if check.remedy else lines
