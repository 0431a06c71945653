"""Scheduled editions: the name and the seed of an edition come from the week it is made for."""

from datetime import UTC, datetime

from config.file import Config
from primitives.hashing import hash_text


def name_week(moment: datetime) -> str:
    """The ISO week, in UTC, as `2026-W47`."""
    year, week, _ = moment.astimezone(UTC).isocalendar()
    return f"{year}-W{week:02}"


def plan_week(config: Config, moment: datetime) -> Config:
    """The configuration of the edition of that week: the same for every moment of it.

    The seed of the configuration is part of it, so that two schedules on one base differ.
    """
    week = name_week(moment)
    seed = int(hash_text("week", week, str(config.edition.seed), digits=8), 16) % 2**31
    edition = config.edition.model_copy(update={"label": week, "seed": seed})
    return config.model_copy(update={"edition": edition})
