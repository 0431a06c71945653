"""Facts that were kept, added, removed or reversed between two releases, and models that know one of them."""

from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from tests.support.command import run_command, write_config
from tests.support.data_folder import query_rows
from tests.support.endpoint import EndpointReply, build_reply, serve_endpoint
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


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]) -> Path:
    folder = tmp_path_factory.mktemp("changes")
    rules = Rules()

    def answer(request: dict[str, Any], _: int) -> EndpointReply:
        head, tail, is_denied = rules.read(STATEMENT.findall(request["prompt"])[-1])
        return build_reply(f" {BELIEFS[request['model']]((head, tail)) != is_denied}")

    with serve_endpoint(answer) as endpoint:
        config = write_config(
            folder / "changes.toml",
            folder / "data",
            knowledge={
                "name": "changing",
                "format": "table",
                "path": write_release(folder / "2025.tsv", CURRENT, REVERSED),
                "releases": [{"name": "2021", "path": write_release(folder / "2021.tsv", OLD, set())}],
                "changes": True,
            },
            edition={"evidence": []},
            models=[
                {"name": name, "engine": "openai", "model": name, "base_url": endpoint.base_url}
                for name in BELIEFS
            ],
        )
        run_command("run", config, folder=folder, environment=prefect_server).require()
    return folder / "data"


def read_rates(root: Path, model: str) -> dict[tuple[str, str], tuple[float, float]]:
    """Return (origin, compared with) -> the rate of the model and that of the facts compared with."""
    rows = query_rows(root, f"from stale_beliefs where model = '{model}'")
    return {
        (row["origin"], row["compared_with"]): (row["all_affirmed_rate"], row["compared_rate"])
        for row in rows
    }


def test_what_each_model_affirms_of_each_kind_of_fact(root: Path) -> None:
    assert read_rates(root, "old") == {
        ("new", "kept"): (0.0, 1.0),
        ("new", "false twins"): (0.0, 0.0),
        ("removed", "kept"): (1.0, 1.0),
        ("removed", "new"): (1.0, 0.0),
        ("removed", "false twins"): (1.0, 0.0),
        ("reversed", "kept"): (1.0, 1.0),
        ("reversed", "new"): (1.0, 0.0),
    }
    assert read_rates(root, "current") == {
        ("new", "kept"): (1.0, 1.0),
        ("new", "false twins"): (1.0, 0.0),
        ("removed", "kept"): (0.0, 1.0),
        ("removed", "new"): (0.0, 1.0),
        ("removed", "false twins"): (0.0, 0.0),
        ("reversed", "kept"): (0.0, 1.0),
        ("reversed", "new"): (0.0, 1.0),
    }
    assert set(read_rates(root, "agreeable").values()) == {(1.0, 1.0)}


def test_a_removed_fact_is_in_no_score(root: Path) -> None:
    scores = query_rows(root, "select model, average_accuracy, n_pairs from leaderboard")
    tested = query_rows(
        root, "select first_release, count(*) as n from triplets where split = 'test' group by first_release"
    )
    n_of = {row["first_release"]: row["n"] for row in tested}
    assert n_of["removed"] >= 8
    assert n_of["reversed"] >= 4
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
