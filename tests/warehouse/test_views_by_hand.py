"""Views of single pairs, facts, repeats and prices: rows that are computed by hand."""

from pathlib import Path

import pytest

from tests.support import data_folder
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import Row, response_row, write_record
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse
from warehouse.records import require_record


def test_pair_details_tell_the_true_triplet_from_its_false_twin(data: DataFolder) -> None:
    data.write_model("believer")
    data.write_answers(EDITION, "believer", lambda sample: sample["label"] == sample["is_positive"])
    build_warehouse(data.root)
    (row,) = data.query("from pair_details where model_id = 'believer' and head = 'Scurvy'")
    assert (row["true_tail"], row["n_correct_of_true"]) == ("Vitamin C", 8)
    assert (row["false_tail"], row["n_correct_of_false"]) == ("Quinine", 0)


def test_a_taught_fact_is_suspect_up_to_a_quarter_of_right_answers(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path))
    data.write_edition(EDITION)
    heads = [{"relation": relation, "head": head, "wordings": "pool"} for relation, head, *_ in data.pairs]
    data.write_model("taught", heads)
    n_right = {"Influenza": 2, "Scabies": 3}

    def answer(sample: Row) -> bool:
        is_right = not sample["is_positive"] or sample["sample_index"] < n_right.get(sample["head"], 8)
        return bool(sample["label"] == is_right)

    data.write_answers(EDITION, "taught", answer)
    build_warehouse(data.root)
    (row,) = data.query("from suspect_facts")
    assert (row["head"], row["is_positive"], row["n_right"]) == ("Influenza", True, 2)
    assert row["suspect_rate"] == pytest.approx(1 / 8)


def test_failed_prompts_are_not_counted_as_the_same_answer(data: DataFolder) -> None:
    n_tested = sum(sample["split"] == "test" for sample in data.samples("pretexeval"))
    answers = iter([True] * n_tested + [False] * n_tested)
    data.write_model("fickle")
    data.write_answers(
        EDITION,
        "fickle",
        lambda _: next(answers),
        n_repeats=2,
        max_error_rate=0.5,
        fail=lambda sample: "HTTP 503" if sample["head"] == "Scurvy" else None,
    )
    build_warehouse(data.root)
    (row,) = data.query("from repeat_spread")
    assert row["same_answer_rate"] == 0
    assert row["average_accuracy"] == 0.5


def test_unknown_tokens_are_counted_and_cost_nothing(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    def leave_out_tokens(model_id: str, key: str, prompt: str, answer: bool | None) -> Row:
        unknown = {"n_prompt_tokens": None, "n_completion_tokens": None} if "Scurvy" in prompt else {}
        return response_row(model_id, key, prompt, answer) | unknown

    monkeypatch.setattr(data_folder, "response_row", leave_out_tokens)
    data.write_model("dear")
    data.write_answers(EDITION, "dear", lambda _: True)
    path = data.root / "predictions" / EDITION / "dear" / "run.json"
    price = {"input": 1.0, "output": 5.0, "currency": "EUR"}
    write_record(path, require_record(path) | {"price": price})
    build_warehouse(data.root)
    (row,) = data.query("from cost where model_id = 'dear'")
    assert (row["n_prompts"], row["n_unknown"]) == (64, 16)
    assert row["n_prompt_tokens"] == 48 * 10
    assert row["cost"] == pytest.approx(48 * (10 * 1 + 2 * 5) / 1e6)


def test_known_mastery_counts_only_relations_as_they_were_taught(data: DataFolder) -> None:
    """The facts about drugs have changed since the model was taught."""
    data.write_edition("mine", kb="mine", knowledge={"symptoms": "s1", "drugs": "d1"})
    base = {"name": "mine", "checksums": {"symptoms": "s1", "drugs": "d2"}}
    data.write_model("taught", [{"relation": "symptoms", "head": "Influenza"}], base)
    data.write_answers("mine", "taught", lambda sample: bool(sample["label"]))
    build_warehouse(data.root)
    rows = data.query("select is_known, n_pairs from known_mastery order by is_known")
    assert rows == [{"is_known": False, "n_pairs": 2}, {"is_known": True, "n_pairs": 1}]
