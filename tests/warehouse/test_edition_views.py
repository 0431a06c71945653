"""What is known of editions: their samples, attempts, grades and reports, and a model on two of them."""

import json
from pathlib import Path

import pytest

from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import key_content, write_record
from pretexeval.storage.withdrawals import withdraw_edition
from schemas.stages import ATTEMPTS, DIVERSITY, HUMAN_VERDICTS
from tests.support.data_folder import DataFolder, expert
from tests.support.expected_views import (
    expected_difference,
    expected_scores,
    find_difference_error,
    pair_up,
    pick,
    read_predictions,
    select,
)
from tests.support.stage_rows import Row, change_record, digest, write_measured, write_rows
from tests.warehouse.conftest import EDITION, fill_pairs, list_grades
from tests.warehouse.conftest import describe_attempt as attempt
from warehouse.drift import describe_freshness
from warehouse.publishing import build_warehouse


def test_attempts_their_rejections_and_diversity(data: DataFolder) -> None:
    """Four attempts at two test samples of one head, one at a demonstration, and 36 measured samples."""
    samples = {(s["head"], s["transformation"]): s for s in data.samples("pretexeval") if s["is_positive"]}
    plain, inverse = samples["Scurvy", "none"], samples["Scurvy", "inv"]
    attempts = [
        attempt(plain, 1, "polarity", "roles", "polarity"),
        attempt(plain, 2, "no text"),
        attempt(plain, 3),
        attempt(inverse, 1),
        attempt(samples["Migraine", "none"], 1, "polarity"),
    ]
    wrong_texts = {"max_new_words": 4, "wrong_rate": 0.25, "low": 0.0, "high": 1.0}
    data.write_edition(EDITION, ("pretexeval", "direct"), attempts=attempts, wrong_texts=wrong_texts)
    distances = {("drugs", "pretexeval"): (0.5, 0.25), ("symptoms", "pretexeval"): (0.1, 0.75)}
    measured = []
    for sample in data.samples("pretexeval") + data.samples("direct"):
        distance, spread = distances.get((sample["relation"], sample["method"]), (0.0, None))
        if sample["head"] in ("Scurvy", "Scabies"):
            values = (distance, distance / 2, spread, spread)
            names = ("lexical_distance", "structural_distance", "lexical_spread", "structural_spread")
            measured.append(sample | dict(zip(names, values, strict=True)))
    write_measured(data.root, EDITION, DIVERSITY, measured)
    build_warehouse(data.root)
    loaded = data.query("from attempts order by variant_id, attempt")
    expected = [
        {"edition_id": EDITION} | {name: row.get(name) for name in ATTEMPTS.names} for row in attempts
    ]
    assert loaded == sorted(expected, key=lambda row: (row["variant_id"], row["attempt"]))
    direct, row = data.query("from sample_quality")
    of_all: Row = {"edition_id": EDITION, "method": "pretexeval", "rephraser": "reviewed", "n_samples": 64}
    of_all |= {"accepted_rate": 1.0, "fallback_rate": 0.0, "as_is_rate": 0.0, "mean_attempts": 1.0}
    of_all |= {"n_attempts": 4, "acceptance_rate": 0.5}
    of_all |= {"wrong_rate": 0.25, "wrong_rate_ci_low": 0.0, "wrong_rate_ci_high": 1.0, "max_new_words": 4}
    of_all |= {"n_triplets": 8, "n_incomplete_triplets": 0, "n_measured": 32}
    of_all |= {"lexical_distance": pytest.approx(0.3), "structural_distance": pytest.approx(0.15)}
    assert row == of_all | {"lexical_spread": 0.5, "structural_spread": 0.5}
    none = {"method": "direct", "n_samples": 8, "n_attempts": 0, "acceptance_rate": None, "wrong_rate": None}
    none |= {"n_measured": 4, "lexical_distance": 0.0, "structural_distance": 0.0}
    assert pick(direct, none) == none
    assert direct["lexical_spread"] is direct["structural_spread"] is None
    rows = data.query("select reason, n_attempts, n_rejected, rejection_rate from rejection_reasons")
    assert [tuple(row.values()) for row in rows] == [
        (reason, 4, 1, 0.25) for reason in ("no text", "polarity", "roles")
    ]


