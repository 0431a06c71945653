"""The stage boundary: Great Expectations on a stage's rows, and a report that names the rows it rejects."""

import threading
from typing import Any

import polars as pl
import pyarrow as pa

from schemas.expectations import (
    Expectation,
    compute_rules,
    describe_schema,
    expect_structure,
    expect_values,
)
from schemas.stages import Stage
from tasks.validation_report import Check, StageInvalid, ValidationReport

__all__ = ["Check", "StageInvalid", "ValidationReport", "require_valid", "validate_stage"]

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
    schema = describe_schema(rows)
    checks = _check(list(expect_structure(stage, rows.columns)), schema, schema.columns[:0])
    if all(check.success for check in checks):
        judged = compute_rules(stage, rows)
        checks += _check(list(expect_values(stage)), judged, list(stage.key))
    return ValidationReport(stage.name, context, rows.height, tuple(checks))


def require_valid(report: ValidationReport) -> None:
    """Go on only if nothing failed.

    Raises:
        StageInvalid: naming every failed expectation and the first rows that break it.
    """
    if not report.is_success:
        raise StageInvalid(report)


def _check(expectations: list[Expectation], rows: pl.DataFrame, key: list[str]) -> list[Check]:
    results = _run_expectations(expectations, rows)
    return [
        _read_result(expectation, result, rows, key)
        for expectation, result in zip(expectations, results, strict=True)
    ]


def _run_expectations(expectations: list[Expectation], rows: pl.DataFrame) -> list[Any]:
    """Great Expectations' results, in the order of the expectations."""
    import great_expectations as gx

    suite = gx.ExpectationSuite(
        name="stage", expectations=[_write_expectation(n, e) for n, e in enumerate(expectations)]
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
    ordered = sorted(outcome.results, key=lambda r: r.expectation_config.meta["position"])
    return list(ordered)


def _write_expectation(position: int, expectation: Expectation) -> Any:
    import great_expectations.expectations as gxe

    kind = getattr(gxe, expectation.kind)
    severity = "warning" if expectation.is_warning else "critical"
    return kind(**expectation.arguments, severity=severity, meta={"position": position})


def _read_result(expectation: Expectation, result: Any, rows: pl.DataFrame, key: list[str]) -> Check:
    """The check that a result amounts to.

    Raises:
        RuntimeError: if Great Expectations could not evaluate the expectation.
    """
    if raised := _find_exception(result.exception_info):
        raise RuntimeError(f"{expectation.kind} of {expectation.columns} was not evaluated: {raised}")
    detail = result.result
    shown = list(dict.fromkeys((*key, *expectation.columns)))
    examples = [_name_row(rows, i, shown) for i in detail.get("partial_unexpected_index_list") or []]
    n_unexpected = detail.get("unexpected_count", 0 if result.success else 1)
    if mismatched := detail.get("details", {}).get("mismatched"):
        n_unexpected = len(mismatched)
        examples = [_name_mismatch(column) for column in mismatched[:N_EXAMPLES]]
    return Check(
        expectation.name,
        ", ".join(expectation.columns) or None,
        expectation.meaning,
        bool(result.success),
        expectation.is_warning,
        n_unexpected,
        tuple(examples),
    )


def _find_exception(info: dict[str, Any]) -> str | None:
    """The message of the first exception; the dictionary is of one, or of one per metric."""
    entries = [info] if "raised_exception" in info else list(info.values())
    return next((str(e["exception_message"]) for e in entries if e["raised_exception"]), None)


def _name_row(rows: pl.DataFrame, index: int, columns: list[str]) -> str:
    values = rows.select(columns).row(index)
    return ", ".join(f"{c}={_show(v)}" for c, v in zip(columns, values, strict=True))


def _name_mismatch(column: dict[str, Any]) -> str:
    position, expected, found = (
        column[k] for k in ("Expected Column Position", "Expected", "Found")
    )
    return f"column {position}: {expected or 'nothing'} expected, {found or 'nothing'} found"


def _show(value: object) -> str:
    text = "null" if value is None else repr(value)
    return text if len(text) <= MAX_VALUE_LENGTH else text[:MAX_VALUE_LENGTH] + "…"
