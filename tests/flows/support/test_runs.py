"""The configuration of a run, its period and its name, retries of its tasks, and its outcome."""

import asyncio
import errno
import importlib
import os
import pkgutil
import subprocess
import sys
import time
import traceback
from collections.abc import Callable
from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any, cast
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect import Flow, Task, runtime
from prefect.client.schemas.objects import State
from prefect.exceptions import ParameterTypeError
from prefect.states import Completed, Failed

import flows
from flows.build_test_set import build_test_set
from flows.regenerate import MAX_STARTS, name_period_run, require_start_allowed
from flows.support import cancellation
from flows.support.cancellation import end_when_cancelled
from flows.support.periods import list_moments, name_period, plan_period
from flows.support.runs import RETRIES, call_flow, is_transient
from flows.support.stage_task import RESULTS_KEPT_S, remove_old_results
from pretexeval.config.file import Config
from pretexeval.config.schedule import Period, ScheduleConfig, label_period
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import TASKS_FOLDER
from tests.support.command import build_environment

DAILY_FILE = '[schedule]\ncron = "0 3 * * *"\nperiod = "day"\ntimezone = "Asia/Tokyo"'


def test_a_configuration_is_given_or_a_file_that_may_be_named_by_its_stem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    def read(given: object) -> Config:
        found = build_test_set.validate_parameters({"config": given})["config"]
        assert isinstance(found, Config)
        return found

    planned = Config.model_validate({"edition": {"seed": 7}})
    assert read(planned) is planned
    assert read(planned.model_dump_json(exclude_defaults=True)) == planned
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.toml").write_text("[edition]\nseed = 7\n")
    for name in ("mine", "configs/mine.toml", Path("mine")):
        assert read(name).edition.seed == 7
    with pytest.raises(ParameterTypeError, match="lost cannot be read"):
        read("lost")


@pytest.mark.parametrize(
    ("schedule", "scheduled", "moment", "period"),
    [
        ("", "2026-11-16T03:00:00", None, "2026-W47"),
        # The ISO week of a day is that of its Thursday.
        ("", "2027-01-03T23:59:59", None, "2026-W53"),
        ("", "2027-01-04T00:00:00", datetime(2026, 11, 16, tzinfo=UTC), "2026-W47"),
        (DAILY_FILE, "2026-11-16T20:00:00", None, "2026-11-17"),
        # The flow itself says what is wrong.
        ("[models]\nwrong = 1", "2026-11-16T03:00:00", None, "2026-11-16"),
    ],
)
def test_name_of_regenerate_contains_the_period_of_its_moment_or_schedule(
    monkeypatch: pytest.MonkeyPatch,
    tmp_path: Path,
    schedule: str,
    scheduled: str,
    moment: datetime | None,
    period: str,
) -> None:
    file = tmp_path / "medlama.toml"
    file.write_text(schedule, encoding="utf-8")
    parameters = {"config_file": str(file), "moment": moment}
    monkeypatch.setattr(runtime.flow_run, "parameters", parameters, raising=False)
    planned = datetime.fromisoformat(scheduled).replace(tzinfo=UTC)
    monkeypatch.setattr(runtime.flow_run, "scheduled_start_time", planned, raising=False)
    assert name_period_run() == f"regenerate-medlama-{period}"


def test_run_that_lost_its_worker_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS, raising=False)
    require_start_allowed()
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS + 1, raising=False)
    with pytest.raises(InputError, match=f"lost its worker {MAX_STARTS} times"):
        require_start_allowed()


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
    # In the time zone of the schedule, the day, and with it the number of its edition, is one more.
    in_utc, in_berlin = (
        plan_period(Config(schedule=DAILY.model_copy(update=zone)), MIDNIGHT) for zone in ({}, BERLIN)
    )
    assert in_utc.edition.number is not None
    assert in_berlin.edition.number == in_utc.edition.number + 1


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


FAIL = """
import sys
from pathlib import Path
from commands.in_process import prepare_prefect
prepare_prefect(Path(sys.argv[1]))
from prefect import flow, task
from flows.support.runs import TIME_LIMIT_S
assert TIME_LIMIT_S == 5400
@task
def break_task():
    raise ValueError("broken")
@flow
def break_flow():
    break_task()
break_flow(return_state=True)
"""


def raised(error: Exception, cause: Exception | None = None) -> Exception:
    try:
        raise error from cause
    except type(error) as caught:
        return caught


