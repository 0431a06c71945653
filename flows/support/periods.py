"""Scheduled editions: the label, the seed and the number of an edition come from its period."""

from datetime import date, datetime
from zoneinfo import ZoneInfo

from pretexeval.config.file import Config
from pretexeval.config.schedule import Period, ScheduleConfig, label_period
from pretexeval.primitives.hashing import hash_text

FIRST_MONDAY = date(1970, 1, 5)
FIRST_DAY = date(1970, 1, 1)


def name_period(schedule: ScheduleConfig, moment: datetime) -> str:
    """Return the day, the ISO week or the month in the time zone of the schedule, such as `2026-W47`."""
    return label_period(_find_day(schedule, moment), schedule.period)


def _find_day(schedule: ScheduleConfig, moment: datetime) -> date:
    return moment.astimezone(ZoneInfo(schedule.timezone)).date()


def count_periods(day: date, period: Period) -> int:
    """Return how many days, weeks or months lie between the first one of 1970 and that of the day."""
    if period == "month":
        return 12 * (day.year - FIRST_DAY.year) + day.month - FIRST_DAY.month
    return (day - FIRST_DAY).days if period == "day" else (day - FIRST_MONDAY).days // 7


def draw_seed(period: Period, label: str, given: int | None) -> int:
    """Return the seed of the edition of a period.

    Args:
        label: the name of the period.
        given: the seed of the configuration.
    """
    return int(hash_text(period, label, str(given), digits=8), 16) % 2**31


def plan_period(config: Config, moment: datetime) -> Config:
    """Return the configuration of the edition of a period: the same for every moment of the period.

    The new seed depends on the seed of the configuration, so that two schedules on one base differ. The
    editions of the periods are a series, so that each of them repeats as little as possible of those before.
    """
    schedule, given = config.schedule, config.edition.seed
    label = name_period(schedule, moment)
    seed = draw_seed(schedule.period, label, given)
    number = count_periods(_find_day(schedule, moment), schedule.period)
    table = {"label": label, "seed": seed, "series": given, "number": number}
    return config.model_copy(update={"edition": config.edition.model_copy(update=table)})
