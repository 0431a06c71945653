"""Ten weekly editions in fast motion: models change, weeks have no run, and an edition is withdrawn."""

from collections import Counter
from collections.abc import Iterator

import polars as pl
import pytest

from tests.support.parsed_page import parse
from tests.support.weeks import (
    REASON,
    TEN_WEEKS,
    LivedWeeks,
    list_asked,
    name_week,
    serve_models,
    start_history,
)
from tests.support.weeks_endpoint import STATEMENT, Rules
from warehouse.query import read_rows

pytestmark = pytest.mark.long
# Two of the three models show all that happens to a model, in two thirds of the time.
MODELS = ("changing", "newcomer")
WEEKS = range(TEN_WEEKS.first, TEN_WEEKS.last + 1)
# A withdrawn edition is not counted.
KEPT = [name_week(number) for number in WEEKS[-TEN_WEEKS.n_kept - 1 :]]
# The editions are as many as are kept, and both models have answered each of them.
FULL_IN = 15
NOT_GROWING = ("editions", "predictions", "report", "checks", "diversity", "guesses", "warehouse.duckdb")


@pytest.fixture(scope="module")
def lived(tmp_path_factory: pytest.TempPathFactory) -> Iterator[LivedWeeks]:
    folder = tmp_path_factory.mktemp("lived")
    with serve_models() as endpoint:
        weeks = LivedWeeks(TEN_WEEKS, folder, start_history(folder / "data"), endpoint, MODELS)
        weeks.live()
        yield weeks


def test_scores_of_each_week_are_those_of_the_models_rules(lived: LivedWeeks) -> None:
    rules, has_changed = Rules(), dict[tuple[str, str], bool]()
    for week in lived.weeks:
        assert set(week.accuracy) == {
            name for name in MODELS if name != "newcomer" or week.number >= TEN_WEEKS.added_in
        }
        for model, accuracy in week.accuracy.items():
            is_right = []
            for text in week.texts:
                # A text that comes back is not asked again, so its answer stays.
                changed = has_changed.setdefault((model, text), week.number >= TEN_WEEKS.changed_in)
                is_right.append(rules.answer(model, text, has_changed=changed) == rules.is_true(text))
            assert accuracy == pytest.approx(sum(is_right) / len(is_right)), (week.number, model)


def test_every_prompt_was_asked_once_and_every_anchor_once_a_week(lived: LivedWeeks) -> None:
    texts = "select text from samples inner join editions using (edition_id) where is_anchors"
    anchors = {row["text"] for row in read_rows(lived.root, texts)}
    counts = Counter((model, prompt) for _, model, prompt in list_asked(lived.endpoint))
    # A backfill asks no anchors.
    on_time = [week for week in lived.weeks if week.number not in lived.calendar.missed]
    tested = dict[str, set[str]]()
    for week in lived.weeks:
        for model in week.accuracy:
            tested.setdefault(model, set()).update(week.texts)
    for (model, prompt), n in counts.items():
        # A text may be an anchor and in an edition, too.
        text = STATEMENT.findall(prompt)[-1]
        n_periods = sum(model in week.accuracy for week in on_time)
        assert n == n_periods * (text in anchors) + (text in tested[model]), (model, text)
    answers = pl.concat(pl.read_parquet(path) for path in lived.root.glob("responses/*/part-*.parquet"))
    assert answers.height == counts.total()
    assert answers["prompt_key"].is_unique().all()


def test_the_newest_editions_are_kept_and_the_root_stops_growing(lived: LivedWeeks) -> None:
    root, last = lived.root, lived.weeks[-1]
    kept = sorted(path.name for path in (root / "editions").iterdir() if "anchors" not in path.name)
    assert [read_label(name) for name in kept] == KEPT
    for folder in ("predictions", "report"):
        assert sorted(path.name for path in (root / folder).iterdir() if path.is_dir()) == kept
    # The warehouse is sometimes written anew, and then has half the size: what counts is the largest so far.
    largest = {
        name: max(week.n_bytes.get(name, 0) for week in lived.weeks if week.number <= FULL_IN)
        for name in NOT_GROWING
    }
    growth = {name: last.n_bytes[name] / largest[name] for name in NOT_GROWING}
    assert {name: ratio for name, ratio in growth.items() if ratio >= 1.5} == {}


def test_the_index_lists_the_kept_weeks_and_the_trend_has_no_withdrawn_edition(lived: LivedWeeks) -> None:
    page = parse((lived.root / "report" / "index.html").read_text(encoding="utf-8"))
    listed = [row[0] for row in page.tables[0][1:]]
    trend = dict.fromkeys(row[0].partition(":")[0] for row in page.table_with("Edition", "Model")[1:])
    assert sorted(read_label(name.partition("withdrawn")[0].strip()) for name in listed) == KEPT
    assert [read_label(name.partition("withdrawn")[0].strip()) for name in listed if REASON in name] == [
        name_week(TEN_WEEKS.withdrawn)
    ]
    scored = [label for label in KEPT if label != name_week(TEN_WEEKS.withdrawn)]
    assert list(trend) == scored
    rows = read_rows(lived.root, "select distinct edition_id from leaderboard order by edition_id")
    assert [read_label(row["edition_id"]) for row in rows] == scored


def read_label(edition_id: str) -> str:
    """Return the label within the name of an edition."""
    return edition_id.partition("-")[2].rpartition("-")[0]
