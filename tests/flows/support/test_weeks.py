from datetime import UTC, datetime, timedelta, timezone

import pytest

from config.file import Config
from flows.support.weeks import name_week, plan_week

MONDAY = datetime(2026, 11, 16, 3, tzinfo=UTC)


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
    assert name_week(moment) == week


def test_every_moment_of_a_week_plans_the_same_edition() -> None:
    config = Config()
    planned = plan_week(config, MONDAY)
    assert planned == plan_week(config, MONDAY + timedelta(days=6, hours=20))
    assert planned.edition.label == "2026-W47"
    other = plan_week(config, MONDAY + timedelta(days=7))
    assert other.edition.seed != planned.edition.seed
    assert planned.model_copy(update={"edition": config.edition}) == config


def test_seed_of_the_week_depends_on_the_configured_seed() -> None:
    one, two = (Config.model_validate({"edition": {"seed": seed}}) for seed in (1, 2))
    assert plan_week(one, MONDAY).edition.seed != plan_week(two, MONDAY).edition.seed
