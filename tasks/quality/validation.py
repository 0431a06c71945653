"""Validation of the rows of a stage by Great Expectations, with the rows that break an expectation."""

import importlib
import logging
import threading
from collections.abc import Iterable, Sequence
from dataclasses import dataclass, replace
from datetime import UTC, datetime
from functools import cache, partial
from typing import TYPE_CHECKING, Any

import polars as pl
import pyarrow as pa
from pydantic import TypeAdapter

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.process import map_in_threads, pause_collector
from schemas.columns import Stage
from schemas.expectations import (
    STRUCTURE,
    SUMMARY,
    Expectation,
    count_violations,
    describe_structure,
    evaluate_rules,
    find_breaking,
    list_value_expectations,
)

if TYPE_CHECKING:
    from great_expectations.core.batch_definition import BatchDefinition

N_EXAMPLES = 5
MAX_VALUE_LENGTH = 160
# Details of the rows take half of the time of a validation, so they are asked for only where something fails.
RESULT_FORMATS = (
    {"result_format": "BOOLEAN_ONLY"},
    {"result_format": "SUMMARY", "partial_unexpected_count": N_EXAMPLES},
)
VALIDATION_VERSION = 1
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


def validate_stage(stage: Stage, frame: pa.Table | pl.DataFrame, context: str) -> ValidationReport:
    """Check the expectations of a stage. Values are checked only if the columns are as declared.

    Great Expectations judges the columns if they are not as declared, and otherwise the exact number of rows
    that break each expectation. If there are any, it also judges these rows, to name the first of them.

    Args:
        context: where the rows come from, for people: the edition or the model.
    """
    rows = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    # Great Expectations takes 0.01 s for any expectation, so it judges all counts as one.
    if rows.schema == stage.empty.schema:
        checks = [_read_result(expectation, True, {}, rows) for expectation in STRUCTURE]
        checks += _check_values(stage, rows, count_violations(stage, rows))
    else:
        structure = describe_structure(stage, rows)
        checks = [_read_result(*result, structure) for result in _run_expectations(STRUCTURE, structure)]
    return ValidationReport(stage.name, context, rows.height, tuple(checks))


