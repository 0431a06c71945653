"""A finding of `pretexeval doctor`: what was found, whether it is good enough, and what to do if not."""

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Literal

State = Literal["ok", "warning", "failing"]


@dataclass(frozen=True)
class Finding:
    """One line of the doctor's report."""

    name: str
    state: State
    found: str
    remedy: str = ""
    """What the user can do; empty if the state is ok or if `found` already says it."""


def has_failures(findings: Sequence[Finding]) -> bool:
    """Return whether something will not work."""
    return any(finding.state == "failing" for finding in findings)


def render_findings(findings: Sequence[Finding]) -> str:
    """Return a line per finding with its remedy under it, and the number of findings in each state."""
    width = max(len(finding.name) for finding in findings)
    lines = [line for finding in findings for line in _render(finding, width)]
    states = [finding.state for finding in findings]
    counts = (states.count("ok"), states.count("warning"), states.count("failing"))
    return "\n".join([*lines, "", "{} ok, {} warning, {} failing".format(*counts)])


def _render(finding: Finding, width: int) -> list[str]:
    first, *more = finding.found.splitlines()
    indent = " " * (len("warning") + width + 4)
    lines = [
        f"{finding.state:<7}  {finding.name:<{width}}  {first}",
        *(indent + line.strip() for line in more),
    ]
    return [*lines, f"{indent}-> {finding.remedy}"] if finding.remedy else lines
