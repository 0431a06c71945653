"""The results of a stage's expectations, as an error that stops the run and as a page for people."""

from collections.abc import Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from typing import Any

from pydantic import TypeAdapter

from primitives.errors import InputError

Report = dict[str, Any]
"""A report as records hold it, with the time of the validation as checked_at."""


class StageInvalid(InputError):
    """A stage does not meet its expectations.

    Attributes:
        report: the results of all expectations.
    """

    def __init__(self, report: "ValidationReport") -> None:
        """Make an error whose message lists the failures of the report."""
        super().__init__(report.render_failures())
        self.report = report


@dataclass(frozen=True)
class ExpectationResult:
    """The result of one expectation."""

    expectation: str
    column: str | None
    meaning: str
    success: bool
    is_warning: bool
    n_unexpected: int
    examples: tuple[str, ...]
    """The first rows that break it: their keys, and the values of its columns."""

    @property
    def title(self) -> str:
        """The name of the expectation, with its column."""
        return self.expectation if self.column is None else f"{self.column}: {self.expectation}"

    @property
    def result(self) -> str:
        """`ok`, `warning` or `failed`."""
        if self.success:
            return "ok"
        return "warning" if self.is_warning else "failed"


@dataclass(frozen=True)
class ValidationReport:
    """The results of the expectations of one stage."""

    stage: str
    context: str
    n_rows: int
    checks: tuple[ExpectationResult, ...]

    @property
    def failures(self) -> list[ExpectationResult]:
        """The failed expectations, which stop the run."""
        return [check for check in self.checks if check.result == "failed"]

    @property
    def warnings(self) -> list[ExpectationResult]:
        """The expectations that are not met but do not stop the run."""
        return [check for check in self.checks if check.result == "warning"]

    @property
    def is_success(self) -> bool:
        """Whether no expectation failed; there may be warnings."""
        return not self.failures

    def render_failures(self) -> str:
        """Return the failed expectations, each with the first rows that break it, and their number."""
        lines = [
            f"stage {self.stage} of {self.context}: {len(self.failures)} of {len(self.checks)} "
            f"expectations failed on {self.n_rows:,} rows"
        ]
        for check in self.failures:
            count = f": {check.n_unexpected:,} unexpected" if check.n_unexpected else ""
            lines.append(f"  {check.title} ({check.meaning}){count}")
            lines += [f"    {example}" for example in check.examples]
            if check.n_unexpected > len(check.examples) > 0:
                lines.append(f"    and {check.n_unexpected - len(check.examples):,} more")
        lines.append(
            "none of these rows is published: correct the input that they come from, or the step that "
            "built them, and run again"
        )
        return "\n".join(lines)

    def render_markdown(self) -> str:
        """Return a page for people: a line per expectation, failures first, then the rows that break them."""
        word = "passed" if self.is_success else "failed"
        lines = [
            f"# Stage {self.stage} {word}",
            "",
            f"{self.context}: {self.n_rows:,} rows, {len(self.checks)} expectations, "
            f"{len(self.failures)} failed, {len(self.warnings)} warnings.",
            "",
            "| result | column | expectation | meaning | unexpected |",
            "| --- | --- | --- | --- | ---: |",
        ]
        broken = self.failures + self.warnings
        for check in broken + [check for check in self.checks if check.success]:
            cells = (check.result, check.column or "", check.expectation, check.meaning)
            lines.append(f"| {' | '.join(map(_escape, cells))} | {check.n_unexpected:,} |")
        for check in broken:
            lines += ["", f"## {_escape(check.title)}: {check.n_unexpected:,} unexpected", ""]
            lines += [f"- `{example.replace('`', 'ˋ')}`" for example in check.examples]
        return "\n".join(lines) + "\n"


def merge_reports(reports: Sequence[ValidationReport]) -> ValidationReport:
    """Return one report of the parts of a stage: the sums of their counts, and the first examples.

    No part may have failed, so that all have the same checks.
    """
    checks = (_merge_results(results) for results in zip(*(r.checks for r in reports), strict=True))
    return replace(reports[0], n_rows=sum(r.n_rows for r in reports), checks=tuple(checks))


def _merge_results(results: Sequence[ExpectationResult]) -> ExpectationResult:
    examples = [example for result in results for example in result.examples]
    return replace(
        results[0],
        success=all(result.success for result in results),
        n_unexpected=sum(result.n_unexpected for result in results),
        examples=tuple(examples[: max(len(result.examples) for result in results)]),
    )


_AS_JSON = TypeAdapter(ValidationReport)


def write_down(report: ValidationReport) -> Report:
    """Return a report as records hold it. The present time, in UTC, is checked_at."""
    when = datetime.now(UTC).isoformat(timespec="seconds")
    return {**_AS_JSON.dump_python(report, mode="json"), "checked_at": when}


def read_report(record: object) -> ValidationReport:
    """Return the report that a record holds.

    Raises:
        ValueError: it holds none.
    """
    return _AS_JSON.validate_python(record)


def _escape(text: str) -> str:
    """Return the text as one table cell, with all markup escaped."""
    return "".join("\\" + c if c in "\\`*[]<>|" else c for c in text).replace("\n", " ")
