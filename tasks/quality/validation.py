"""The stage boundary: Great Expectations on the rows of a stage, and which rows it rejects."""

import logging
import threading
from collections.abc import Sequence
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.expectations import (
    STRUCTURE,
    Expectation,
    describe_structure,
    evaluate_rules,
    list_value_expectations,
)
from schemas.stages import Stage
from tasks.quality.validation_report import ExpectationResult, StageInvalid, ValidationReport

__all__ = ["ExpectationResult", "StageInvalid", "ValidationReport", "require_valid", "validate_stage"]

N_EXAMPLES = 5
MAX_VALUE_LENGTH = 160
# Great Expectations keeps its current context in a variable of the process.
_LOCK = threading.Lock()


def validate_stage(stage: Stage, frame: pa.Table | pl.DataFrame, context: str) -> ValidationReport:
    """What holds of a stage's rows and what does not; values only if the columns are as declared.

    Args:
        context: whose rows they are, for people: the edition, the model.
    """
    rows = frame if isinstance(frame, pl.DataFrame) else pl.DataFrame(frame)
    structure = describe_structure(stage, rows)
    checks = [_read_result(*r, structure) for r in _run_expectations(STRUCTURE, structure)]
    if all(check.success for check in checks):
        results = _run_expectations(list_value_expectations(stage), evaluate_rules(stage, rows))
        checks += [_read_result(*r, rows, stage.key) for r in results]
    return ValidationReport(stage.name, context, rows.height, tuple(checks))


def require_valid(report: ValidationReport) -> None:
    """Go on only if nothing failed.

    Raises:
        StageInvalid: naming every failed expectation and the first rows that break it.
    """
    if not report.is_success:
        raise StageInvalid(report)


def _run_expectations(
    expectations: Sequence[Expectation], rows: pl.DataFrame
) -> list[tuple[Expectation, bool, dict[str, Any]]]:
    """Every expectation with whether it holds, and the details of its result.

    Raises:
        RuntimeError: if Great Expectations could not evaluate one.
    """
    import great_expectations as gx

    # It reports every temporary folder, by a logger that has a level of its own.
    logging.getLogger("great_expectations.data_context.types.base").setLevel(logging.WARNING)
    suite = gx.ExpectationSuite(
        name="stage", expectations=[_build_expectation(n, e) for n, e in enumerate(expectations)]
    )
    with _LOCK:
        context = gx.get_context(mode="ephemeral")
        context.enable_analytics(False)
        context.variables.progress_bars = {"globally": False, "metric_calculations": False}
        asset = context.data_sources.add_pandas("stage").add_dataframe_asset("rows")
        definition = gx.ValidationDefinition(
            name="stage",
            data=asset.add_batch_definition_whole_dataframe("all"),
            suite=context.suites.add(suite),
        )
        outcome = definition.run(
            batch_parameters={"dataframe": rows.to_pandas(use_pyarrow_extension_array=True)},
            result_format={"result_format": "SUMMARY", "partial_unexpected_count": N_EXAMPLES},
        )
    results = []
    for result in outcome.results:
        expectation = expectations[result.expectation_config.meta["position"]]
        if raised := _find_exception(result.exception_info):
            raise RuntimeError(f"{expectation.name} of {expectation.columns} failed: {raised}")
        results.append((expectation, bool(result.success), dict(result.result)))
    return results


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
    """The check that a result amounts to."""
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
    """The message of the first exception; the dictionary is of one, or of one per metric."""
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(e["exception_message"]) for e in entries if e["raised_exception"]), None)


def _name_row(rows: pl.DataFrame, index: int, columns: list[str]) -> str:
    values = rows.select(columns).row(index)
    return ", ".join(f"{c}={_show(v)}" for c, v in zip(columns, values, strict=True))


def _show(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
