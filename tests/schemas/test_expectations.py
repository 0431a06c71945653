import polars as pl
import pyarrow as pa
import pytest

from schemas.columns import Column, Stage
from schemas.expectations import RULES, count_unexpected, describe_structure, list_rules, may_break_rules
from schemas.stages import STAGES, STATEMENTS
from tests.support.broken_rows import BROKEN, BrokenRow
from tests.support.good_frames import make_frame


@pytest.mark.parametrize("name", STAGES)
def test_rules_hold_in_a_good_frame(name: str) -> None:
    # The texts of the samples end in full stops and contain no slots, so there are no warnings either.
    assert not any(count_unexpected(list_rules(STAGES[name]), make_frame(name)))
    assert not may_break_rules(STAGES[name], make_frame(name))


@pytest.mark.parametrize("broken", [b for b in BROKEN if not b.is_warning], ids=str)
def test_every_broken_row_may_break_a_rule(broken: BrokenRow) -> None:
    assert may_break_rules(STAGES[broken.stage], broken.make_frame())


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


def test_structure_compares_found_and_declared_columns() -> None:
    columns = (Column("a", pa.string(), "text"), Column("b", pa.int16(), "number"))
    stage = Stage("pair", "two values", ("a",), columns)
    found = pl.DataFrame({"b": [1], "c": ["x"], "a": ["y"]}, schema_overrides={"b": pl.Int64})
    assert describe_structure(stage, found).rows() == [
        ("b", "a", "Int64", "Int16"),
        ("c", "b", "String", None),
        ("a", "nothing", "String", "String"),
    ]
