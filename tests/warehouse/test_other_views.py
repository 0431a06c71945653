from pathlib import Path

import pytest
from scipy.stats import binom, binomtest

from schemas.transformations import NAMES
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.simulated_models import expert, polarity
from tests.support.stage_rows import Row, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse


def test_known_mastery(data: DataFolder) -> None:
    known = [
        {"relation": "symptoms", "head": "Influenza"},
        {"relation": "symptoms", "head": "Scabies"},
        {"relation": "drugs", "head": "Angina pectoris"},
    ]
    learned = {"Influenza", "Scabies"}

    def answer(sample: Row) -> bool | None:
        return expert(sample) if sample["head"] in learned else polarity(sample)

    data.write_model("taught", known)
    data.write_answers(EDITION, "taught", answer)
    data.write_model("untaught", [])
    data.write_answers(EDITION, "untaught", simulated_models.silent)
    build_warehouse(data.root)
    rows = {(row["model_id"], row["is_known"]): row for row in data.query("from known_mastery")}
    assert sorted(rows) == [("taught", False), ("taught", True), ("untaught", False)]
    yes, no = rows["taught", True], rows["taught", False]
    assert (yes["n_pairs"], yes["n_samples"]) == (no["n_pairs"], no["n_samples"]) == (2, 32)
    assert (yes["average_accuracy"], yes["mastery"]) == (1.0, 1.0)
    assert (no["average_accuracy"], no["mastery"]) == (0.5, 0.0)
    assert no["ci_low"] < 0.5 < no["ci_high"]
    low = binomtest(2, 2).proportion_ci(method="wilson").low
    assert (yes["ci_low"], yes["mastery_ci_low"]) == pytest.approx((low, low))
    assert rows["untaught", False]["no_answer_rate"] == 1.0


def test_known_mastery_separates_the_wordings(data: DataFolder) -> None:
    known = [
        {"relation": "symptoms", "head": "Influenza", "wordings": "pool"},
        {"relation": "symptoms", "head": "Scabies", "wordings": "other"},
    ]
    data.write_model("taught", known)
    data.write_answers(EDITION, "taught", lambda s: expert(s) if s["head"] == "Scabies" else polarity(s))
    build_warehouse(data.root)
    rows = data.query("select taught_with, is_known, n_pairs, mastery from known_mastery")
    assert [tuple(row.values()) for row in rows] == [
        ("pool", True, 1, 0.0),
        ("other", True, 1, 1.0),
        ("nothing", False, 2, 0.0),
    ]


def test_token_usage_counts_a_prompt_once(published: DataFolder) -> None:
    (row,) = published.query("select * from token_usage where model_id = 'expert'")
    assert row == {
        "edition_id": EDITION,
        "model_id": "expert",
        "model": "Expert",
        "n_prompts": 72,
        "n_errors": 0,
        "n_unknown": 0,
        "n_prompt_tokens": 720,
        "n_completion_tokens": 144,
        "period": None,
    }


def test_prediction_details(published: DataFolder) -> None:
    counts = published.query("select model_id, count(*) as n from prediction_details group by all")
    assert {row["n"] for row in counts} == {2 * 72}
    (row,) = published.query(
        "select * from prediction_details where model_id = 'always_true' and head = 'Scurvy' "
        "and transformation = 'ins_dn' and scoring_policy = 'strict' and is_positive",
    )
    triplet = next(t for t in published.triplets() if t["tail"] == "Vitamin C")
    text = "pretexeval: Scurvy ins_dn Vitamin C"
    assert row == {
        "edition_id": EDITION,
        "model_id": "always_true",
        "model": "Always_True",
        "method": "pretexeval",
        "rephraser": "reviewed",
        "relation": "drugs",
        "head": "Scurvy",
        "tail": "Vitamin C",
        "is_positive": True,
        "pair_id": triplet["pair_id"],
        "triplet_id": triplet["triplet_id"],
        "sample_id": digest(text, "drugs"),
        "transformation": "ins_dn",
        "is_negated": True,
        "text": text,
        "label": False,
        "scoring_policy": "strict",
        "repeat": 0,
        "prediction": True,
        "is_correct": False,
        "has_answer": True,
        "is_failed": False,
        "is_unfinished_reasoning": False,
        "response": " True",
        "reasoning": None,
        "error": None,
        "logprob_true": -0.1,
        "logprob_false": -2.5,
        "prompt_key": digest("always_true", text, n=32),
        "n_demonstrations_dropped": 0,
    }


def contradict(sample: Row, wrong: bool) -> bool | None:
    """Return the right answer, or the opposite where the sample is wrong."""
    return bool(sample["label"]) != wrong


def add_taught_pairs(data: DataFolder, n: int) -> list[Row]:
    """Add pairs of a relation to an edition, and return their heads as known heads."""
    for k in range(n):
        data.add_pair("signs", f"disease {k}", f"sign {k}", f"mark {k}")
    data.write_edition(EDITION)
    return [{"relation": "signs", "head": f"disease {k}", "wordings": "other"} for k in range(n)]


def test_a_cell_with_the_wrong_polarity_is_suspect(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.write_model("taught", add_taught_pairs(data, 6))
    data.write_answers(EDITION, "taught", lambda s: contradict(s, s["transformation"] == "inv_dn"))
    build_warehouse(data.root)
    rows = {row["transformation"]: row for row in data.query("from suspect_prototypes")}
    assert {name: row["is_suspect"] for name, row in rows.items()} == {n: n == "inv_dn" for n in NAMES}
    suspect = rows["inv_dn"]
    assert (suspect["n_samples"], suspect["n_correct"], suspect["n_cells"]) == (12, 0, 8)
    # The other seven cells have 84 samples, all right.
    rest = (84 + 0.5) / 85
    assert suspect["rest_accuracy"] == pytest.approx(rest)
    assert suspect["p_value"] == pytest.approx(binom.cdf(0, 12, rest))
    assert rows["none"]["p_value"] == pytest.approx(1)


def test_a_cell_that_the_model_cannot_read_is_not_suspect(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.write_model("taught", add_taught_pairs(data, 20))
    # It believes no inverted statement: half of them are right.
    data.write_answers(
        EDITION, "taught", lambda s: contradict(s, s["transformation"] == "inv" and s["is_positive"])
    )
    build_warehouse(data.root)
    (row,) = data.query("from suspect_prototypes where transformation = 'inv'")
    assert row["average_accuracy"] == 0.5
    assert row["p_value"] < 1e-6
    assert not row["is_suspect"]


def test_a_taught_fact_with_the_wrong_label_is_suspect(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    known = add_taught_pairs(data, 4)
    data.write_model("taught", known[:3])

    def answer(sample: Row) -> bool | None:
        # It contradicts one false triplet that it was taught about, and one about an unknown head.
        return contradict(sample, sample["tail"] in ("mark 1", "mark 3"))

    data.write_answers(EDITION, "taught", answer)
    build_warehouse(data.root)
    (row,) = data.query("from suspect_facts")
    assert (row["head"], row["tail"], row["is_positive"], row["n_right"]) == ("disease 1", "mark 1", False, 0)
    assert row["n_taught"] == 6
    assert row["suspect_rate"] == pytest.approx(1 / 6)
