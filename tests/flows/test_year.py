"""A year of weekly editions in fast motion; its last six weeks are also killed, cancelled and paused."""

import shutil
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import httpx
import polars as pl
import pytest

from pretexeval.storage.layout import PREFECT_FOLDER
from tests.support.disturbances import KINDS, DisturbedWeeks
from tests.support.fault_models import list_different_tables
from tests.support.parsed_page import parse
from tests.support.year import (
    ADDED_IN,
    CHANGED_IN,
    CONCURRENCY,
    COPIED_AFTER,
    MISSED,
    N_KEPT,
    REASON,
    WITHDRAWN,
    YearOfWeeks,
    change_answers,
    list_asked,
    list_moments,
    serve_models,
    start_history,
)
from tests.support.year_endpoint import STATEMENT, Rules
from warehouse.query import read_rows

pytestmark = pytest.mark.long
# A killed process loses the answers of the last 10 s at least (docs/operations.md), a cancelled one those in
# flight.
LOST_S = 15.0
N_DISTURBANCES = 20
# Two of the three models show all that happens to a model in the year, in two thirds of the time.
MODELS = ("changing", "newcomer")
LABELS = [f"2026-W{number:02}" for number in range(1, 54)]
# No single test lasts as long as faulthandler_timeout.
STEPS = ("2026-W13", "2026-W26", "2026-W39", "2026-W53")
DISTURBED_STEPS = ("2026-W50", "2026-W53")
# A withdrawn edition is not counted.
KEPT = [f"2026-W{number}" for number in range(53 - N_KEPT, 54)]
Row = dict[str, Any]
NOT_GROWING = ("editions", "predictions", "report", "checks", "diversity", "guesses", "warehouse.duckdb")


@dataclass
class Lived:
    """A year that was lived, and what was counted at the endpoint and at the server when it ended."""

    year: YearOfWeeks
    asked: list[tuple[float, str, str]]
    runs: list[Row]


@dataclass
class Disturbed:
    """The last weeks of the year, which were disturbed, and what was asked in them."""

    weeks: DisturbedWeeks
    asked: list[tuple[float, str, str]]


@pytest.fixture(scope="module")
def year(tmp_path_factory: pytest.TempPathFactory) -> Iterator[YearOfWeeks]:
    """A year that begins; its tests go on with it."""
    folder = tmp_path_factory.mktemp("lived")
    with serve_models() as endpoint:
        yield YearOfWeeks(folder, start_history(folder / "data"), endpoint, MODELS)


def live_until(year: YearOfWeeks, last: str) -> None:
    """Live the year up to this week, and keep a copy of its data root from COPIED_AFTER."""

    def copy_root(label: str) -> None:
        if label == COPIED_AFTER:
            # The cache belongs to one folder, and may be deleted.
            ignored = shutil.ignore_patterns("cache", PREFECT_FOLDER)
            shutil.copytree(year.root, year.folder / "copy", ignore=ignored)

    year.live_until(last, copy_root)


@pytest.fixture(scope="module")
def lived(year: YearOfWeeks) -> Lived:
    live_until(year, LABELS[-1])
    return Lived(year, list_asked(year.endpoint), list_runs(year))


@pytest.fixture(scope="module")
def begun(lived: Lived, tmp_path_factory: pytest.TempPathFactory) -> Iterator[DisturbedWeeks]:
    """The weeks after COPIED_AFTER, which are to be disturbed; the tests go on with them."""
    folder = tmp_path_factory.mktemp("disturbed")
    with serve_models() as endpoint:
        year = YearOfWeeks(folder, lived.year.server, endpoint, MODELS)
        shutil.copytree(lived.year.folder / "copy", year.root)
        change_answers(endpoint)
        year.configure()
        yield DisturbedWeeks(year, after=COPIED_AFTER)


@pytest.fixture(scope="module")
def disturbed(begun: DisturbedWeeks) -> Disturbed:
    begun.live_until(LABELS[-1])
    return Disturbed(begun, list_asked(begun.year.endpoint))


