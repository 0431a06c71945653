from datetime import UTC, datetime, timedelta, timezone

import pytest

from flows.support.periods import name_period, plan_period
from pretexeval.config.file import Config
from pretexeval.config.schedule import ScheduleConfig

MONDAY = datetime(2026, 11, 16, 3, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
DAILY = ScheduleConfig(cron="0 3 * * *", period="day")
MONTHLY = ScheduleConfig(cron="0 3 1 * *", period="month")
BERLIN = {"timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("moment", "week"),
    [
        (MONDAY, "2026-W47"),
        (MONDAY - timedelta(hours=4), "2026-W46"),
        (datetime(2027, 1, 1, tzinfo=UTC), "2026-W53"),
        (datetime(2024, 12, 30, tzinfo=UTC), "2025-W01"),
        (datetime(2026, 11, 16, 1, tzinfo=timezone(timedelta(hours=9))), "2026-W46"),
    ],
)
def test_week_is_the_iso_week_in_utc(moment: datetime, week: str) -> None:
    assert name_period(ScheduleConfig(), moment) == week


def test_period_is_that_of_the_time_zone_of_the_schedule() -> None:
    assert [name_period(each, MIDNIGHT) for each in (DAILY, MONTHLY)] == ["2026-11-30", "2026-11"]
    in_berlin = [each.model_copy(update=BERLIN) for each in (DAILY, MONTHLY)]
    assert [name_period(each, MIDNIGHT) for each in in_berlin] == ["2026-12-01", "2026-12"]


def test_every_moment_of_a_week_plans_the_same_edition() -> None:
    config = Config()
    planned = plan_period(config, MONDAY)
    assert planned == plan_period(config, MONDAY + timedelta(days=6, hours=20))
    other = plan_period(config, MONDAY + timedelta(days=7))
    assert other.edition.seed != planned.edition.seed
    assert planned.model_copy(update={"edition": config.edition}) == config


def test_seed_of_the_period_depends_on_the_configured_seed_and_on_the_kind_of_period() -> None:
    tables = [{"edition": {"seed": 1}}, {"edition": {"seed": 2}}, {"schedule": DAILY}, {"schedule": MONTHLY}]
    planned = [plan_period(Config.model_validate(table), MONDAY).edition for table in tables]
    assert len({edition.seed for edition in planned}) == len(planned)
