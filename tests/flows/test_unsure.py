"""`pretexeval run` for models that are asked with two answers and with three, and answer from a rule."""

from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from commands.scripting import load_predictions
from pretexeval.primitives.errors import InputError
from tasks.asking.prompts import ASK_UNSURE
from tests.support.command import Outcome, read_bytes, run_command, write_base, write_config
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_reply, serve_endpoint
from tests.support.weeks_endpoint import HEAD, STATEMENT, Rules, list_facts
from warehouse.query import read_rows

pytestmark = pytest.mark.long

DOUBTS = (
    " Unsure",
    " I am not sure.",
    " I don't know whether it is True.",
    " I'm not sure, but Unsure it is.",
)
RULES = Rules()
# Number of a head modulo 4 -> whether a model judges its statements rightly, or None for a doubt. Where the
# model cannot say that it doubts, it is right.
CAREFUL: dict[int, bool | None] = {0: True, 1: None, 2: True, 3: False}
BOLD: dict[int, bool | None] = {0: True, 1: True, 2: False, 3: False}
MODELS = {"careful": CAREFUL, "bold": BOLD}


@dataclass
class Story:
    """A run with two answers, and a run of the same models with three."""

    root: Path
    endpoint: Endpoint
    n_before: int
    before: dict[str, str]
    again: Outcome
    n_asked: int


def judge(model: str, statement: str, *, is_offered: bool) -> str:
    """Return the reply of a model to a statement."""
    number = int(HEAD.findall(statement)[0])
    is_right = MODELS[model][number % 4]
    if is_right is None and is_offered:
        return DOUBTS[len(statement) % len(DOUBTS)]
    return f" {RULES.is_true(statement) == (is_right is not False)}"


def answer(body: Body, number: int) -> EndpointReply:
    question = str(body["prompt"]).rpartition("\n\n")[2]
    return build_reply(
        judge(body["model"], STATEMENT.findall(question)[0], is_offered=ASK_UNSURE in question)
    )


@pytest.fixture(scope="module")
def story(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Iterator[Story]:
    folder = tmp_path_factory.mktemp("unsure")
    base = write_base(folder / "base.tsv", list_facts())
    with serve_endpoint(answer) as endpoint:
        names = ("careful", "bold")
        table = {"engine": "openai", "base_url": endpoint.base_url}

        def run(**more: object) -> Outcome:
            config = write_config(
                folder / "c.toml",
                folder / "data",
                knowledge={"name": "own", "format": "table", "path": str(base)},
                edition={"methods": ["pretexeval"]},
                models=[table | {"name": name, "model": name} | more for name in names],
            )
            return run_command("run", config, folder=folder, environment=prefect_server).require()

        run()
        n_before, before = len(endpoint.requests), read_bytes(folder / "data", "*predictions/**/*.parquet")
        again = run(unsure=True)
        n_asked = len(endpoint.requests)
        run(unsure=True)
        yield Story(folder / "data", endpoint, n_before, before, again, n_asked)


def test_two_answers_stay_as_they_are(story: Story) -> None:
    after = read_bytes(story.root, "*predictions/**/*.parquet")
    assert {name: after[name] for name in story.before} == story.before
    assert {name.split("/")[0] for name in after.keys() - story.before.keys()} == {"unsure_predictions"}
    later = [str(body["prompt"]) for _, _, body in story.endpoint.requests[story.n_before :]]
    assert all(ASK_UNSURE in text for text in later)
    assert story.n_asked == 2 * story.n_before == len(story.endpoint.requests)
    assert {path.name.rpartition("-")[0] for path in (story.root / "responses").iterdir()} == {
        "careful",
        "bold",
    }
    assert len(list((story.root / "responses").iterdir())) == 2


def test_rates_are_those_of_the_rules(story: Story) -> None:
    samples = read_rows(
        story.root,
        "select sample_id, head from samples inner join triplets using (edition_id, triplet_id) "
        "where samples.split = 'test'",
    )
    heads = Counter(int(HEAD.findall(row["head"])[0]) % 4 for row in samples)
    for name, rule in MODELS.items():
        shares = Counter[bool | None]()
        for rest, n in heads.items():
            shares[rule[rest]] += n
        n_samples = heads.total()
        (row,) = read_rows(story.root, f"from knows_guesses_errs where model = '{name}'")
        assert row["n_samples"] == n_samples
        found = [row[rate] for rate in ("right_rate", "unsure_rate", "wrong_rate", "no_answer_rate")]
        assert found == pytest.approx([*(shares[said] / n_samples for said in (True, None, False)), 0])
        assert row["penalised_score"] == pytest.approx((shares[True] - shares[False]) / n_samples)
        assert row["wrong_among_answered"] == pytest.approx(shares[False] / (n_samples - shares[None]))
        assert row["two_answer_accuracy"] == pytest.approx((shares[True] + shares[None]) / n_samples)
        (scored,) = read_rows(story.root, f"from leaderboard where model = '{name}'")
        assert row["two_answer_accuracy"] == pytest.approx(scored["average_accuracy"])


def test_answers_of_one_model_can_be_read_with_their_samples(story: Story) -> None:
    (edition,) = read_rows(story.root, "select edition_id from editions")
    frame = load_predictions(story.root, edition["edition_id"], "careful", setting="true_false_unsure")
    assert frame.height == story.n_before // len(MODELS)
    for row in frame.to_dicts():
        rule = CAREFUL[int(HEAD.findall(row["head"])[0]) % 4]
        right = "T" if row["label"] else "F"
        assert (row["answer"] == "U") == (rule is None)
        assert (row["answer"] == right) == (rule is True) == row["is_correct"]
    with pytest.raises(InputError, match=r"(?s)model = 'shy'.*it has .*bold \| pretexeval \| strict"):
        load_predictions(story.root, edition["edition_id"], "shy", setting="true_false_unsure")


def test_the_run_reports_both_evaluations_and_the_page_shows_them(story: Story) -> None:
    runs = read_rows(story.root, "select setting, n_asked, n_reused from runs order by setting nulls first")
    assert [row["setting"] for row in runs] == [None, None, "true_false_unsure", "true_false_unsure"]
    (page,) = story.root.glob("report/*/index.html")
    assert "Knows, guesses, errs" in page.read_text(encoding="utf-8")
    checks = read_rows(
        story.root,
        "select distinct stage from checks where setting = 'true_false_unsure' and is_passed order by all",
    )
    assert [row["stage"] for row in checks] == ["predictions", "readings", "requests", "responses"]
    assert read_rows(story.root, "from not_evaluated") == []
