"""The fate of the rewordings, the diversity of the samples, and the grades that people gave them."""

from itertools import permutations

import pytest

from schemas.stages import DIVERSITY, HUMAN_GRADES
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row, digest, write_measured, write_rows
from tests.warehouse.conftest import EDITION
from tests.warehouse.test_accuracy_views import pick
from warehouse.publishing import build_warehouse

Verdict = bool | None


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


def publish_attempts(data: DataFolder, methods: tuple[str, ...] = ("pretexeval",)) -> None:
    """Publish four attempts at two test samples of one head, and one attempt at a demonstration."""
    samples = {(s["head"], s["transformation"]): s for s in data.samples("pretexeval") if s["is_positive"]}
    plain, inverse = samples["Scurvy", "none"], samples["Scurvy", "inv"]
    data.write_edition(
        EDITION,
        methods,
        attempts=[
            attempt(plain, 1, "polarity", "roles", "polarity"),
            attempt(plain, 2, "no text"),
            attempt(plain, 3, implied=True, implying=True),
            attempt(inverse, 1, implied=True, implying=False),
            attempt(samples["Migraine", "none"], 1, "polarity"),
        ],
    )
    build_warehouse(data.root)


def test_sample_quality(data: DataFolder) -> None:
    publish_attempts(data, ("pretexeval", "direct"))
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
        "n_judged": 2,
        "judge_agreement": 0.5,
        "n_triplets": 8,
        "n_incomplete_triplets": 0,
    }
    none = {"method": "direct", "n_samples": 8, "n_attempts": 0, "acceptance_rate": None, "n_judged": 0}
    assert pick(direct, none | {"judge_agreement": None, "n_incomplete_triplets": 0}) == none | {
        "judge_agreement": None,
        "n_incomplete_triplets": 0,
    }


def test_rejection_reasons(data: DataFolder) -> None:
    publish_attempts(data)
    rows = data.query("select reason, n_attempts, n_rejected, rejection_rate from rejection_reasons")
    assert [tuple(row.values()) for row in rows] == [
        ("no text", 4, 1, 0.25),
        ("polarity", 4, 1, 0.25),
        ("roles", 4, 1, 0.25),
    ]


def measured(sample: Row, distance: float, spread: float | None) -> Row:
    return sample | {
        "lexical_distance": distance,
        "structural_distance": distance / 2,
        "lexical_spread": spread,
        "structural_spread": spread,
    }


def test_diversity(data: DataFolder) -> None:
    data.write_edition(EDITION, ("pretexeval", "direct"))
    drugs = [s for s in data.samples("pretexeval") if s["relation"] == "drugs"]
    symptoms = [s for s in data.samples("pretexeval") if s["head"] == "Scabies"]
    single = [s for s in data.samples("direct") if s["head"] == "Scabies"]
    rows = [
        *(measured(s, 0.5, 0.25) for s in drugs),
        *(measured(s, 0.1, 0.75) for s in symptoms),
        *(measured(s, 0.0, None) for s in single),
    ]
    write_measured(data.root, EDITION, DIVERSITY, rows)
    build_warehouse(data.root)
    means = {(r["method"], r["relation"]): list(r.values())[3:] for r in data.query("from diversity")}
    assert means == {
        ("direct", None): [2, 2, 0.0, 0.0, None, None],
        ("direct", "symptoms"): [2, 2, 0.0, 0.0, None, None],
        ("pretexeval", None): [32, 4, pytest.approx(0.3), pytest.approx(0.15), 0.5, 0.5],
        ("pretexeval", "drugs"): [16, 2, 0.5, 0.25, 0.25, 0.25],
        ("pretexeval", "symptoms"): [16, 2, pytest.approx(0.1), pytest.approx(0.05), 0.75, 0.75],
    }


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


def write_grades(data: DataFolder, grader: str, method: str, grades: list[int | None]) -> list[Row]:
    triplets = [t["triplet_id"] for t in data.triplets()]
    return [
        {
            "edition_id": EDITION,
            "triplet_id": triplet_id,
            "method": method,
            "grader": grader,
            "reliability": grade,
            "lexical_diversity": 3,
            "structural_diversity": 5 - grade,
            "comment": None,
        }
        for triplet_id, grade in zip(triplets, grades, strict=False)
        if grade is not None
    ]


def test_human_review(data: DataFolder) -> None:
    for grader, grades in GRADES.items():
        rows = write_grades(data, grader, "pretexeval", grades)
        if grader == "ada":
            rows += write_grades(data, grader, "direct", [2, 2])
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
    assert whole["reliability_agreement"] == pytest.approx(alpha)
