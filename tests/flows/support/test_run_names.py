"""The configuration and the period of a run, and the names and links that it shows in the UI."""

from datetime import UTC, date, datetime, timedelta, timezone
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import pytest
from hypothesis import given
from hypothesis import strategies as st
from prefect import runtime

from flows.regenerate import MAX_STARTS, require_start_allowed
from flows.support import artifacts
from flows.support.configurations import find_config, name_artifact
from flows.support.periods import list_moments, name_period, plan_period
from flows.support.run_names import name_edition_run, name_period_run
from pretexeval.config.file import Config
from pretexeval.config.schedule import Period, ScheduleConfig, label_period
from pretexeval.primitives.errors import InputError

DAILY_FILE = '[schedule]\ncron = "0 3 * * *"\nperiod = "day"\ntimezone = "Asia/Tokyo"'
EDITION = "starter-2026-W47-1a2b3c4d"
SERVER = "http://127.0.0.1:8080"


def set_parameters(monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> None:  # noqa: ANN401 - of any flow
    monkeypatch.setattr(runtime.flow_run, "parameters", parameters, raising=False)


def test_a_configuration_is_planned_or_a_file_that_may_be_named_by_its_stem(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    planned = Config.model_validate({"edition": {"seed": 7}})
    assert find_config(planned, tmp_path / "lost.toml") is planned
    monkeypatch.chdir(tmp_path)
    (tmp_path / "configs").mkdir()
    (tmp_path / "configs" / "mine.toml").write_text("[edition]\nseed = 7\n")
    for name in ("mine", "configs/mine.toml"):
        assert find_config(None, Path(name)).edition.seed == 7
    moment = datetime(2026, 11, 16, tzinfo=UTC)
    assert find_config(None, Path("mine"), moment).edition.label == "2026-W47"
    with pytest.raises(InputError, match="lost cannot be read"):
        find_config(None, Path("lost"))
    with pytest.raises(InputError, match="config_file is missing; give a configuration"):
        find_config(None, None)


def test_key_of_an_artifact_carries_the_name_of_the_configuration(monkeypatch: pytest.MonkeyPatch) -> None:
    expected: dict[Path | str | None, str] = {
        Path("configs/quickstart.toml"): "leaderboard-quickstart",
        "configs/My base_2.toml": "leaderboard-my-base-2",
        "mine": "leaderboard-mine",
        None: "leaderboard",
    }
    keys = {}
    for file in expected:
        set_parameters(monkeypatch, config_file=file)
        keys[file] = name_artifact("leaderboard", Config(), None)
    assert keys == expected


def test_run_that_a_person_started_is_named_after_its_file(
    monkeypatch: pytest.MonkeyPatch, tmp_path: Path
) -> None:
    file = tmp_path / "daily.toml"
    file.write_text(DAILY_FILE, encoding="utf-8")
    set_parameters(monkeypatch, config_file=str(file), moment=None, config=None)
    assert name_edition_run("build")() == "build-starter-seed1"
    moment = datetime(2026, 11, 16, 20, tzinfo=UTC)
    set_parameters(monkeypatch, config_file=str(file), moment=moment)
    assert name_edition_run("build")() == "build-starter-2026-11-17"
    # The flow itself says what is wrong.
    file.write_text(f"{DAILY_FILE}\n[models]\nwrong = 1", encoding="utf-8")
    assert name_edition_run("build")() == "build-daily-2026-11-17"
    set_parameters(monkeypatch, config_file=str(tmp_path / "lost.toml"))
    assert name_edition_run("build")() == "build-lost"


@pytest.mark.parametrize(
    ("schedule", "scheduled", "moment", "period"),
    [
        ("", "2026-11-16T03:00:00", None, "2026-W47"),
        # The ISO week of a day is that of its Thursday.
        ("", "2027-01-03T23:59:59", None, "2026-W53"),
        ("", "2027-01-04T00:00:00", datetime(2026, 11, 16, tzinfo=UTC), "2026-W47"),
        (DAILY_FILE, "2026-11-16T20:00:00", None, "2026-11-17"),
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
    moment: datetime | None,
    period: str,
) -> None:
    file = tmp_path / "medlama.toml"
    file.write_text(schedule, encoding="utf-8")
    set_parameters(monkeypatch, config_file=str(file), moment=moment)
    planned = datetime.fromisoformat(scheduled).replace(tzinfo=UTC)
    monkeypatch.setattr(runtime.flow_run, "scheduled_start_time", planned, raising=False)
    assert name_period_run() == f"regenerate-medlama-{period}"


def test_run_that_lost_its_worker_too_often_is_refused(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS, raising=False)
    require_start_allowed()
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_STARTS + 1, raising=False)
    with pytest.raises(InputError, match=f"lost its worker {MAX_STARTS} times"):
        require_start_allowed()


def test_links_lead_to_the_web_server_only_if_it_serves_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    links: dict[str, str] = {}

    def link(address: str, *, link_text: str, key: str, description: str) -> None:
        assert link_text
        assert description
        links[key] = address

    def configure(root: Path) -> Config:
        return Config.model_validate({"storage": {"root": root, "shared": "s3://bucket/team"}})

    monkeypatch.setattr(artifacts, "create_link_artifact", link)
    monkeypatch.setenv(artifacts.BASE_URL_VARIABLE, f"{SERVER}/")
    monkeypatch.setenv(artifacts.SERVED_ROOT_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    artifacts.link_results(configure(Path(tmp_path.name)), EDITION)
    assert links == {
        "dashboard": f"{SERVER}/{EDITION}/index.html",
        "parquet": f"{SERVER}/editions/{EDITION}/",
        "warehouse": f"{SERVER}/warehouse.duckdb",
    }
    artifacts.link_predictions(configure(tmp_path), EDITION, f"predictions/{EDITION}/m-1")
    assert links["parquet"] == f"{SERVER}/predictions/{EDITION}/m-1/"
    # The web server of another folder does not have them.
    monkeypatch.setenv(artifacts.SERVED_ROOT_VARIABLE, str(tmp_path.parent))
    artifacts.link_results(configure(tmp_path), EDITION)
    assert links["dashboard"] == f"s3://bucket/team/report/{EDITION}/index.html"


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
