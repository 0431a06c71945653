"""The tables [schedule] and [anchors]: when a deployed configuration runs, and what its runs ask again."""

import re
from datetime import date, datetime, time, timedelta
from itertools import takewhile
from typing import Annotated, Literal, Self
from zoneinfo import available_timezones

from cronsim import CronSim, CronSimError
from pydantic import Field, field_validator, model_validator

from pretexeval.config.engines import ConfigTable

ANCHORS_LABEL = "anchors"
"""The label of the edition of anchors."""


class AnchorsConfig(ConfigTable):
    """Anchors: fixed pairs that a schedule asks again in every period (docs/editions.md#anchors)."""

    n_pairs: Annotated[int, Field(ge=1)] = 100
    """Number of pairs, in proportion to the sizes of the relations, but at least one pair of each."""


Period = Literal["day", "week", "month"]

# Prefect reads these otherwise than cronsim, or not at all: random and hashed values, and some last days.
UNSUPPORTED = re.compile(r"(?<![a-z])[rh](?![a-z])|lw|\dl", re.IGNORECASE)
# The runs of these days are checked: 87 whole weeks and 20 whole months, with Februaries of 29 and 28 days.
FIRST_DAY, N_DAYS = date(2024, 1, 1), 87 * 7
LABEL = re.compile(r"\d{4}-(?:W\d\d|\d\d|\d\d-\d\d)")
LONGER: dict[Period, Period] = {"day": "week", "week": "month"}


def label_period(day: date, period: Period) -> str:
    """Return the name of the period that contains the day: `2026-11-22`, `2026-W47` or `2026-11`."""
    if period == "week":
        year, week, _ = day.isocalendar()
        return f"{year}-W{week:02}"
    return day.isoformat() if period == "day" else f"{day:%Y-%m}"


def find_period(label: str) -> Period | None:
    """Return the length of the period with this name; None if it is not the name of a period."""
    if not LABEL.fullmatch(label):
        return None
    return "week" if "W" in label else "day" if label.count("-") == 2 else "month"


def find_first_day(label: str) -> date | None:
    """Return the first day of the period with this name; None if it is not the name of a period."""
    period = find_period(label)
    try:
        return date.fromisoformat(f"{label}-01" if period == "month" else label) if period else None
    except ValueError:
        return None


class ScheduleConfig(ConfigTable):
    """When `pretexeval deploy` lets the configuration run, and how often it makes a new edition
    (docs/operations.md#the-schedule)."""

    cron: str = "0 3 * * 1"
    """Times at which runs begin: minute, hour, day of the month, month, day of the week."""
    timezone: str = "Etc/UTC"
    """Time zone of `cron` and of `period`, such as `"Europe/Berlin"`."""
    period: Period = "week"
    """Time for which a scheduled edition is used. Runs of the same period make the same edition."""

    @field_validator("timezone")
    @classmethod
    def _check_timezone(cls, name: str) -> str:
        # Listing all time zones takes 20 ms.
        if name not in ("Etc/UTC", "UTC") and name not in available_timezones():
            raise ValueError(f'{name!r} is no time zone; give a name such as "Europe/Berlin" or "Etc/UTC"')
        return name

    @model_validator(mode="after")
    def _check_cron(self) -> Self:
        days, longer = _list_run_days(self.cron), LONGER.get(self.period)
        reason = f"because successive editions have the numbers of successive {self.period}s"
        if longer and days and len({label_period(day, longer) for day in days}) == len(days):
            raise ValueError(
                f'cron {self.cron!r} runs at most once in a {longer}: give period = "{longer}", {reason}'
            )
        # Single days may be left out, such as weekends.
        unit: Period = "week" if self.period == "day" else self.period
        every_day = [FIRST_DAY + timedelta(n) for n in range(N_DAYS)]
        wanted, found = ({label_period(day, unit) for day in of} for of in (every_day, days))
        if left_out := sorted(wanted - found):
            raise ValueError(
                f"cron {self.cron!r} runs in {len(found)} of {len(wanted)} {unit}s, for example not in "
                f"{left_out[0]}: give a cron that runs in every {unit}, {reason}"
            )
        return self


def _list_run_days(cron: str) -> list[date]:
    """Return the days of the checked ones on which the schedule runs."""
    problem = "give five fields: minute, hour, day of the month, month, day of the week"
    if len(cron.split()) != 5 or UNSUPPORTED.search(cron):
        raise ValueError(f"cron {cron!r} is not valid; {problem}")
    start, end = (datetime.combine(FIRST_DAY + timedelta(n), time()) for n in (0, N_DAYS))
    try:
        CronSim(cron, start)
        # At midnight of every such day, because a schedule may run every minute.
        runs = CronSim(f"0 0 {' '.join(cron.split()[2:])}", start - timedelta(minutes=1))
        return [run.date() for run in takewhile(lambda run: run < end, runs)]
    except CronSimError as error:
        raise ValueError(f"cron {cron!r} is not valid ({error}); {problem}") from None
