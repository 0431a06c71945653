"""Names of flow runs, and the limit of restarts of `regenerate`."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect import runtime

from flows.regenerate import MAX_STARTS, require_start_allowed
from flows.support.run_names import name_edition_run, name_period_run
from pretexeval.primitives.errors import InputError

DAILY = '[schedule]\ncron = "0 3 * * *"\nperiod = "day"\ntimezone = "Asia/Tokyo"'


def set_parameters(monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> None:  # noqa: ANN401 - of any flow
    monkeypatch.setattr(runtime.flow_run, "parameters", parameters, raising=False)


def test_run_that_a_person_started_is_named_after_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "daily.toml"
    file.write_text(DAILY, encoding="utf-8")
    set_parameters(monkeypatch, config_file=str(file), moment=None, config=None)
    assert name_edition_run("build")() == "build-starter-seed1"
    moment = datetime(2026, 11, 16, 20, tzinfo=UTC)
    set_parameters(monkeypatch, config_file=str(file), moment=moment)
    assert name_edition_run("build")() == "build-starter-2026-11-17"
    # The flow itself says what is wrong.
    file.write_text(f"{DAILY}\n[models]\nwrong = 1", encoding="utf-8")
    assert name_edition_run("build")() == "build-daily-2026-11-17"
    set_parameters(monkeypatch, config_file=str(tmp_path / "lost.toml"))
    assert name_edition_run("build")() == "build-lost"


@pytest.mark.parametrize(
    ("schedule", "scheduled", "given", "period"),
    [
        ("", "2026-11-16T03:00:00", None, "2026-W47"),
        # The ISO week of a day is that of its Thursday.
        ("", "2027-01-03T23:59:59", None, "2026-W53"),
        ("", "2027-01-04T00:00:00", None, "2027-W01"),
        ("", "2027-01-04T00:00:00", datetime(2026, 11, 16, tzinfo=UTC), "2026-W47"),
        (DAILY, "2026-11-16T20:00:00", None, "2026-11-17"),
        # Another table is wrong, then the schedule, then the syntax.
        ("[models]\nwrong = 1", "2026-11-16T03:00:00", None, "2026-W47"),
        ('[schedule]\nperiod = "year"', "2026-11-16T03:00:00", None, "2026-11-16"),
        ("[schedule", "2026-11-16T03:00:00", None, "2026-11-16"),
    ],
)
def test_name_of_regenerate_contains_the_period_of_its_moment_or_schedule(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    schedule: str,
    scheduled: str,
    given: datetime | None,
    period: str,
) -> None:
    file = tmp_path / "medlama.toml"
    file.write_text(schedule, encoding="utf-8")
    set_parameters(monkeypatch, config_file=str(file), moment=given)
    moment = datetime.fromisoformat(scheduled).replace(tzinfo=UTC)
    monkeypatch.setattr(runtime.flow_run, "scheduled_start_time", moment, raising=False)
    assert name_period_run() == f"regenerate-medlama-{period}"


def test_run_that_lost_its_worker_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS, raising=False)
    require_start_allowed()
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS + 1, raising=False)
    with pytest.raises(InputError, match=f"lost its worker {MAX_STARTS} times"):
        require_start_allowed()
