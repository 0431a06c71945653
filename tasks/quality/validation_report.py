"""What became of a stage's expectations, for the run that must stop and for people."""

from dataclasses import dataclass

from primitives.errors import InputError


class StageInvalid(InputError):
    """A stage that breaks an expectation; `report` says which."""

    def __init__(self, report: "ValidationReport") -> None:
        """An error whose message is the report's failures."""
        super().__init__(report.render_failures())
        self.report = report


@dataclass(frozen=True)
class ExpectationResult:
    """What became of one expectation."""

    expectation: str
    column: str | None
    meaning: str
    success: bool
    is_warning: bool
    n_unexpected: int
    examples: tuple[str, ...]
    """The first rows that break it: their key, and the values that it is about."""

    @property
    def title(self) -> str:
        """The expectation with its column."""
        return self.expectation if self.column is None else f"{self.column}: {self.expectation}"

    @property
    def result(self) -> str:
        """ok, warning or failed."""
        if self.success:
            return "ok"
        return "warning" if self.is_warning else "failed"


@dataclass(frozen=True)
class ValidationReport:
    """What became of the expectations of one stage."""

    stage: str
    context: str
    n_rows: int
    checks: tuple[ExpectationResult, ...]

    @property
    def failures(self) -> list[ExpectationResult]:
        """What stops the run."""
        return [check for check in self.checks if check.result == "failed"]

    @property
    def warnings(self) -> list[ExpectationResult]:
        """What is to be known and stops nothing."""
        return [check for check in self.checks if check.result == "warning"]

    @property
    def is_success(self) -> bool:
        """Whether nothing but warnings was found."""
        return not self.failures

    def render_failures(self) -> str:
        """The failed expectations, each with how many rows break it and the first of them."""
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
            "nothing of it is published: mend the input that these rows come from, or the step "
            "that made them, and run again"
        )
        return "\n".join(lines)

    def render_markdown(self) -> str:
        """A page for people: a line per expectation, failures first, then the rows named."""
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


def _escape(text: str) -> str:
    """The text as one cell of a table, nothing of it read as markup."""
    return "".join("\\" + c if c in "\\`*[]<>|" else c for c in text).replace("\n", " ")
