"""What a run gets from a form of the UI or from its parent, and the names and links that it shows there."""

from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest
from prefect import runtime

from flows.regenerate import MAX_STARTS, require_start_allowed
from flows.support import artifacts
from flows.support.configurations import find_config, name_artifact
from flows.support.run_names import name_edition_run, name_period_run
from pretexeval.config.file import Config
from pretexeval.config.installation_names import BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE
from pretexeval.primitives.errors import InputError

DAILY = '[schedule]\ncron = "0 3 * * *"\nperiod = "day"\ntimezone = "Asia/Tokyo"'
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
    monkeypatch.setenv(BASE_URL_VARIABLE, f"{SERVER}/")
    monkeypatch.setenv(SERVED_ROOT_VARIABLE, str(tmp_path))
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
    monkeypatch.setenv(SERVED_ROOT_VARIABLE, str(tmp_path.parent))
    artifacts.link_results(configure(tmp_path), EDITION)
    assert links["dashboard"] == f"s3://bucket/team/report/{EDITION}/index.html"