def test_human_review(data: DataFolder) -> None:
    """Three people grade five triplets; None means not graded."""
    of_ada, of_bea, of_cleo = [5, 4, 3, 1, None], [5, 3, 3, 0, 4], [None, 4, None, 2, None]
    graded = {
        "ada": list_grades(data, "ada", of_ada) + list_grades(data, "ada", [2, 2], "direct"),
        "bea": list_grades(data, "bea", of_bea),
        "cleo": list_grades(data, "cleo", of_cleo),
    }
    for grader, rows in graded.items():
        write_rows(data.root / "reviews" / EDITION / f"{grader}.parquet", HUMAN_VERDICTS, rows)
    build_warehouse(data.root)
    whole, direct, row = data.query("from human_review")
    # Krippendorff (2011): the disagreement within triplets, against that of all grades that others share.
    units = [[g for g in unit if g is not None] for unit in zip(of_ada, of_bea, of_cleo, strict=True)]
    values = [g for unit in units if len(unit) > 1 for g in unit]
    within = [(a - b) ** 2 / (len(unit) - 1) for unit in units if len(unit) > 1 for a in unit for b in unit]
    expected = sum((a - b) ** 2 for a in values for b in values) / (len(values) - 1)
    alpha = 1 - sum(within) / expected
    assert 0.5 < alpha < 1
    assert (row["method"], row["n_grades"], row["n_graders"], row["n_triplets"]) == ("pretexeval", 11, 3, 5)
    mean = (13 + 15 + 6) / 11
    assert (row["reliability"], row["structural_diversity"]) == pytest.approx((mean, 5 - mean))
    assert row["reliability_agreement"] == row["structural_diversity_agreement"] == pytest.approx(alpha)
    # All grades are the same, so α is undefined.
    assert (row["lexical_diversity"], row["lexical_diversity_agreement"]) == (3.0, None)
    assert (direct["reliability"], direct["n_graders"], direct["reliability_agreement"]) == (2.0, 1, None)
    assert (whole["method"], whole["n_grades"], whole["n_triplets"]) == (None, 13, 5)


@pytest.mark.long
def test_a_report_of_a_validation_is_loaded_and_a_damaged_one_is_named(
    data: DataFolder, caplog: pytest.LogCaptureFixture
) -> None:
    manifest = json.loads((data.root / "editions" / EDITION / "manifest.json").read_text())
    files = [entry for path, entry in manifest["files"].items() if path.startswith("triplets/")]
    check = {"column": "head, tail", "expectation": "e", "meaning": "it holds", "examples": []}
    report: Row = {"key": "triplets", "stage": "triplets", "context": "the first edition", "n_rows": 10}
    report["checks"] = [check | {"is_warning": True, "success": False, "n_unexpected": 2}]
    report["content"] = key_content("triplets", [file["sha256"] for file in files])
    path = data.root / checks_record(EDITION, "triplets")
    write_record(path, report | {"checked_at": "2026-11-20T12:00:00+02:00"})
    build_warehouse(data.root)
    (row,) = data.query("select * replace (checked_at::varchar as checked_at) from checks")
    expected: Row = {"edition_id": EDITION, "stage": "triplets", "checked_at": "2026-11-20 10:00:00"}
    expected |= {"checked_columns": "head, tail", "expectation": "e", "requirement": "it holds"}
    expected |= {"is_passed": False, "n_rows": 10, "n_unexpected": 2}
    assert {name: value for name, value in row.items() if value is not None} == expected
    path.write_text(path.read_text().replace("it holds", "it does"))
    build_warehouse(data.root)
    assert data.query("from checks") == []
    assert f"{path} is damaged" in caplog.text


