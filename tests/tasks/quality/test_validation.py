"""The rules of the stages, and validation by them with the real Great Expectations.

Importing it takes seconds, so only this module does it.
"""

import csv
import json
import socket
from dataclasses import dataclass, replace
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.expectations import RULES, breaks_rules, count_unexpected, list_rules
from schemas.stages import SAMPLES, STAGES, STATEMENTS, TRIPLETS
from tasks.quality.validation import StageInvalid, require_valid, validate_parts, validate_stage
from tests.support.good_frames import make_frame


@dataclass(frozen=True)
class BrokenRow:
    """A change to one row of a stage, and the column and name of the expectation that must fail or warn."""

    stage: str
    row: int
    values: dict[str, Any]
    column: str
    name: str
    is_warning: bool

    def make_frame(self) -> pl.DataFrame:
        """Return the valid frame with one row changed."""
        rows = make_frame(self.stage)
        changed = rows.to_dicts()
        changed[self.row] |= self.values
        return pl.DataFrame(changed, schema=rows.schema)

    def __str__(self) -> str:
        return f"{self.stage}-{self.name}-{self.column}-{next(iter(self.values.values()))!r:.20}"


with Path(__file__).with_name("broken_rows.csv").open(encoding="utf-8", newline="") as file:
    BROKEN = [
        BrokenRow(
            row["stage"],
            int(row["row"]),
            json.loads(row["values"]),
            row["column"],
            row["name"],
            is_warning=row["is_warning"] == "yes",
        )
        for row in csv.DictReader(file)
    ]
EDITION = "starter-seed1-00000000"
GOOD = make_frame("triplets")
FAILING = next(b for b in BROKEN if b.stage == "triplets" and not b.is_warning)
WARNING = next(b for b in BROKEN if b.is_warning)


@pytest.mark.parametrize("broken", BROKEN, ids=str)
def test_broken_row_is_caught_and_named(broken: BrokenRow) -> None:
    frame = broken.make_frame()
    stage = STAGES[broken.stage]
    report = validate_stage(stage, frame, EDITION)
    found = [
        check
        for check in report.checks
        if check.expectation == broken.name and str(check.column).startswith(broken.column)
    ]
    assert [check.result for check in found] == ["warning" if broken.is_warning else "failed"]
    assert found[0].n_unexpected >= 1
    assert broken.is_warning or breaks_rules(stage, frame)
    row = frame.row(broken.row, named=True)
    if found[0].n_unexpected <= 5:
        shown = ", ".join(f"{c}={row[c]!r}" for c in stage.key)
        assert any(example.startswith(shown) for example in found[0].examples)
    assert report.is_success is broken.is_warning


def test_structure_is_checked_before_the_values() -> None:
    samples = make_frame("samples")
    assert validate_stage(SAMPLES, samples, EDITION).is_success
    missing = validate_stage(TRIPLETS, GOOD.drop("split"), EDITION)
    assert [check.expectation for check in missing.failures] == ["columns_match"]
    assert missing.failures[0].examples[0].endswith("declared_column='split'")
    assert len(missing.checks) == 2
    narrow = validate_stage(SAMPLES, samples.with_columns(pl.col("attempts").cast(pl.Int32)), EDITION)
    assert [check.expectation for check in narrow.failures] == ["types_match"]
    assert narrow.failures[0].examples == ("column='attempts', type='Int32', declared_type='Int16'",)
    empty = validate_stage(TRIPLETS, GOOD.clear(), EDITION)
    assert [check.expectation for check in empty.failures] == ["has_rows"]


