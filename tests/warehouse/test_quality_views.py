"""What is known of the samples: attempts, diversity, grades of people, and the reports of validations."""

import json
from itertools import permutations

import pytest

from pretexeval.storage.layout import checks_record
from pretexeval.storage.records import key_content, write_record
from schemas.stages import ATTEMPTS, DIVERSITY, HUMAN_GRADES
from tests.support.data_folder import DataFolder
from tests.support.expected_views import pick
from tests.support.stage_rows import Row, digest, write_measured, write_rows
from tests.warehouse.conftest import EDITION
from warehouse import catalogue
from warehouse.publishing import build_warehouse

Verdict = bool | None
VIEWS = (
    "checks",
    "sample_quality",
    "rejection_reasons",
    "human_review",
)


@pytest.fixture(autouse=True)
def _only_needed_views(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(catalogue, "ESTIMATES", ())
    monkeypatch.setattr(catalogue, "VIEWS", VIEWS)


def attempt(
    sample: Row, number: int, *reasons: str, implied: Verdict = None, implying: Verdict = None
) -> Row:
    return {
        "variant_id": sample["variant_id"],
        "relation": sample["relation"],
        "attempt": number,
        "rephraser": "reviewed",
        "prompt_key": digest(sample["variant_id"], number, n=32),
        "text": None if "no text" in reasons else sample["text"],
        "is_accepted": not reasons,
        "reasons": list(reasons),
        "is_judged_implied": implied,
        "is_judged_implying": implying,
    }


def test_attempts_and_their_rejections(data: DataFolder) -> None:
    """Four attempts at two test samples of one head, and one attempt at a demonstration."""
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
    build_warehouse(data.root)
    loaded = data.query("from attempts order by variant_id, attempt")
    expected = [
        {"edition_id": EDITION} | {name: row.get(name) for name in ATTEMPTS.names} for row in attempts
    ]
    assert loaded == sorted(expected, key=lambda row: (row["variant_id"], row["attempt"]))
    direct, row = data.query("from sample_quality")
    assert row == {
        "edition_id": EDITION,
        "method": "pretexeval",
        "rephraser": "reviewed",
        "n_samples": 64,
        "accepted_rate": 1.0,
        "fallback_rate": 0.0,
        "as_is_rate": 0.0,
        "mean_attempts": 1.0,
        "n_attempts": 4,
        "acceptance_rate": 0.5,
        "wrong_rate": 0.25,
        "wrong_rate_ci_low": 0.0,
        "wrong_rate_ci_high": 1.0,
        "max_new_words": 4,
        "n_judged": 2,
        "judge_agreement": 0.5,
        "n_triplets": 8,
        "n_incomplete_triplets": 0,
        "n_measured": 0,
    } | dict.fromkeys(DIVERSITY.names[-4:])
    none = {"method": "direct", "n_samples": 8, "n_attempts": 0, "acceptance_rate": None, "wrong_rate": None}
    assert pick(direct, none) == none
    rows = data.query("select reason, n_attempts, n_rejected, rejection_rate from rejection_reasons")
    assert [tuple(row.values()) for row in rows] == [
        (reason, 4, 1, 0.25) for reason in ("no text", "polarity", "roles")
    ]


def test_diversity(data: DataFolder) -> None:
    data.write_edition(EDITION, ("pretexeval", "direct"))
    samples = data.samples("pretexeval") + data.samples("direct")
    distances = {("drugs", "pretexeval"): (0.5, 0.25), ("symptoms", "pretexeval"): (0.1, 0.75)}
    rows = []
    for sample in samples:
        if sample["head"] in ("Scurvy", "Scabies"):
            distance, spread = distances.get((sample["relation"], sample["method"]), (0.0, None))
            lexical = {"lexical_distance": distance, "lexical_spread": spread}
            rows.append(sample | lexical | {"structural_distance": distance / 2, "structural_spread": spread})
    write_measured(data.root, EDITION, DIVERSITY, rows)
    build_warehouse(data.root)
    columns = "method, n_measured, lexical_distance, structural_distance, lexical_spread, structural_spread"
    means = [tuple(row.values()) for row in data.query(f"select {columns} from sample_quality")]
    assert means == [
        ("direct", 4, 0.0, 0.0, None, None),
        ("pretexeval", 32, pytest.approx(0.3), pytest.approx(0.15), 0.5, 0.5),
    ]


# The grades of three graders on five triplets; None means not graded.
GRADES: dict[str, list[int | None]] = {
    "ada": [5, 4, 3, 1, None],
    "bea": [5, 3, 3, 0, 4],
    "cleo": [None, 4, None, 2, None],
}


def krippendorff(units: list[list[int]]) -> float:
    """Compute α from coincidences (Krippendorff 2011), over each ordered pair of grades of a unit."""
    pairable = [unit for unit in units if len(unit) > 1]
    values = [value for unit in pairable for value in unit]
    n = len(values)
    observed = sum((a - b) ** 2 / (len(unit) - 1) for unit in pairable for a, b in permutations(unit, 2)) / n
    expected = sum((a - b) ** 2 for a, b in permutations(values, 2)) / n / (n - 1)
    return 1 - observed / expected


def list_grades(data: DataFolder, grader: str, method: str, grades: list[int | None]) -> list[Row]:
    return [
        {
            "edition_id": EDITION,
            "triplet_id": triplet["triplet_id"],
            "method": method,
            "grader": grader,
            "reliability": grade,
            "lexical_diversity": 3,
            "structural_diversity": 5 - grade,
            "comment": None,
        }
        for triplet, grade in zip(data.triplets(), grades, strict=False)
        if grade is not None
    ]


def test_human_review(data: DataFolder) -> None:
    for grader, grades in GRADES.items():
        rows = list_grades(data, grader, "pretexeval", grades)
        if grader == "ada":
            rows += list_grades(data, grader, "direct", [2, 2])
        write_rows(data.root / "reviews" / EDITION / f"{grader}.parquet", HUMAN_GRADES, rows)
    build_warehouse(data.root)
    whole, direct, row = data.query("from human_review")
    by_triplet = [[g for g in unit if g is not None] for unit in zip(*GRADES.values(), strict=True)]
    flat = [grade for unit in by_triplet for grade in unit]
    alpha = krippendorff(by_triplet)
    assert 0.5 < alpha < 1
    assert (row["method"], row["n_grades"], row["n_graders"], row["n_triplets"]) == ("pretexeval", 11, 3, 5)
    assert row["reliability"] == pytest.approx(sum(flat) / 11)
    assert row["structural_diversity"] == pytest.approx(5 - sum(flat) / 11)
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
    report = {
        "key": "triplets",
        "stage": "triplets",
        "context": "the first edition with these rows",
        "n_rows": 10,
        "checks": [check | {"is_warning": True, "success": False, "n_unexpected": 2}],
        "content": key_content("triplets", [file["sha256"] for file in files]),
        "checked_at": "2026-11-20T12:00:00+02:00",
    }
    path = data.root / checks_record(EDITION, "triplets")
    write_record(path, report)
    build_warehouse(data.root)
    (row,) = data.query("select * replace (checked_at::varchar as checked_at) from checks")
    assert {name: value for name, value in row.items() if value is not None} == {
        "edition_id": EDITION,
        "stage": "triplets",
        "expectation": "e",
        "checked_columns": "head, tail",
        "requirement": "it holds",
        "is_passed": False,
        "n_rows": 10,
        "n_unexpected": 2,
        "checked_at": "2026-11-20 10:00:00",
    }
    path.write_text(path.read_text().replace("it holds", "it does"))
    build_warehouse(data.root)
    assert data.query("from checks") == []
    assert f"{path} is damaged" in caplog.text