def list_runs(year: YearOfWeeks) -> list[Row]:
    """Return the runs of `regenerate` for the configuration, in the order of their start."""
    runs: list[Row] = []
    wanted = {"flows": {"name": {"any_": ["regenerate"]}}, "sort": "START_TIME_ASC"}
    while True:
        body = wanted | {"offset": len(runs)}
        page = httpx.post(f"{year.server['PREFECT_API_URL']}/flow_runs/filter", json=body, timeout=60).json()
        runs += page
        if not page:
            return [run for run in runs if run["parameters"]["config_file"] == str(year.config)]


@pytest.mark.parametrize("last", STEPS)
def test_the_weeks_up_to_this_one_are_published(year: YearOfWeeks, last: str) -> None:
    live_until(year, last)
    assert year.weeks[-1].label == last


def test_each_week_has_one_edition_and_one_run_that_is_named_after_it(lived: Lived) -> None:
    assert list(list_moments()) == LABELS
    assert sorted(week.label for week in lived.year.weeks) == LABELS
    stem, on_time = lived.year.config.stem, [label for label in LABELS if label not in MISSED]
    assert [run["name"] for run in lived.runs] == [f"regenerate-{stem}-{label}" for label in on_time]
    assert {run["state_type"] for run in lived.runs} == {"COMPLETED"}


def test_scores_of_each_week_are_those_of_the_models_rules(lived: Lived) -> None:
    rules, has_changed = Rules(), dict[tuple[str, str], bool]()
    for week in lived.year.weeks:
        assert set(week.accuracy) == {name for name in MODELS if name != "newcomer" or week.label >= ADDED_IN}
        for model, accuracy in week.accuracy.items():
            is_right = []
            for text in week.texts:
                # A text that comes back is not asked again, so its answer stays.
                changed = has_changed.setdefault((model, text), week.label >= CHANGED_IN)
                is_right.append(rules.answer(model, text, has_changed=changed) == rules.is_true(text))
            assert accuracy == pytest.approx(sum(is_right) / len(is_right)), (week.label, model)


def test_every_prompt_was_asked_once_and_every_anchor_once_a_week(lived: Lived) -> None:
    root = lived.year.root
    anchors = read_anchors(root)
    counts = Counter((model, prompt) for _, model, prompt in lived.asked)
    n_periods, tested = count_periods(lived.year), dict[str, set[str]]()
    for week in lived.year.weeks:
        for model in week.accuracy:
            tested.setdefault(model, set()).update(week.texts)
    for (model, prompt), n in counts.items():
        # A text may be an anchor and in an edition, too.
        text = find_statement(prompt)
        assert n == n_periods[model] * (text in anchors) + (text in tested[model]), (model, text)
    answers = pl.concat(pl.read_parquet(path) for path in root.glob("responses/*/part-*.parquet"))
    assert answers.height == counts.total()
    assert answers["prompt_key"].is_unique().all()


def test_the_newest_editions_are_kept_and_the_root_stops_growing(lived: Lived) -> None:
    last, half = lived.year.weeks[-1], next(week for week in lived.year.weeks if week.label == "2026-W26")
    root = lived.year.root
    kept = sorted(path.name for path in (root / "editions").iterdir() if "anchors" not in path.name)
    assert [read_label(name) for name in kept] == KEPT
    for folder in ("predictions", "report"):
        assert sorted(path.name for path in (root / folder).iterdir() if path.is_dir()) == kept
    for name in NOT_GROWING:
        assert last.n_bytes[name] < 1.5 * half.n_bytes[name], name


def test_the_index_lists_the_kept_weeks_and_the_trend_has_no_withdrawn_edition(lived: Lived) -> None:
    page = parse((lived.year.root / "report" / "index.html").read_text(encoding="utf-8"))
    listed = [row[0] for row in page.tables[0][1:]]
    trend = dict.fromkeys(row[0].partition(":")[0] for row in page.tables[1][1:])
    assert sorted(read_label(name.partition("withdrawn")[0].strip()) for name in listed) == KEPT
    assert [read_label(name.partition("withdrawn")[0].strip()) for name in listed if REASON in name] == [
        WITHDRAWN
    ]
    scored = [label for label in KEPT if label != WITHDRAWN]
    assert list(trend) == scored
    rows = read_rows(lived.year.root, "select distinct edition_id from leaderboard order by edition_id")
    assert [read_label(row["edition_id"]) for row in rows] == scored


