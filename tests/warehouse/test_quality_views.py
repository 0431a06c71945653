"""What is known of the samples: attempts, diversity, grades of people, and the reports of validations."""

import json

import pytest

from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import key_content, write_record
from schemas.stages import ATTEMPTS, DIVERSITY, HUMAN_GRADES
from tests.support.data_folder import DataFolder
from tests.support.expected_views import pick
from tests.support.stage_rows import Row, write_measured, write_rows
from tests.warehouse.conftest import EDITION, list_grades
from tests.warehouse.conftest import describe_attempt as attempt
from warehouse.publishing import build_warehouse


def test_attempts_their_rejections_and_diversity(data: DataFolder) -> None:
    """Four attempts at two test samples of one head, one at a demonstration, and 36 measured samples."""
    samples = {(s["head"], s["transformation"]): s for s in data.samples("pretexeval") if s["is_positive"]}
    plain, inverse = samples["Scurvy", "none"], samples["Scurvy", "inv"]
    attempts = [
        attempt(plain, 1, "polarity", "roles", "polarity"),
        attempt(plain, 2, "no text"),
        attempt(plain, 3, implied=True, implying=True),
        attempt(inverse, 1, implied=True, implying=False),
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
    of_all |= {"n_attempts": 4, "acceptance_rate": 0.5, "n_judged": 2, "judge_agreement": 0.5}
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
        write_rows(data.root / "reviews" / EDITION / f"{grader}.parquet", HUMAN_GRADES, rows)
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
    expected: Row = {
        "edition_id": EDITION,
        "stage": "triplets",
        "expectation": "e",
        "requirement": "it holds",
    }
    expected |= {"checked_columns": "head, tail", "checked_at": "2026-11-20 10:00:00"}
    expected |= {"expectation": "e", "is_passed": False, "n_rows": 10, "n_unexpected": 2}
    assert {name: value for name, value in row.items() if value is not None} == expected
    path.write_text(path.read_text().replace("it holds", "it does"))
    build_warehouse(data.root)
    assert data.query("from checks") == []
    assert f"{path} is damaged" in caplog.text
