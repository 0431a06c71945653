"""`pretexeval run` for models that answer from a rule: with a third answer, and of two releases of a base."""

from collections import Counter
from collections.abc import Callable
from pathlib import Path

import pytest

from commands.scripting import load_predictions
from tasks.asking.prompts import ASK_UNSURE
from tests.support.command import read_bytes, run_command, write_base, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, EndpointReply, build_reply, serve_endpoint
from tests.support.weeks_endpoint import HEAD, RELATION, STATEMENT, Rules, is_fact, list_facts

pytestmark = pytest.mark.long

RULES = Rules()
DOUBTS = (
    " Unsure",
    " I am not sure.",
    " I don't know whether it is True.",
    " I'm not sure, but Unsure it is.",
)
# Number of a head modulo 4 -> whether a model judges its statements rightly, or None for a doubt. Where the
# model cannot say that it doubts, it is right.
MODELS: dict[str, dict[int, bool | None]] = {
    "careful": {0: True, 1: None, 2: True, 3: False},
    "bold": {0: True, 1: True, 2: False, 3: False},
}


def answer_or_doubt(body: Body, _: int) -> EndpointReply:
    question = str(body["prompt"]).rpartition("\n\n")[2]
    (statement,) = STATEMENT.findall(question)
    is_right = MODELS[body["model"]][int(HEAD.findall(statement)[0]) % 4]
    if is_right is None and ASK_UNSURE in question:
        return build_reply(DOUBTS[len(statement) % len(DOUBTS)])
    return build_reply(f" {RULES.is_true(statement) == (is_right is not False)}")