@pytest.mark.parametrize(
    ("error", "is_retried"),
    [
        (ConnectionResetError("gone"), True),
        (TimeoutError("the lock of another publisher"), True),
        (OSError(errno.ESTALE, "Stale file handle"), True),
        (raised(InputError("cannot be written"), OSError(errno.EIO, "Input/output error")), True),
        (raised(ValueError("outer"), raised(InputError("inner"), ConnectionRefusedError("nobody"))), True),
        (InputError("the key is refused"), False),
        (OSError(errno.ENOSPC, "No space left on device"), False),
        (PermissionError(errno.EACCES, "Permission denied"), False),
        (raised(InputError("cannot be read"), FileNotFoundError(errno.ENOENT, "no such file")), False),
        (AssertionError("ours"), False),
    ],
)
def test_only_transient_errors_are_retried(error: Exception, is_retried: bool) -> None:
    state: State[None] = Failed(data=error)
    assert is_transient(error) == RETRIES["retry_condition_fn"](None, None, state) == is_retried


def test_every_task_is_retried_in_the_same_way() -> None:
    modules = [importlib.import_module(each.name) for each in pkgutil.walk_packages(flows.__path__, "flows.")]
    tasks = {
        each.name: each for module in modules for each in vars(module).values() if isinstance(each, Task)
    }
    assert {"check_stage", "ask-model", "load-warehouse"} <= tasks.keys()
    different = [
        name
        for name, each in tasks.items()
        if (each.retries, each.retry_delay_seconds, each.retry_condition_fn) != tuple(RETRIES.values())
    ]
    assert different == []


@pytest.mark.long
def test_errors_of_runs_lie_in_the_data_folder(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    home, root = tmp_path / "home", tmp_path / "data"
    own = {"HOME": str(home), "PREFECT_HOME": str(home / ".prefect"), "PRETEXEVAL_TIME_LIMIT_H": "1.5"}
    command = [sys.executable, "-c", FAIL, str(root)]
    subprocess.run(command, env=build_environment({**prefect_server, **own}), cwd=tmp_path, check=True)
    assert len(list((root / TASKS_FOLDER).iterdir())) == 2
    assert not [path for path in tmp_path.rglob("storage") if path.is_dir()]


def test_old_results_are_removed(tmp_path: Path) -> None:
    folder = tmp_path / TASKS_FOLDER
    remove_old_results(tmp_path)
    folder.mkdir(parents=True)
    for name, age_s in (("old", RESULTS_KEPT_S + 60), ("new", RESULTS_KEPT_S - 60)):
        (folder / name).touch()
        os.utime(folder / name, (time.time() - age_s,) * 2)
    remove_old_results(tmp_path)
    assert [path.name for path in folder.iterdir()] == ["new"]


def end_in(state: State[Any]) -> Flow[..., Any]:
    """Return a flow that ends in this state, as Prefect's client receives it."""
    return cast("Flow[..., Any]", lambda **_: state)


def test_outcome_of_a_flow_with_and_without_a_running_event_loop() -> None:
    async def call_in_a_notebook(state: State[Any]) -> str:
        return call_flow(end_in(state))

    calls: tuple[Callable[[State[Any]], str], ...] = (
        lambda state: call_flow(end_in(state)),
        lambda state: asyncio.run(call_in_a_notebook(state)),
    )
    for call in calls:
        assert call(Completed(message="64 prompts asked")) == "64 prompts asked"
        with pytest.raises(InputError, match="no such model"):
            call(Failed(data=InputError("no such model")))


def test_only_in_the_process_of_a_worker_an_error_loses_its_frames(monkeypatch: pytest.MonkeyPatch) -> None:
    @end_when_cancelled
    def fail() -> None:
        raise InputError("no such model") from OSError("gone")

    def list_functions() -> list[str]:
        with pytest.raises(InputError, match="no such model") as caught:
            fail()
        assert isinstance(caught.value.__cause__, OSError)
        return [frame.name for frame in traceback.extract_tb(caught.value.__traceback__)]

    assert "fail" in list_functions()
    monkeypatch.setattr(cancellation, "is_cancelled", lambda: False)
    monkeypatch.setattr(cancellation, "was_cancelled_while_starting", lambda: False)
    monkeypatch.setenv(cancellation.RUN_OF_WORKER, "a run")
    assert "fail" not in list_functions()
