"""`pretexeval run` for models that are asked with two answers and with three, and answer from a rule."""

from collections import Counter
from pathlib import Path

import pytest

from commands.scripting import load_predictions
from tasks.asking.prompts import ASK_UNSURE
from tests.support.command import read_bytes, run_command, write_base, write_config
from tests.support.endpoint import Body, EndpointReply, build_reply, serve_endpoint
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
MODELS: dict[str, dict[int, bool | None]] = {
    "careful": {0: True, 1: None, 2: True, 3: False},
    "bold": {0: True, 1: True, 2: False, 3: False},
}


def answer(body: Body, _: int) -> EndpointReply:
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
    with serve_endpoint(answer) as endpoint:

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
    rows = read_rows(root, sql)
    for name, rule in MODELS.items():
        said = Counter(rule[int(HEAD.findall(row["head"])[0]) % 4] for row in rows)
        sql = (
            "select knows_guesses_errs.*, average_accuracy from knows_guesses_errs "
            f"inner join leaderboard using (model) where model = '{name}'"
        )
        (row,) = read_rows(root, sql)
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
    runs = read_rows(root, "select setting from runs order by setting nulls first")
    assert [row["setting"] for row in runs] == [None, None, "true_false_unsure", "true_false_unsure"]
    (page,) = root.glob("report/*/index.html")
    assert "Knows, guesses, errs" in page.read_text(encoding="utf-8")
    sql = "select distinct stage from checks where setting = 'true_false_unsure' and is_passed order by all"
    stages = [row["stage"] for row in read_rows(root, sql)]
    assert stages == ["predictions", "readings", "requests", "responses"]
    assert read_rows(root, "from not_evaluated") == []
