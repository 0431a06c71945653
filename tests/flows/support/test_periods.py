from datetime import UTC, date, datetime, timedelta, timezone
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st

from flows.support.periods import list_moments, name_period, plan_period
from pretexeval.config.file import Config
from pretexeval.config.schedule import Period, ScheduleConfig, label_period
from pretexeval.primitives.errors import InputError

MONDAY = datetime(2026, 11, 16, 3, tzinfo=UTC)
MIDNIGHT = datetime(2026, 11, 30, 23, 30, tzinfo=UTC)
WEEKLY = ScheduleConfig()
DAILY = ScheduleConfig(cron="0 3 * * *", period="day")
MONTHLY = ScheduleConfig(cron="0 3 1 * *", period="month")
BERLIN = {"timezone": "Europe/Berlin"}


@pytest.mark.parametrize(
    ("schedule", "moment", "label"),
    [
        # The ISO week in UTC.
        (WEEKLY, MONDAY, "2026-W47"),
        (WEEKLY, MONDAY - timedelta(hours=4), "2026-W46"),
        (WEEKLY, datetime(2027, 1, 1, tzinfo=UTC), "2026-W53"),
        (WEEKLY, datetime(2024, 12, 30, tzinfo=UTC), "2025-W01"),
        (WEEKLY, datetime(2026, 11, 16, 1, tzinfo=timezone(timedelta(hours=9))), "2026-W46"),
        # The day and the month of the time zone of the schedule.
        (DAILY, MIDNIGHT, "2026-11-30"),
        (MONTHLY, MIDNIGHT, "2026-11"),
        (DAILY.model_copy(update=BERLIN), MIDNIGHT, "2026-12-01"),
        (MONTHLY.model_copy(update=BERLIN), MIDNIGHT, "2026-12"),
    ],
)
def test_name_of_a_period(schedule: ScheduleConfig, moment: datetime, label: str) -> None:
    assert name_period(schedule, moment) == label


def test_the_seed_depends_on_the_week_the_configured_seed_and_the_kind_of_period() -> None:
    config = Config()
    planned = plan_period(config, MONDAY)
    assert planned == plan_period(config, MONDAY + timedelta(days=6, hours=20))
    assert planned.model_copy(update={"edition": config.edition}) == config
    tables = [{"edition": {"seed": 2}}, {"schedule": DAILY}, {"schedule": MONTHLY}]
    others = [plan_period(Config.model_validate(table), MONDAY) for table in tables]
    others.append(plan_period(config, MONDAY + timedelta(days=7)))
    assert len({each.edition.seed for each in (planned, *others)}) == 5


@given(
    day=st.dates(date(1999, 1, 1), date(2024, 1, 1)),
    n_days=st.integers(0, 400),
    schedule=st.sampled_from((WEEKLY, DAILY, MONTHLY)),
    zone=st.sampled_from(("Etc/UTC", "Europe/Berlin", "Pacific/Apia", "America/Sao_Paulo")),
)
def test_every_period_from_the_first_to_the_last_has_one_moment(
    day: date, n_days: int, schedule: ScheduleConfig, zone: str
) -> None:
    schedule = schedule.model_copy(update={"timezone": zone})
    days = [day + timedelta(days=n) for n in range(n_days + 1)]
    labels = list(dict.fromkeys(label_period(each, schedule.period) for each in days))
    moments = list_moments(schedule, labels[0], labels[-1])
    assert [name_period(schedule, moment) for moment in moments] == labels


@pytest.mark.parametrize(
    ("first", "last", "period", "words"),
    [
        ("2025-11", "2025-W47", "week", "'2025-11' is no week of the schedule; this week is 20"),
        ("2025-W40", "2025-11-22", "week", "'2025-11-22' is no week"),
        ("2025-W40", "2025-W53", "week", "'2025-W53' is no week"),
        ("2025-W40", "2025-W47", "month", "'2025-W40' is no month"),
        ("2025-02-30", "2025-03-01", "day", "'2025-02-30' is no day"),
        ("2025-W40", "9025-W47", "week", "'9025-W47' has not begun"),
        ("2025-W47", "2025-W40", "week", "2025-W47 comes after 2025-W40"),
    ],
)
def test_what_names_no_past_periods_of_the_schedule_is_refused(
    first: str, last: str, period: Period, words: str
) -> None:
    schedule = WEEKLY.model_copy(update={"period": period})
    with pytest.raises(InputError, match=words):
        list_moments(schedule, first, last)


def test_the_present_period_of_the_time_zone_is_the_last_one() -> None:
    schedule = ScheduleConfig(timezone="Pacific/Kiritimati")
    now = datetime.now(ZoneInfo(schedule.timezone))
    label = name_period(schedule, now)
    assert [name_period(schedule, each) for each in list_moments(schedule, label, label)] == [label]
    with pytest.raises(InputError, match="has not begun"):
        list_moments(schedule, label, name_period(schedule, now + timedelta(days=7)))