FRESH = "tiny-seed2-00000002"
ANCHORS = "tiny-anchors-00000001"
WEEKS = ("2026-W46", "2026-W47")
PRICE = {"input": 2.0, "output": 10.0}


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
    expected |= {"difference_se": find_difference_error(both)}
    assert pick(row, expected) == pytest.approx(expected, abs=1e-7)
    own, others = expected_scores(before, 8), expected_scores(after, 8)
    for name in ("average_accuracy", "mastery"):
        assert (row[name], row[f"other_{name}"]) == pytest.approx((own[name], others[name]))
    assert row["average_accuracy"] == 1.0 > row["other_average_accuracy"]
    assert row["mastery_difference"] == row["mastery"] - row["other_mastery"]
    assert row["same_text_rate"] == 0.0


def test_freshness_counts_what_no_earlier_edition_used(data: DataFolder, fresh: DataFolder) -> None:
    fresh.pairs[1] = ("symptoms", "Angina pectoris", "Chest pain", "Itch", "test")
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
    assert describe_freshness(data.root, EDITION) is None
    sentence = describe_freshness(data.root, FRESH) or ""
    assert f"{rate:.1%} of the texts of pretexeval, and 25.0% of the facts" in sentence


def test_editions_are_earlier_by_period_or_else_by_their_first_evaluation(data: DataFolder) -> None:
    """All editions have the same seed and the same texts, so those of the first one alone are new."""
    evaluations = {
        "tiny-a-00000001": ("a", "2026-11-20T12:00:05+00:00"),
        "tiny-b-00000001": ("b", "2026-11-20T12:00:01+00:00"),
        "tiny-c-00000001": ("c", "2026-11-20T12:00:01+00:00"),
        # A past week that is made later, and two editions whose evaluations are not in the tables.
        "tiny-2026-W46-00000001": ("2026-W46", "2026-11-29T12:00:00+00:00"),
        "tiny-withdrawn-00000001": ("withdrawn", None),
        "tiny-built-00000001": ("built", None),
    }
    for edition_id, (data.label, finished_at) in evaluations.items():
        data.write_edition(edition_id)
        if finished_at:
            data.write_answers(edition_id, "expert", expert)
            run = data.root / "predictions" / edition_id / "expert" / "run.json"
            change_record(run, finished_at=finished_at)
    withdraw_edition(data.root, "tiny-withdrawn-00000001", "wrong drugs")
    build_warehouse(data.root)
    rows = data.query("from freshness order by n_earlier_editions")
    assert [row["n_earlier_editions"] for row in rows] == list(range(7))
    assert [row["edition_id"].split("-00")[0] for row in rows] == [
        "tiny-2026-W46",
        "tiny-seed1",
        "tiny-b",
        "tiny-c",
        "tiny-a",
        "tiny-withdrawn",
        "tiny-built",
    ]
    assert [(row["new_text_rate"], row["new_fact_rate"]) for row in rows] == [(1.0, 1.0), *[(0.0, 0.0)] * 6]


def forgetful(sample: Row) -> bool | None:
    if sample["head"] != "Scurvy" or sample["transformation"] in ("none", "inv", "ins"):
        return bool(sample["label"])
    return None if sample["transformation"] == "dn" else not sample["label"]


def test_what_changed_between_two_periods(tmp_path: Path) -> None:
    """The model answers the anchors of two weekly editions otherwise in the second week."""
    data = fill_pairs(DataFolder(tmp_path))
    data.write_edition(ANCHORS)
    change_record(tmp_path / "editions" / ANCHORS / "manifest.json", configuration={"anchor_pairs": 4})
    for week, rule in zip(WEEKS, (expert, forgetful), strict=True):
        edition_id = f"tiny-{week}-00000001"
        data.label = week
        data.write_edition(edition_id)
        data.write_answers(edition_id, "m", rule)
        data.write_answers(ANCHORS, "m", rule)
        folder = data.root / "anchor_predictions" / ANCHORS / week / "m"
        folder.parent.mkdir(parents=True)
        (data.root / "predictions" / ANCHORS / "m").rename(folder)
        change_record(folder / "run.json", price=PRICE)
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
    times = [(row["n_asked"], row["duration_s"], row["seconds_per_prompt"]) for row in costs]
    assert times == [(64, 1.5, 1.5 / 64)] * 4
