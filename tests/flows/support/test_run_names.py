"""Names that tell runs apart, and when `regenerate` gives up beginning again."""

from datetime import UTC, datetime
from typing import Any

import pytest
from prefect import runtime

from config.file import Config
from config.tables import EditionConfig
from flows.regenerate import MAX_BEGINNINGS, require_beginning
from flows.support.run_names import name_edition_run, name_publish_run, name_week_run
from primitives.errors import InputError


def given(monkeypatch: pytest.MonkeyPatch, **parameters: Any) -> None:  # noqa: ANN401 - of any flow
    monkeypatch.setattr(runtime.flow_run, "parameters", parameters, raising=False)


@pytest.mark.parametrize(
    ("edition", "label"),
    [
        (EditionConfig(seed=7), "seed7"),
        (EditionConfig(seed=7, label="trial"), "trial"),
        (EditionConfig(seed=7, label="2026-W47"), "2026-W47"),
    ],
)
@pytest.mark.parametrize("is_sent", [False, True])
def test_runs_on_an_edition_bear_its_label(
    monkeypatch: pytest.MonkeyPatch, edition: EditionConfig, label: str, is_sent: bool
) -> None:
    config = Config(edition=edition)
    given(monkeypatch, config=config.model_dump(mode="json") if is_sent else config)
    assert name_edition_run("build")() == f"build-starter-{label}"
    assert name_edition_run("rephrase")() == f"rephrase-starter-{label}"


def test_publishing_bears_its_edition_or_none(monkeypatch: pytest.MonkeyPatch) -> None:
    given(monkeypatch, edition_id="starter-2026-W47-1a2b3c4d")
    assert name_publish_run() == "publish-starter-2026-W47-1a2b3c4d"
    given(monkeypatch, edition_id=None)
    assert name_publish_run() == "publish-everything"


@pytest.mark.parametrize(
    ("scheduled", "told", "week"),
    [
        ("2026-11-16T03:00:00", None, "2026-W47"),
        # The week is that of Thursday.
        ("2027-01-03T23:59:59", None, "2026-W53"),
        ("2027-01-04T00:00:00", None, "2027-W01"),
        ("2027-01-04T00:00:00", datetime(2026, 11, 16, tzinfo=UTC), "2026-W47"),
    ],
)
def test_regenerate_bears_the_week_that_it_was_told_or_scheduled_for(
    monkeypatch: pytest.MonkeyPatch, scheduled: str, told: datetime | None, week: str
) -> None:
    given(monkeypatch, config_file="configs/medlama.toml", moment=told)
    moment = datetime.fromisoformat(scheduled).replace(tzinfo=UTC)
    monkeypatch.setattr(runtime.flow_run, "scheduled_start_time", moment, raising=False)
    assert name_week_run() == f"regenerate-medlama-{week}"


def test_a_run_that_loses_every_worker_is_given_up(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_BEGINNINGS, raising=False)
    require_beginning()
    monkeypatch.setattr(runtime.flow_run, "run_count", MAX_BEGINNINGS + 1, raising=False)
    with pytest.raises(InputError, match=f"lost its worker {MAX_BEGINNINGS} times"):
        require_beginning()
