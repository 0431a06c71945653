"""Validation of the rows of a stage by Great Expectations, with the rows that break an expectation."""

import importlib
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache
from typing import TYPE_CHECKING, Any

import polars as pl
from pydantic import TypeAdapter

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import map_in_threads, pause_collector
from schemas.columns import Stage
from schemas.edition_rules import Rule
from schemas.expectations import (
    STRUCTURE_RULES,
    count_unexpected,
    describe_structure,
    find_breaking,
    list_rules,
)

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition

N_EXAMPLES = 5
MAX_VALUE_LENGTH = 160
VALIDATION_VERSION = 3
"""Count it up when an expectation of a stage or the report on it changes."""
# All threads use the same batch of Great Expectations.
_LOCK = threading.Lock()

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
        """Return whether no expectation failed; there may be warnings."""
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


def validate_stage(stage: Stage, rows: pl.DataFrame, context: str) -> ValidationReport:
    """Check the expectations of a stage. Values are checked only if the columns are as declared.

    Args:
        context: where the rows come from, for people: the edition or the model.
    """
    checks = _judge(_count_unexpected(stage, rows))
    return ValidationReport(stage.name, context, rows.height, tuple(checks))


def validate_parts(stage: Stage, parts: Iterable[pl.DataFrame], context: str) -> ValidationReport:
    """Return one report of a stage in parts; its counts of rows are the sums over the parts.

    Raises:
        StageInvalid: a part does not meet an expectation; the error is about the first such part.
    """
    totals: list[ExpectationResult] = []
    n_rows = 0
    for height, checks in map_in_threads(lambda rows: (rows.height, _count_unexpected(stage, rows)), parts):
        if any(check.n_unexpected and not check.is_warning for check in checks):
            require_valid(ValidationReport(stage.name, context, height, tuple(_judge(checks))))
        totals = [_add_counts(*pair) for pair in zip(totals, checks, strict=True)] if totals else checks
        n_rows += height
    report = ValidationReport(stage.name, context, n_rows, tuple(_judge(totals)))
    require_valid(report)
    return report


def _count_unexpected(stage: Stage, rows: pl.DataFrame) -> list[ExpectationResult]:
    """Return how many rows break each expectation, with the first of them, before any is judged."""
    structure = describe_structure(stage, rows)
    checks = _apply_rules(STRUCTURE_RULES, structure, ())
    if rows.schema == stage.empty.schema:
        checks += _apply_rules(list_rules(stage), rows, stage.key)
    return checks


def _apply_rules(rules: Sequence[Rule], rows: pl.DataFrame, key: tuple[str, ...]) -> list[ExpectationResult]:
    """Return the count and the first rows of each rule; the examples show the key and the rule's columns."""
    checks = []
    for rule, n_unexpected in zip(rules, count_unexpected(rules, rows), strict=True):
        examples: list[str] = []
        if n_unexpected and rows.height:
            shown = list(dict.fromkeys((*key, *rule.columns)))
            breaking = rows.filter(find_breaking(rule)).select(shown).head(N_EXAMPLES)
            examples = [", ".join(f"{c}={_show(v)}" for c, v in row.items()) for row in breaking.to_dicts()]
        column = ", ".join(rule.columns) or None
        checks.append(
            ExpectationResult(
                rule.name, column, rule.meaning, True, rule.is_warning, n_unexpected, tuple(examples)
            )
        )
    return checks


def _add_counts(total: ExpectationResult, part: ExpectationResult) -> ExpectationResult:
    examples = (*total.examples, *part.examples)[:N_EXAMPLES]
    return replace(total, n_unexpected=total.n_unexpected + part.n_unexpected, examples=examples)


def _judge(checks: Sequence[ExpectationResult]) -> list[ExpectationResult]:
    """Return the results with the verdict of Great Expectations, which judges one table of counts.

    The table has one row per expectation: its name, its columns and n_unexpected. polars counts the rows that
    break an expectation: Great Expectations would take 0.01 s for each expectation of each part, and as long
    again to convert the texts.
    """
    import_great_expectations()
    from great_expectations import ExpectationSuite
    from great_expectations.expectations import ExpectColumnValuesToBeInSet

    counts = pl.DataFrame(
        {
            "expectation": [check.expectation for check in checks],
            "columns": [check.column for check in checks],
            "n_unexpected": [check.n_unexpected for check in checks],
        },
        schema_overrides={"columns": pl.String},
    )
    no_row_breaks_it = ExpectColumnValuesToBeInSet(column="n_unexpected", value_set=[0])
    suite = ExpectationSuite(name="stage", expectations=[no_row_breaks_it])
    with _LOCK:
        batch = _define_batch().get_batch(batch_parameters={"dataframe": counts.to_pandas()})
        result = batch.validate(suite, result_format="COMPLETE").results[0]
    if "unexpected_index_list" not in result.result:
        raise RuntimeError(f"Great Expectations cannot judge the counts: {result.exception_info}")
    broken = set(result.result["unexpected_index_list"] or ())
    return [replace(check, success=n not in broken) for n, check in enumerate(checks)]


@cache
def _define_batch() -> "BatchDefinition[Any]":
    """Return the batch of the only context of this process: all rows of the frame that is its parameter."""
    import great_expectations as gx

    # This logger has a level of its own, and would report every temporary folder.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_pandas("stage").add_dataframe_asset("counts")
    return asset.add_batch_definition_whole_dataframe("all")


def _show(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"


def check_stage(stage: Stage, frame: pl.DataFrame, context: str) -> Report:
    """Return the report of a stage that meets its expectations, as records hold it.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    return write_down(validate_parts(stage, [frame], context))


def require_valid(report: ValidationReport) -> None:
    """Check that no expectation failed.

    Raises:
        StageInvalid: expectations failed; the error names them and the first rows that break them.
    """
    if not report.is_success:
        raise StageInvalid(report)


@cache
def import_great_expectations() -> None:
    """Import the library, which takes two seconds of one core, before the first stage needs it."""
    with pause_collector():
        importlib.import_module("great_expectations.expectations")
