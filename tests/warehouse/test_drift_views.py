"""The same model on two editions of one base, and on anchors of two weeks."""

from pathlib import Path

import pytest

from pretexeval.storage.records import write_record
from tasks.quality.measurements import record_freshness_limit
from tests.support.data_folder import DataFolder
from tests.support.expected_views import (
    difference_error,
    expected_difference,
    expected_scores,
    measure_clustering,
    pair_up,
    pick,
    read_predictions,
    select,
)
from tests.support.simulated_models import expert
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.drift import describe_freshness, describe_stale_texts
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

FRESH = "tiny-seed2-00000002"
ANCHORS = "tiny-anchors-00000001"
WEEKS = ("2026-W46", "2026-W47")
PRICE = {"input": 2.0, "output": 10.0, "currency": "EUR"}


def leaked(sample: Row) -> bool | None:
    if not sample["text"].startswith("fresh "):
        return bool(sample["label"])
    draw = int(digest("leaked", sample["text"]), 16) % 100
    return bool(sample["label"]) if draw < 75 else not sample["label"]


@pytest.fixture
def fresh(data: DataFolder) -> DataFolder:
    """Return a second edition under the root: Scabies is gone, Gout is new, Influenza has other texts."""
    other = fill_pairs(DataFolder(data.root, wordings={"Influenza": "fresh "}, seed=2))
    other.pairs = [pair for pair in other.pairs if pair[1] != "Scabies"]
    other.add_pair("symptoms", "Gout", "Swelling", "Itch")
    return other


def publish_both(data: DataFolder, fresh: DataFolder) -> None:
    data.write_model("leaked")
    data.write_answers(EDITION, "leaked", leaked)
    fresh.write_edition(FRESH)
    fresh.write_answers(FRESH, "leaked", leaked)
    build_warehouse(data.root)


def test_a_fall_on_fresh_text(data: DataFolder, fresh: DataFolder) -> None:
    fresh.wordings, fresh.wording = {}, "fresh "
    # The same head in another relation is another fact.
    fresh.add_pair("drugs", "Angina pectoris", "Vitamin C", "Quinine")
    publish_both(data, fresh)
    (row,) = data.query("from edition_drift")
    assert (row["model_id"], row["edition_id"], row["other_edition_id"]) == ("leaked", EDITION, FRESH)
    shared = {("symptoms", "Influenza"), ("symptoms", "Angina pectoris"), ("drugs", "Scurvy")}
    own = {name: select(read_predictions(data.root, name), model_id="leaked") for name in (EDITION, FRESH)}
    before, after = ([r for r in rows if (r["relation"], r["head"]) in shared] for rows in own.values())
    assert (row["n_heads"], row["n_complete_heads"], row["n_samples"]) == (3, 3, 48)
    both = pair_up(before, after)
    expected = expected_difference(both)
    expected |= {"difference_se": difference_error(both, measure_clustering(both))}
    assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
    own, others = expected_scores(before, 8), expected_scores(after, 8)
    for name in ("average_accuracy", "mastery"):
        assert (row[name], row[f"other_{name}"]) == pytest.approx((own[name], others[name]))
    assert row["average_accuracy"] == 1.0 > row["other_average_accuracy"]
    assert row["mastery_difference"] == row["mastery"] - row["other_mastery"]
    assert row["same_text_rate"] == 0.0


