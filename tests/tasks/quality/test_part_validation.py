"""The report of a stage in parts is that of the whole stage, and every part can fail."""

import pytest

from schemas.stages import STAGES, TRIPLETS
from tasks.quality.part_validation import validate_parts
from tasks.quality.validation import StageInvalid, validate_stage
from tests.support.broken_rows import BROKEN
from tests.support.good_frames import make_frame

GOOD = make_frame("triplets")
FAILING = next(b for b in BROKEN if b.stage == "triplets" and not b.is_warning)
WARNING = next(b for b in BROKEN if b.is_warning)


def test_parts_without_a_broken_row_give_the_report_of_one() -> None:
    report = validate_parts(TRIPLETS, [GOOD, GOOD, GOOD], "edition")
    assert report == validate_stage(TRIPLETS, GOOD, "edition")


def test_broken_row_of_a_later_part_is_named() -> None:
    frame = FAILING.make_frame()
    with pytest.raises(StageInvalid) as caught:
        validate_parts(TRIPLETS, [GOOD, GOOD, frame], "edition")
    assert caught.value.report == validate_stage(TRIPLETS, frame, "edition")


def test_later_part_must_have_the_declared_columns() -> None:
    with pytest.raises(StageInvalid, match="columns_match"):
        validate_parts(TRIPLETS, [GOOD, GOOD.drop("split")], "edition")


def test_warnings_of_later_parts_are_added_up() -> None:
    stage, frame = STAGES[WARNING.stage], WARNING.make_frame()
    once = validate_stage(stage, frame, "edition").warnings
    report = validate_parts(stage, [make_frame(WARNING.stage), frame, frame], "edition")
    assert [check.n_unexpected for check in report.warnings] == [2 * check.n_unexpected for check in once]
