"""Scores of facts that were listed before, and after, the newest texts on which a model was trained."""

from pathlib import Path

from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse

AGES = {
    "k": "2019-01-01",
    "l": "2019-01-01",
    "m": "2021-01-01",
    "n": "new",
    "o": "2019-01-01",
    "p": "2019-01-01",
}
KNOWN = ("k", "l", "m")


def affirm(sample: Row) -> bool:
    is_affirmed = sample["is_positive"] and sample["head"] in KNOWN
    return bool(is_affirmed) != bool(sample["label"] != sample["is_positive"])


def test_facts_are_apart_by_whether_they_were_listed_before_the_training(tmp_path: Path) -> None:
    data = DataFolder(tmp_path / "data", releases=("2019-01-01", "2021-01-01"))
    data.ages |= AGES
    for head in AGES:
        data.add_pair("causes", head, f"tail of {head}", f"false tail of {head}")
    data.write_edition(EDITION)
    data.write_model("reader", training_cutoff="2020-06-01")
    data.write_answers(EDITION, "reader", affirm)
    data.write_model("unasked", training_cutoff="2020-06-01")
    build_warehouse(data.root)
    rows = data.query(
        "select model, group_name, n_pairs, mastery from accuracy_by_group "
        "where grouping_by = 'training cutoff' and scoring_policy = 'strict' order by group_position"
    )
    # The fact of m was listed by the release after the cutoff, but may have been listed before.
    assert [tuple(row.values()) for row in rows] == [
        ("Reader", "listed before", 4, 2 / 4),
        ("Reader", "listed after", 1, 0.0),
    ]