def test_error_names_stage_expectation_and_first_five_rows() -> None:
    frame = make_frame("samples").with_columns(attempts=pl.lit(0, pl.Int16))
    report = validate_stage(SAMPLES, frame, EDITION)
    with pytest.raises(StageInvalid) as caught:
        require_valid(report)
    lines = str(caught.value).splitlines()
    assert lines[0].startswith(f"stage samples of {EDITION}: 1 of ")
    assert lines[1].startswith("  status, attempts, reasons: status_fits_attempts (")
    assert lines[1].endswith("): 32 unexpected")
    ids = frame["sample_id"].to_list()[:5]
    assert lines[2:7] == [f"    sample_id={i!r}, status='accepted', attempts=0, reasons=[]" for i in ids]
    assert lines[7] == "    and 27 more"


def test_markdown_has_a_line_per_check_failures_first() -> None:
    frame = make_frame("samples")
    odd = pl.when(pl.int_range(pl.len()) == 3).then(pl.lit("`a` | <b>\n.")).otherwise("text")
    report = validate_stage(SAMPLES, frame.with_columns(text=odd), EDITION)
    lines = [line for line in report.render_markdown().splitlines() if line.startswith("|")]
    # The first two lines are the header.
    cells = [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]
    assert len(cells) == len(report.checks)
    assert cells[0][:3] == ["failed", "text", "is_one_line"]
    results = [row[0] for row in cells]
    assert results == sorted(results, key=["failed", "warning", "ok"].index)
    assert results.count("warning") == len(report.warnings)
    assert f"sample_id='{frame['sample_id'][3]}'" in report.render_markdown()
    assert "1 failed" in report.render_markdown()


def test_validation_opens_no_connection(monkeypatch: pytest.MonkeyPatch) -> None:
    def refuse(*_: object) -> None:
        raise AssertionError("a connection was tried")

    monkeypatch.setattr(socket.socket, "connect", refuse)
    monkeypatch.setattr(socket, "getaddrinfo", refuse)
    assert validate_stage(TRIPLETS, make_frame("triplets"), EDITION).is_success


def test_parts_are_checked_like_one_and_a_broken_row_of_a_later_part_is_named() -> None:
    report = validate_parts(TRIPLETS, [GOOD, GOOD, GOOD], "edition")
    assert report == replace(validate_stage(TRIPLETS, GOOD, "edition"), n_rows=3 * GOOD.height)
    frame = FAILING.make_frame()
    with pytest.raises(StageInvalid) as caught:
        validate_parts(TRIPLETS, [GOOD, GOOD, frame], "edition")
    assert caught.value.report == validate_stage(TRIPLETS, frame, "edition")
    with pytest.raises(StageInvalid, match="columns_match"):
        validate_parts(TRIPLETS, [GOOD, GOOD.drop("split")], "edition")


def test_warnings_of_later_parts_are_added_up() -> None:
    stage, frame = STAGES[WARNING.stage], WARNING.make_frame()
    once = validate_stage(stage, frame, "edition").warnings
    report = validate_parts(stage, [make_frame(WARNING.stage), frame, frame], "edition")
    assert [check.n_unexpected for check in report.warnings] == [2 * check.n_unexpected for check in once]


@pytest.mark.parametrize("name", STAGES)
def test_rules_hold_in_a_good_frame(name: str) -> None:
    # The texts of the samples end in full stops and contain no slots, so there are no warnings either.
    assert not any(count_unexpected(list_rules(STAGES[name]), make_frame(name)))
    assert not breaks_rules(STAGES[name], make_frame(name))


def test_every_rule_has_a_broken_row() -> None:
    shown = {(b.stage, b.name) for b in BROKEN}
    shared = {name for _, name in shown}
    for stage, rules in RULES.items():
        missing = {rule.name for rule in rules} - {n for s, n in shown if s == stage} - shared
        assert missing == set(), stage


def test_only_the_rule_about_null_values_reports_a_null_value() -> None:
    frame = make_frame("statements").with_columns(statement=pl.lit(None, pl.String))
    rules = list_rules(STATEMENTS)
    counts = zip(rules, count_unexpected(rules, frame), strict=True)
    assert [(rule.name, rule.columns, n) for rule, n in counts if n] == [("is_not_null", ("statement",), 32)]
