"""The same model on two editions of one base."""

import polars as pl
import pytest

from tasks.quality.measurements import record_freshness_limit
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    expected_average,
    expected_difference,
    expected_mastery,
    judge_samples,
    pair_up,
)
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION, fill_pairs
from tests.warehouse.test_accuracy_views import pick
from warehouse.drift import describe_freshness, describe_stale_texts
from warehouse.publishing import build_warehouse

FRESH = "tiny-seed2-00000002"


def leaked(sample: Row) -> bool | None:
    """Answer the first edition right, and three in four of the fresh texts."""
    if not sample["text"].startswith("fresh "):
        return bool(sample["label"])
    draw = int(digest("leaked", sample["text"]), 16) % 100
    return bool(sample["label"]) if draw < 75 else not sample["label"]


@pytest.fixture
def fresh(data: DataFolder) -> DataFolder:
    """Return a second edition under the same root, with fresh texts, without Scabies and with Gout."""
    other = fill_pairs(DataFolder(data.root, wording="fresh ", seed=2))
    other.pairs = [pair for pair in other.pairs if pair[1] != "Scabies"]
    other.add_pair("symptoms", "Gout", "Swelling", "Itch")
    return other


def publish_both(data: DataFolder, fresh: DataFolder) -> None:
    data.write_model("leaked")
    data.write_answers(EDITION, "leaked", leaked, policies=("strict", "excluded"))
    fresh.write_edition(FRESH)
    fresh.write_answers(FRESH, "leaked", leaked, policies=("strict", "excluded"))
    build_warehouse(data.root)


def test_a_fall_on_fresh_text(data: DataFolder, fresh: DataFolder) -> None:
    publish_both(data, fresh)
    rows = data.query("from edition_drift")
    assert [(row["model_id"], row["scoring_policy"]) for row in rows] == [
        ("leaked", "excluded"),
        ("leaked", "strict"),
    ]
    row = rows[1]
    assert (row["edition_id"], row["other_edition_id"]) == (EDITION, FRESH)
    shared = {"Influenza", "Angina pectoris", "Scurvy"}
    before, after = (
        [r for r in judge_samples(w, "pretexeval", leaked, "strict") if r["head"] in shared]
        for w in (data, fresh)
    )
    assert (row["n_heads"], row["n_complete_heads"], row["n_samples"]) == (3, 3, 48)
    expected = expected_difference(pair_up(before, after))
    assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
    own = expected_average(before) | expected_mastery(before, 8)
    for name in ("average_accuracy", "ci_low", "ci_high", "mastery", "mastery_ci_low"):
        assert row[name] == pytest.approx(own[name])
    others = expected_average(after) | expected_mastery(after, 8)
    for name in ("average_accuracy", "mastery", "no_answer_rate"):
        assert row[f"other_{name}"] == pytest.approx(others[name])
    assert row["other_ci_low"] < row["other_average_accuracy"] < row["other_ci_high"]
    assert row["average_accuracy"] == 1.0 > row["other_average_accuracy"]
    assert row["mastery_difference"] == row["mastery"] - row["other_mastery"]
    assert row["same_text_rate"] == 0.0


def read_texts(data: DataFolder, edition_id: str) -> set[str]:
    """Return the texts of the test samples, from the files of the edition."""
    folder = data.root / "editions" / edition_id
    samples = pl.read_parquet(folder / "samples" / "*.parquet")
    return set(samples.filter(split="test")["text"])


def test_freshness_counts_what_no_earlier_edition_used(data: DataFolder, fresh: DataFolder) -> None:
    fresh.wording = ""
    fresh.wordings = {"Influenza": "fresh "}
    fresh.pairs[1] = ("symptoms", "Angina pectoris", "Chest pain", "Itch", "test")
    publish_both(data, fresh)
    first, second = data.query("from freshness")
    assert (first["edition_id"], first["n_earlier_editions"], first["new_text_rate"]) == (EDITION, 0, 1.0)
    before, after = read_texts(data, EDITION), read_texts(data, FRESH)
    assert (second["n_earlier_editions"], second["n_texts"]) == (1, len(after))
    assert second["n_new_texts"] == len(after - before) < len(after)
    assert second["new_text_rate"] == pytest.approx(len(after - before) / len(after))
    # Only Gout is new; Influenza has new texts about the fact of before.
    assert (second["n_facts"], second["n_new_facts"]) == (4, 1)
    rate = second["new_text_rate"]
    stale = describe_stale_texts(data.root, FRESH, rate + 0.01)
    assert stale is not None
    assert f"pretexeval: {rate:.1%}" in stale
    assert describe_freshness(data.root, EDITION) is None
    sentence = describe_freshness(data.root, FRESH)
    assert sentence is not None
    assert f"{rate:.1%} of the texts of pretexeval, and 25.0% of the facts" in sentence
    for least, edition_id in ((rate, FRESH), (1.0, EDITION), (None, FRESH)):
        assert describe_stale_texts(data.root, edition_id, least) is None


def test_required_share_of_new_texts_is_a_check(data: DataFolder, fresh: DataFolder) -> None:
    fresh.wording = ""
    fresh.wordings = {"Influenza": "fresh "}
    record_freshness_limit(data.root, FRESH, 0.9)
    publish_both(data, fresh)
    query = "select * from checks where stage = 'freshness' order by edition_id"
    (row,) = data.query(query)
    before, after = read_texts(data, EDITION), read_texts(data, FRESH)
    assert (row["edition_id"], row["is_passed"], row["n_rows"]) == (FRESH, False, len(after))
    assert row["n_unexpected"] == len(after & before) > 0
    assert row["requirement"].startswith("90.0 % of the texts of pretexeval")
    for least, found in ((0.1, [True]), (None, [])):
        record_freshness_limit(data.root, FRESH, least)
        build_warehouse(data.root)
        assert [row["is_passed"] for row in data.query(query)] == found