def test_new_texts_are_those_that_no_kept_edition_of_an_earlier_week_has(lived: Lived) -> None:
    texts = {week.label: set(week.texts) for week in lived.year.weeks}
    for week in lived.year.weeks:
        earlier = set().union(*(texts[label] for label in week.kept if label < week.label))
        n_new = len(texts[week.label] - earlier)
        assert week.new_text_rate == pytest.approx(n_new / len(texts[week.label])), week.label


def test_anchors_find_the_change_and_no_other(lived: Lived) -> None:
    rows = read_rows(lived.year.root, "from anchor_drift where is_successive and scoring_policy = 'strict'")
    changes = {(row["model"], row["other_period"]) for row in rows if row["has_changed"]}
    assert changes == {("changing", CHANGED_IN)}
    assert Counter(row["model"] for row in rows) == {
        name: n - 1 for name, n in count_periods(lived.year).items()
    }


@pytest.mark.parametrize("last", DISTURBED_STEPS)
def test_the_weeks_up_to_this_one_complete_although_they_are_disturbed(
    begun: DisturbedWeeks, last: str
) -> None:
    begun.live_until(last)
    (found,) = read_rows(begun.year.root, "select max(label) as newest from editions where not is_anchors")
    assert found["newest"] == last


def test_disturbed_weeks_give_the_tables_of_the_undisturbed_ones(lived: Lived, disturbed: Disturbed) -> None:
    assert len(disturbed.weeks.done) >= N_DISTURBANCES
    assert {kind for kind, _ in disturbed.weeks.done} == set(KINDS)
    assert list_different_tables(lived.year.root, disturbed.weeks.year.root) == []


def test_only_answers_of_the_last_seconds_before_a_kill_and_those_in_flight_are_paid_for_twice(
    lived: Lived, disturbed: Disturbed
) -> None:
    weeks, asked = disturbed.weeks, disturbed.asked
    anchors = read_anchors(lived.year.root)
    editions = {week.label: set(week.texts) for week in lived.year.weeks}
    times: dict[tuple[str, str, str], list[float]] = {}
    for when, model, prompt in asked:
        week = weeks.find_week(when) if find_statement(prompt) in anchors else ""
        times.setdefault((week, model, prompt), []).append(when)
    in_flight = Counter[float]()
    for (week, _, prompt), repeated in times.items():
        # An anchor that is also in the edition of the week is asked twice.
        n_due = 1 + (week != "" and find_statement(prompt) in editions[week])
        for when in sorted(repeated)[:-n_due]:
            after = {kind: moment for kind, moment in reversed(weeks.done) if when <= moment <= when + LOST_S}
            assert after.keys() & {"killed", "cancelled"}
            if "killed" not in after:
                in_flight[after["cancelled"]] += 1
    assert max(in_flight.values(), default=0) <= CONCURRENCY
    before = {(model, prompt) for _, model, prompt in lived.asked}
    assert {(model, prompt) for _, model, prompt in asked} <= before


def count_periods(year: YearOfWeeks) -> dict[str, int]:
    """Return model -> in how many weeks its anchors were asked. A backfill asks none."""
    on_time = [week for week in year.weeks if week.label not in MISSED]
    return {name: sum(name in week.accuracy for week in on_time) for name in MODELS}


def read_label(edition_id: str) -> str:
    """Return the label within the name of an edition."""
    return edition_id.partition("-")[2].rpartition("-")[0]


def read_anchors(root: Path) -> set[str]:
    """Return the texts of the anchors."""
    rows = read_rows(root, "select text from samples inner join editions using (edition_id) where is_anchors")
    return {row["text"] for row in rows}


def find_statement(prompt: str) -> str:
    """Return the statement that a prompt asks about, after those of its demonstrations."""
    statements: list[str] = STATEMENT.findall(prompt)
    return statements[-1]