def test_a_third_answer_is_asked_once_and_scored_beside_the_two(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root, base = tmp_path / "data", write_base(tmp_path / "base.tsv", list_facts())
    with serve_endpoint(answer_or_doubt) as endpoint:

        def run(**more: object) -> list[str]:
            """Run the command, and return the prompts that it asked."""
            n_before = len(endpoint.requests)
            table = {"engine": "openai", "base_url": endpoint.base_url, **more}
            config = write_config(
                tmp_path / "c.toml",
                root,
                knowledge={"name": "own", "format": "table", "path": str(base)},
                edition={"methods": ["pretexeval"]},
                models=[table | {"name": name, "model": name} for name in MODELS],
            )
            run_command("run", config, folder=tmp_path, environment=prefect_server).require()
            return [str(body["prompt"]) for _, _, body in endpoint.requests[n_before:]]

        n_prompts, before = len(run()), read_bytes(root, "*predictions/**/*.parquet")
        asked = run(unsure=True)
        assert len(asked) == n_prompts
        assert all(ASK_UNSURE in text for text in asked)
        assert run(unsure=True) == []
    after = read_bytes(root, "*predictions/**/*.parquet")
    assert before.items() <= after.items()
    assert {name.split("/")[0] for name in after.keys() - before.keys()} == {"unsure_predictions"}
    assert sorted(path.name.rpartition("-")[0] for path in (root / "responses").iterdir()) == sorted(MODELS)

    sql = (
        "select edition_id, head from samples inner join triplets using (edition_id, triplet_id) "
        "where samples.split = 'test'"
    )
    rows = query_rows(root, sql)
    for name, rule in MODELS.items():
        said = Counter(rule[int(HEAD.findall(row["head"])[0]) % 4] for row in rows)
        sql = (
            "select knows_guesses_errs.*, average_accuracy from knows_guesses_errs "
            f"inner join leaderboard using (model) where model = '{name}'"
        )
        (row,) = query_rows(root, sql)
        n_samples, n_right, n_unsure, n_wrong = len(rows), said[True], said[None], said[False]
        expected = {
            "n_samples": n_samples,
            "right_rate": n_right / n_samples,
            "unsure_rate": n_unsure / n_samples,
            "wrong_rate": n_wrong / n_samples,
            "no_answer_rate": 0,
            "penalised_score": (n_right - n_wrong) / n_samples,
            "wrong_among_answered": n_wrong / (n_samples - n_unsure),
            "two_answer_accuracy": (n_right + n_unsure) / n_samples,
            "average_accuracy": (n_right + n_unsure) / n_samples,
        }
        assert {key: row[key] for key in expected} == pytest.approx(expected), name

    frame = load_predictions(root, rows[0]["edition_id"], "careful", setting="true_false_unsure")
    assert frame.height == n_prompts // len(MODELS)
    for row in frame.to_dicts():
        is_right = MODELS["careful"][int(HEAD.findall(row["head"])[0]) % 4]
        assert (row["answer"] == "U") == (is_right is None)
        assert (row["answer"] == ("T" if row["label"] else "F")) == (is_right is True) == row["is_correct"]
    runs = query_rows(root, "select setting from runs order by setting nulls first")
    assert [row["setting"] for row in runs] == [None, None, "true_false_unsure", "true_false_unsure"]
    (page,) = root.glob("report/*/index.html")
    assert "Knows, guesses, errs" in page.read_text(encoding="utf-8")
    sql = "select distinct stage from checks where setting = 'true_false_unsure' and is_passed order by all"
    stages = [row["stage"] for row in query_rows(root, sql)]
    assert stages == ["predictions", "readings", "requests", "responses"]
    assert query_rows(root, "from not_evaluated") == []


N_HEADS, N_TAILS = 48, 16
Fact = tuple[int, int]
OLD = {(head, tail) for head in range(N_HEADS) for tail in range(N_TAILS) if is_fact(head, tail)}
# Each of these heads loses one of its four tails; the first of them keeps the tail as an asserted negative.
REMOVED = {max(fact for fact in OLD if fact[0] == head) for head in range(8, 20)}
REVERSED = {max(fact for fact in OLD if fact[0] == head) for head in range(20, 28)}
ADDED = {(head, tail + 1) for head, tail in OLD if head >= 28 and tail == min(t for h, t in OLD if h == head)}
CURRENT = (OLD - REMOVED - REVERSED) | ADDED
BELIEFS: dict[str, Callable[[Fact], bool]] = {
    "old": OLD.__contains__,
    "current": CURRENT.__contains__,
    "agreeable": lambda _: True,
}


def write_release(path: Path, facts: set[Fact], denied: set[Fact]) -> str:
    rows = [(*fact, "") for fact in sorted(facts)] + [(*fact, "true") for fact in sorted(denied)]
    lines = [f"Drug {head}\t{RELATION}\tDisease {tail}\t{is_false}" for head, tail, is_false in rows]
    path.write_text("\n".join(["head\trelation\ttail\talso_false", *lines]) + "\n")
    return str(path)


def test_what_models_affirm_of_kept_new_removed_and_reversed_facts(
    tmp_path: Path, prefect_server: dict[str, str]
) -> None:
    root = tmp_path / "data"

    def answer(request: Body, _: int) -> EndpointReply:
        head, tail, is_denied = RULES.read(STATEMENT.findall(request["prompt"])[-1])
        return build_reply(f" {BELIEFS[request['model']]((head, tail)) != is_denied}")

    with serve_endpoint(answer) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url}
        config = write_config(
            tmp_path / "changes.toml",
            root,
            knowledge={
                "name": "changing",
                "format": "table",
                "path": write_release(tmp_path / "2025.tsv", CURRENT, REVERSED),
                "releases": [{"name": "2021", "path": write_release(tmp_path / "2021.tsv", OLD, set())}],
                "changes": True,
            },
            edition={"evidence": []},
            models=[{"name": name, "model": name, **served} for name in BELIEFS],
        )
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()

    kinds = [
        ("new", "kept"),
        ("new", "false twins"),
        ("removed", "kept"),
        ("removed", "new"),
        ("removed", "false twins"),
        ("reversed", "kept"),
        ("reversed", "new"),
    ]
    # The rate of the model, and that of the facts compared with.
    expected = {
        "old": [(0, 1), (0, 0), (1, 1), (1, 0), (1, 0), (1, 1), (1, 0)],
        "current": [(1, 1), (1, 0), (0, 1), (0, 1), (0, 0), (0, 1), (0, 1)],
        "agreeable": [(1, 1)] * len(kinds),
    }
    rates: dict[str, dict[tuple[str, str], tuple[float, float]]] = {name: {} for name in BELIEFS}
    for row in query_rows(root, "from stale_beliefs"):
        compared = row["all_affirmed_rate"], row["compared_rate"]
        rates[row["model"]][row["origin"], row["compared_with"]] = compared
    assert rates == {name: dict(zip(kinds, values, strict=True)) for name, values in expected.items()}

    # A removed fact is in no score.
    sql = "select first_release, count(*) as n from triplets where split = 'test' group by first_release"
    n_of = {row["first_release"]: row["n"] for row in query_rows(root, sql)}
    assert n_of["removed"] >= 8
    assert n_of["reversed"] >= 4
    scores = query_rows(root, "select model, average_accuracy, n_pairs from leaderboard")
    accuracy = {row["model"]: row["average_accuracy"] for row in scores}
    assert accuracy["current"] == 1
    # It denies the new facts and affirms the reversed ones.
    n_scored = 2 * (n_of["2021"] + n_of["new"])
    assert accuracy["old"] == pytest.approx(1 - (n_of["new"] + n_of["reversed"]) / n_scored)
    assert {row["n_pairs"] for row in scores} == {n_scored / 2}
    graded = query_rows(
        root,
        "select count(is_correct) as n from prediction_details "
        "inner join triplets using (edition_id, pair_id) where first_release = 'removed'",
    )
    assert graded == [{"n": 0}]
