"""Scheduled editions: the label, the seed and the number of an edition come from its period.

The order of editions is that of their periods, however late they were built.
"""

from datetime import date, datetime, time, timedelta
from typing import get_args
from zoneinfo import ZoneInfo

from pretexeval.config.file import Config
from pretexeval.config.schedule import Period, ScheduleConfig, find_first_day, find_period, label_period
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_text
from pretexeval.storage.layout import EDITIONS_FOLDER, MANIFEST
from pretexeval.storage.records import find_manifest
from pretexeval.storage.withdrawals import find_withdrawal

FIRST_MONDAY = date(1970, 1, 5)
FIRST_DAY = date(1970, 1, 1)


def name_period(schedule: ScheduleConfig, moment: datetime) -> str:
    """Return the day, the ISO week or the month in the time zone of the schedule, such as `2026-W47`."""
    return label_period(moment.astimezone(ZoneInfo(schedule.timezone)).date(), schedule.period)


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
    day = moment.astimezone(ZoneInfo(schedule.timezone)).date()
    label = label_period(day, schedule.period)
    seed, number = draw_seed(schedule.period, label, given), count_periods(day, schedule.period)
    table = {"label": label, "seed": seed, "series": given, "number": number}
    return config.model_copy(update={"edition": config.edition.model_copy(update=table)})


def list_moments(schedule: ScheduleConfig, first: str, last: str) -> list[datetime]:
    """Return a moment in each period of the schedule from the first to the last, given by their labels.

    Raises:
        InputError: a label names no period of this kind, or one that has not begun; or the last comes first.
    """
    zone, kind = ZoneInfo(schedule.timezone), schedule.period
    today = datetime.now(zone).date()
    days = [find_first_day(label) if find_period(label) == kind else None for label in (first, last)]
    for label, day in zip((first, last), days, strict=True):
        if day is None or day > today:
            problem = f"is no {kind} of the schedule" if day is None else "has not begun"
            raise InputError(f"{label!r} {problem}; this {kind} is {label_period(today, kind)}")
    start, end = (day or today for day in days)
    if start > end:
        raise InputError(f"{first} comes after {last}: exchange --from and --to")
    every = (start + timedelta(days=n) for n in range((end - start).days + 1))
    # Noon exists on every day, also where clocks change.
    firsts = [day for day in every if find_first_day(label_period(day, kind)) == day]
    return [datetime.combine(day, time(12), zone) for day in firsts]


def list_scheduled(config: Config) -> dict[str, str]:
    """Return the complete editions of schedules with this base and seed -> their labels, the oldest first.

    Withdrawn editions are not among them.
    """
    root, edition = config.storage.root, config.edition
    given = edition.seed if edition.number is None else edition.series
    labels = {}
    for path in (root / EDITIONS_FOLDER).glob(f"*/{MANIFEST}"):
        manifest = find_manifest(root, path.parent.name) or {}
        label = str(manifest.get("label"))
        seeds = {draw_seed(period, label, given) for period in get_args(Period)}
        is_scheduled = find_first_day(label) is not None and manifest.get("seed") in seeds
        is_own = is_scheduled and manifest.get("kb") == config.knowledge.name
        if is_own and not find_withdrawal(root, path.parent.name):
            labels[path.parent.name] = label
    return dict(sorted(labels.items(), key=lambda item: (find_first_day(item[1]) or date.max, item[0])))