def validate_parts(stage: Stage, parts: Iterable[pl.DataFrame], context: str) -> ValidationReport:
    """Return one report of a stage in parts; its n_rows leaves out parts that were judged by their counts.

    Great Expectations judges the first part, and every further part in which a row breaks an expectation. Of
    the others, which have the columns of the first one, it judges the counts of all parts at once: judging
    each part by itself took a third of the time of the validation.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    all_rows = iter(parts)
    first = next(all_rows)
    reports = [_require_valid_part(stage, first, context)]
    counts: list[pl.DataFrame] = []
    for rows, counted in map_in_threads(partial(_count_part, stage, first.schema), all_rows):
        if counted is not None and counted["n_unexpected"].sum() == 0:
            counts.append(counted)
        else:
            reports.append(_require_valid_part(stage, rows, context))
    if counts and not _accepts_counts(pl.concat(counts)):
        raise RuntimeError(f"Great Expectations refuses counts of zero in stage {stage.name} of {context}")
    checks = (_merge_results(results) for results in zip(*(r.checks for r in reports), strict=True))
    return replace(reports[0], n_rows=sum(r.n_rows for r in reports), checks=tuple(checks))


def _count_part(
    stage: Stage, schema: pl.Schema, rows: pl.DataFrame
) -> tuple[pl.DataFrame, pl.DataFrame | None]:
    """Return the rows, and how many of them break each expectation; None if they have another schema."""
    return rows, count_violations(stage, rows) if rows.schema == schema else None


def _require_valid_part(stage: Stage, rows: pl.DataFrame, context: str) -> ValidationReport:
    report = validate_stage(stage, rows, context)
    require_valid(report)
    return report


def _merge_results(results: Sequence[ExpectationResult]) -> ExpectationResult:
    """Return the result of one expectation in all parts: the sum of the counts, and the first examples."""
    examples = [example for result in results for example in result.examples]
    return replace(
        results[0],
        success=all(result.success for result in results),
        n_unexpected=sum(result.n_unexpected for result in results),
        examples=tuple(examples[:N_EXAMPLES]),
    )


def _accepts_counts(counted: pl.DataFrame) -> bool:
    """Return whether Great Expectations finds no count of rows that break an expectation above 0."""
    return all(is_met for _, is_met, _ in _run_expectations(SUMMARY, counted))


def _check_values(stage: Stage, rows: pl.DataFrame, counted: pl.DataFrame) -> list[ExpectationResult]:
    """Return the results for values. Great Expectations judges rows only if it did not accept the counts."""
    expectations = list_value_expectations(stage)
    n_unexpected = dict(zip(map(_name, expectations), counted["n_unexpected"], strict=True))
    found = {}
    if not _accepts_counts(counted):
        broken = [expectation for expectation in expectations if n_unexpected[_name(expectation)]]
        breaks = rows.select(is_broken=find_breaking(broken)).to_series()
        judged, shown = evaluate_rules(stage, rows).filter(breaks), rows.filter(breaks)
        for result in _run_expectations(broken, judged):
            found[_name(result[0])] = _read_result(*result, shown, stage.key)
    return [found.get(_name(e)) or _read_result(e, True, {}, rows) for e in expectations]


def _name(expectation: Expectation) -> tuple[str, tuple[str, ...]]:
    return expectation.name, expectation.columns


def check_stage(stage: Stage, frame: pl.DataFrame, context: str) -> Report:
    """Return the report of a stage that meets its expectations, as records hold it.

    Raises:
        StageInvalid: an expectation is not met; the error names it and the first rows that break it.
    """
    return write_down(_require_valid_part(stage, frame, context))


def require_valid(report: ValidationReport) -> None:
    """Check that no expectation failed.

    Raises:
        StageInvalid: expectations failed; the error names them and the first rows that break them.
    """
    if not report.is_success:
        raise StageInvalid(report)


@cache
def import_great_expectations() -> None:
    """Import the library, which takes 2.5 s of one core, before the first stage needs it."""
    with pause_collector():
        importlib.import_module("great_expectations.expectations")


def _run_expectations(
    expectations: Sequence[Expectation], rows: pl.DataFrame
) -> list[tuple[Expectation, bool, dict[str, Any]]]:
    """Return (expectation, whether it is met, details of the result) for every expectation.

    Raises:
        RuntimeError: Great Expectations could not evaluate an expectation.
    """
    import_great_expectations()
    from great_expectations import ExpectationSuite

    suite = ExpectationSuite(
        name="stage", expectations=[_build_expectation(n, e) for n, e in enumerate(expectations)]
    )
    parameters = {"dataframe": rows.to_pandas(use_pyarrow_extension_array=True)}
    with _LOCK:
        batch = _define_batch().get_batch(batch_parameters=parameters)
        for result_format in RESULT_FORMATS:
            outcome = batch.validate(suite, result_format=result_format)
            if all(result.success for result in outcome.results):
                break
    results = []
    for result in outcome.results:
        expectation = expectations[result.expectation_config.meta["position"]]
        if raised := _find_exception(result.exception_info):
            raise RuntimeError(f"{expectation.name} of {expectation.columns} failed: {raised}")
        results.append((expectation, bool(result.success), dict(result.result)))
    return results


@cache
def _define_batch() -> "BatchDefinition[Any]":
    """Return the batch of the only context of this process: all rows of the frame that is its parameter."""
    import great_expectations as gx

    # This logger has a level of its own, and would report every temporary folder.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    context = gx.get_context(mode="ephemeral")
    context.enable_analytics(False)
    context.variables.progress_bars = {"globally": False, "metric_calculations": False}
    asset = context.data_sources.add_pandas("stage").add_dataframe_asset("rows")
    return asset.add_batch_definition_whole_dataframe("all")


def _build_expectation(position: int, expectation: Expectation) -> object:
    import great_expectations.expectations as gxe

    kind = getattr(gxe, expectation.kind)
    severity = "warning" if expectation.is_warning else "critical"
    return kind(**expectation.arguments, severity=severity, meta={"position": position})


def _read_result(
    expectation: Expectation,
    success: bool,
    detail: dict[str, Any],
    rows: pl.DataFrame,
    key: Sequence[str] = (),
) -> ExpectationResult:
    """Return a result of Great Expectations as ours, with the first rows that break the expectation."""
    shown = list(dict.fromkeys((*key, *expectation.columns)))
    indices = detail.get("partial_unexpected_index_list") or []
    return ExpectationResult(
        expectation.name,
        ", ".join(expectation.columns) or None,
        expectation.meaning,
        success,
        expectation.is_warning,
        detail.get("unexpected_count", 0),
        tuple(_name_row(rows, index, shown) for index in indices),
    )


def _find_exception(info: dict[str, Any]) -> str | None:
    """Return the message of the first exception. The dictionary describes one, or one per metric."""
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(e["exception_message"]) for e in entries if e["raised_exception"]), None)


def _name_row(rows: pl.DataFrame, index: int, columns: list[str]) -> str:
    values = rows.select(columns).row(index)
    return ", ".join(f"{c}={_show(v)}" for c, v in zip(columns, values, strict=True))


def _show(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
