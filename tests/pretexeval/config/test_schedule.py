"""The table [schedule]."""

from pathlib import Path

import pytest

from pretexeval.config.file import load_config
from pretexeval.primitives.errors import InputError


def write_schedule(folder: Path, text: str) -> Path:
    path = folder / "mine.toml"
    path.write_text(f"[schedule]\n{text}\n", encoding="utf-8")
    return path


def test_schedule_that_cannot_run_or_contradicts_itself_is_refused(tmp_path: Path) -> None:
    for text, words in (
        ('cron = "every monday"', "schedule: cron 'every monday' is not valid; give five fields: minute,"),
        ('cron = "@weekly"', "cron '@weekly' is not valid; give five fields"),
        ('cron = "0 25 * * 1"', "cron '0 25 * * 1' is not valid (Bad hour); give five fields"),
        ('cron = "0 3 31 2 *"\nperiod = "month"', "cron '0 3 31 2 *' is not valid (Bad day-of-month)"),
        ('cron = "0 3 * 2 MON#5"\ntimezone = "Mars"', "schedule.timezone: 'Mars' is no time zone; give a"),
        ('period = "day"', 'runs at most once in a week: give period = "week"'),
        ('cron = "0 3 1 * *"', 'runs at most once in a month: give period = "month"'),
        ('cron = "0 3 1 1 *"\nperiod = "month"', "runs in 2 of 20 months, for example not in 2024-02"),
        ('cron = "0 3 1,15 * *"', "weeks, for example not in 2024-W02: give a cron that runs in every week"),
        ('cron = "0 3 * * 1#1,4#1"', "weeks, for example not in 2024-W02"),
        ('period = "year"', "schedule.period = 'year': should be 'day', 'week' or 'month'"),
    ):
        with pytest.raises(InputError) as caught:
            load_config(write_schedule(tmp_path, text))
        assert words in str(caught.value), text


def test_schedule_of_any_cadence_is_accepted(tmp_path: Path) -> None:
    for text in (
        'cron = "0 3 * * MON-FRI"\nperiod = "day"',
        'cron = "30 4 28 * *"\nperiod = "month"\ntimezone = "America/New_York"',
        'cron = "0 3 1,15 * *"\nperiod = "month"',
        'cron = "0 3 * * THU"\ntimezone = "UTC"',
    ):
        schedule = load_config(write_schedule(tmp_path, text)).schedule
        assert schedule.cron in text, text
