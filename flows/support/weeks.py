"""Scheduled editions: the label and the seed of an edition come from its week."""

from datetime import UTC, datetime

from config.file import Config
from primitives.hashing import hash_text


def name_week(moment: datetime) -> str:
    """Return the ISO week in UTC, as `2026-W47`."""
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return f"{year}-W{week:02}"


def plan_week(config: Config, moment: datetime) -> Config:
    """Return the configuration of the edition of a week: the same for every moment of the week.

    The new seed depends on the seed of the configuration, so that two schedules on one base differ.
    """
    week = name_week(moment)
    seed = int(hash_text("week", week, str(config.edition.seed), digits=8), 16) % 2**31
    edition = config.edition.model_copy(update={"label": week, "seed": seed})
    return config.model_copy(update={"edition": edition})