def test_freshness_counts_what_no_earlier_edition_used(data: DataFolder, fresh: DataFolder) -> None:
    fresh.pairs[1] = ("symptoms", "Angina pectoris", "Chest pain", "Itch", "test")
    record_freshness_limit(data.root, FRESH, 0.9)
    publish_both(data, fresh)
    first, second = data.query("from freshness")
    assert (first["edition_id"], first["n_earlier_editions"], first["new_text_rate"]) == (EDITION, 0, 1.0)
    texts = "select text from samples where split = 'test' and edition_id = "
    before, after = ({row["text"] for row in data.query(f"{texts} '{e}'")} for e in (EDITION, FRESH))
    rate = len(after - before) / len(after)
    assert (second["n_earlier_editions"], second["n_texts"]) == (1, len(after))
    assert second["n_new_texts"] == len(after - before) < len(after)
    assert second["new_text_rate"] == pytest.approx(rate)
    # Only Gout is new; Influenza has new texts about the fact of before.
    assert (second["n_facts"], second["n_new_facts"]) == (4, 1)
    assert f"pretexeval: {rate:.1%}" in (describe_stale_texts(data.root, FRESH, rate + 0.01) or "")
    for least, edition_id in ((rate, FRESH), (1.0, EDITION), (None, FRESH)):
        assert describe_stale_texts(data.root, edition_id, least) is None
    assert describe_freshness(data.root, EDITION) is None
    sentence = describe_freshness(data.root, FRESH) or ""
    assert f"{rate:.1%} of the texts of pretexeval, and 25.0% of the facts" in sentence
    # The required share of new texts is a check.
    query = "select * from checks where stage = 'freshness'"
    (row,) = data.query(query)
    assert (row["edition_id"], row["is_passed"], row["n_rows"]) == (FRESH, False, len(after))
    assert row["n_unexpected"] == len(after & before) > 0
    record_freshness_limit(data.root, FRESH, 0.1)
    build_warehouse(data.root)
    assert [row["is_passed"] for row in data.query(query)] == [True]


def forgetful(sample: Row) -> bool | None:
    if sample["head"] != "Scurvy" or sample["transformation"] in ("none", "inv", "ins"):
        return bool(sample["label"])
    return None if sample["transformation"] == "dn" else not sample["label"]


def change_manifest(data: DataFolder, edition_id: str, **values: object) -> None:
    path = data.root / "editions" / edition_id / "manifest.json"
    write_record(path, require_record(path) | values)


def test_what_changed_between_two_periods(tmp_path: Path) -> None:
    """The model answers the anchors of two weekly editions otherwise in the second week."""
    data = fill_pairs(DataFolder(tmp_path))
    data.write_model("m")
    data.write_edition(ANCHORS)
    change_manifest(data, ANCHORS, configuration={"anchor_pairs": 4})
    for week, rule in zip(WEEKS, (expert, forgetful), strict=True):
        edition_id = f"tiny-{week}-00000001"
        data.write_edition(edition_id)
        change_manifest(data, edition_id, label=week)
        data.write_answers(edition_id, "m", rule)
        data.write_answers(ANCHORS, "m", rule)
        folder = data.root / "anchor_predictions" / ANCHORS / week / "m"
        folder.parent.mkdir(parents=True)
        (data.root / "predictions" / ANCHORS / "m").rename(folder)
        write_record(folder / "run.json", require_record(folder / "run.json") | {"price": PRICE})
    build_warehouse(data.root)
    for name in ("leaderboard", "freshness", "accuracy_by_relation"):
        rows = data.query(f"select distinct edition_id from {name} order by edition_id")
        assert [row["edition_id"] for row in rows] == [f"tiny-{week}-00000001" for week in WEEKS], name
    (row,) = data.query("from anchor_drift")
    assert (row["period"], row["other_period"], row["is_successive"]) == (*WEEKS, True)
    # Ten of the sixteen samples of the pair of Scurvy.
    assert (row["n_pairs"], row["n_answers"], row["n_changed"]) == (4, 64, 10)
    assert (row["n_changed_pairs"], row["n_worse_pairs"], row["n_better_pairs"]) == (1, 1, 0)
    assert row["change_rate_ci_low"] < row["change_rate"] == 10 / 64 < row["change_rate_ci_high"]
    assert (row["difference"], row["mastery_difference"]) == pytest.approx((10 / 64, 1 / 4))
    assert row["has_changed"] == (row["change_p"] < 0.05)
    (explained,) = data.query("from drift_explanations")
    assert explained["anchor_fall"] == explained["fresh_fall"] == pytest.approx(row["difference"])
    assert explained["excess_fall"] == pytest.approx(0)
    assert explained["excess_fall_ci_low"] < 0 < explained["excess_fall_ci_high"]
    assert explained["has_leaked"] is False
    # Each of 64 prompts has 10 tokens and its answer 2: 2 × 10 + 10 × 2 = 40 millionths.
    costs = data.query("from cost order by edition_id, period")
    assert [(row["period"], row["role"], row["n_prompts"], row["cost"]) for row in costs] == [
        (None, "evaluated", 64, None),
        (None, "evaluated", 64, None),
        *((week, "anchors", 64, pytest.approx(64 * 40e-6)) for week in WEEKS),
    ]
