"""Facts that were kept, added, removed or reversed between two releases, and models that know one of them."""

from collections.abc import Callable
from pathlib import Path

import pytest

from tests.support.command import run_command, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import Body, EndpointReply, build_reply, serve_endpoint
from tests.support.weeks_endpoint import RELATION, STATEMENT, Rules, is_fact

pytestmark = pytest.mark.long

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
    rules, root = Rules(), tmp_path / "data"

    def answer(request: Body, _: int) -> EndpointReply:
        head, tail, is_denied = rules.read(STATEMENT.findall(request["prompt"])[-1])
        return build_reply(f" {BELIEFS[request['model']]((head, tail)) != is_denied}")

    older = write_release(tmp_path / "2021.tsv", OLD, set())
    with serve_endpoint(answer) as endpoint:
        served = {"engine": "openai", "base_url": endpoint.base_url}
        config = write_config(
            tmp_path / "changes.toml",
            root,
            knowledge={
                "name": "changing",
                "format": "table",
                "path": write_release(tmp_path / "2025.tsv", CURRENT, REVERSED),
                "releases": [{"name": "2021", "path": str(older), "test": "changes"}],
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
