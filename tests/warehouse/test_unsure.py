"""The view knows_guesses_errs, and what the warehouse keeps of samples with a third answer."""

import shutil
from collections.abc import Callable
from pathlib import Path

import pytest

from pretexeval.config.questions import UNSURE
from report.page import write_report
from tests.support.data_folder import DataFolder, fail_response, judge
from tests.support.parsed_page import parse
from tests.support.stage_rows import Row, digest, response_row, write_evaluation
from warehouse.publishing import build_warehouse

# The answer of a model to a sample: T, F, U, None for no answer, or ! if the prompt failed.
Answer = Callable[[Row], str | None]
RIGHT = {True: "T", False: "F"}


def write_unsure(
    data: DataFolder,
    model_id: str,
    answer: Answer,
    policies: tuple[str, ...] = ("strict",),
    methods: tuple[str, ...] = ("pretexeval",),
) -> None:
    """Let the model answer every test sample with three answers, and score the answers under every policy."""
    data.provide_model(model_id)
    requests, responses, predictions = [], [], []
    samples = (row for method in methods for row in data.samples(method) if row["split"] == "test")
    for sample in samples:
        said = answer(sample)
        error, read = ("HTTP 500", None) if said == "!" else (None, said)
        key = digest(model_id, UNSURE, sample["text"], n=32)
        asked = {"item_id": sample["sample_id"], "model_id": model_id, "prompt_key": key, "repeat": 0}
        asked |= {"relation": sample["relation"]}
        given = response_row(model_id, key, sample["text"], None) | {"response": str(said)}
        responses.append(given | (fail_response(error) if error else {}))
        reading = {"answer": read, "rule": read and "leading_word", "error": error}
        requests.append(asked | {"n_demonstrations_dropped": 0} | reading)
        truth = {"T": True, "F": False}.get(read or "")
        for policy in policies:
            graded = judge(sample, truth, error, policy)
            if read == "U":
                is_correct = None if policy == "excluded" else False
                graded |= {"prediction": "U", "is_correct": is_correct, "n_answers": 1, "n_agreeing": 1}
            predictions.append(asked | graded)
    data.write_responses(f"e-{UNSURE}", model_id, responses)
    folder = data.root / "unsure_predictions" / "e" / UNSURE / model_id
    write_evaluation(folder, "e", requests, predictions, max_error_rate=0.1)


@pytest.fixture
def data(tmp_path: Path) -> DataFolder:
    """Return an edition of four test pairs with the methods pretexeval (64 samples) and direct (8)."""
    folder = DataFolder(tmp_path)
    for head in ("Gout", "Acne", "Flu", "Scurvy", "Shown"):
        folder.add_pair(
            "symptoms", head, f"{head} sign", f"{head} other", "demonstration" if head == "Shown" else "test"
        )
    folder.write_edition("e", ("pretexeval", "direct"))
    return folder


def answer_by_head(sample: Row) -> str | None:
    """Know Gout and Scurvy, doubt Acne, err on Flu; four samples of Scurvy are open, and two fail."""
    if sample["head"] == "Acne":
        return "U"
    if sample["head"] == "Scurvy" and sample["method"] == "pretexeval" and sample["is_positive"]:
        return (None, None, None, None, "!", "!", *[RIGHT[sample["label"]]] * 2)[sample["sample_index"]]
    return RIGHT[sample["label"] != (sample["head"] == "Flu")]


@pytest.mark.parametrize("policies", [("strict",), ("coin-flip", "excluded")])
def test_shares_by_hand(data: DataFolder, policies: tuple[str, ...]) -> None:
    """They are those of the responses, whatever the scoring policy."""
    write_unsure(data, "m", answer_by_head, policies, ("pretexeval", "direct"))
    # With two answers, the model is right about Gout and half of the samples of Acne, and denies the rest.
    data.write_answers(
        "e",
        "m",
        lambda row: {"Gout": row["label"], "Acne": row["label"] if row["sample_index"] < 4 else None}.get(
            row["head"], not row["label"]
        ),
        # The last sample of Scurvy stands for none.
        change=lambda _, requests, __: requests[-1].update(weight=0),
    )
    build_warehouse(data.root)
    direct, main = data.query("from knows_guesses_errs order by method")
    assert (main["n_samples"], main["n_pairs"], main["model"], main["repeat"]) == (62, 4, "M", 0)
    rates = [main[name] for name in ("right_rate", "unsure_rate", "wrong_rate", "no_answer_rate")]
    assert rates == pytest.approx([26 / 62, 16 / 62, 16 / 62, 4 / 62])
    assert main["wrong_among_answered"] == pytest.approx(16 / 42)
    assert main["penalised_score"] == pytest.approx(10 / 62)
    assert main["two_answer_accuracy"] == pytest.approx(24 / 61)
    assert main["two_answer_penalised_score"] == pytest.approx((24 - 29) / 61)
    for name in ("right_rate", "unsure_rate", "wrong_rate", "wrong_among_answered", "penalised_score"):
        assert main[f"{name}_ci_low"] < main[name] < main[f"{name}_ci_high"]
    assert [direct[name] for name in ("right_rate", "unsure_rate", "wrong_rate")] == [0.5, 0.25, 0.25]
    assert direct["two_answer_accuracy"] is direct["two_answer_penalised_score"] is None


def test_a_model_that_only_doubts_has_no_wrong_answers_and_one_that_fails_has_no_row(
    data: DataFolder,
) -> None:
    rules: dict[str, Answer] = {"m": lambda _: "U", "failing": lambda s: "!" if s["head"] == "Flu" else "U"}
    for name, rule in rules.items():
        write_unsure(data, name, rule)
    build_warehouse(data.root)
    (row,) = data.query("from knows_guesses_errs")
    assert (row["model_id"], row["unsure_rate"], row["wrong_rate"], row["penalised_score"]) == ("m", 1, 0, 0)
    names = ("wrong_among_answered", "wrong_among_answered_ci_low", "two_answer_accuracy")
    assert [row[name] for name in names] == [None] * 3
    for view in ("leaderboard", "prediction_details", "model_comparison", "scores"):
        assert data.query(f"from {view}") == []
    assert data.query("select distinct setting, period from runs") == [{"setting": UNSURE, "period": None}]
    answers = data.query(
        "select distinct answer, is_correct from answers where kind = 'unsure' and model_id = 'm'"
    )
    assert answers == [{"answer": "U", "is_correct": False}]
    (row,) = data.query("from not_evaluated")
    found = (row["model_id"], row["setting"], row["n_predictions"], row["n_errors"])
    assert found == ("failing", UNSURE, 64, 16)
    assert row["reason"].startswith("16 of 64 samples failed")


@pytest.mark.long
def test_each_evaluation_is_loaded_shown_and_removed_alone(data: DataFolder) -> None:
    """One of two models is asked with three answers alone."""
    of_m = "from knows_guesses_errs where model_id = 'm'"
    for name, answer in (("m", answer_by_head), ("n", lambda _: "U")):
        write_unsure(data, name, answer)
    build_warehouse(data.root)
    (alone,) = data.query(of_m)
    data.write_answers("e", "m", lambda row: row["label"])
    build_warehouse(data.root)
    (both,) = data.query(of_m)
    assert both["two_answer_accuracy"] == 1
    assert both | dict.fromkeys(("two_answer_accuracy", "two_answer_penalised_score")) == alone
    page = parse(write_report(data.root, "e").read_text(encoding="utf-8"))
    _, *rows = page.table_with("Model", "Right", "Unsure")
    assert [row[0] for row in rows] == ["M", "N"]
    assert [cell.split("%")[0].strip() for cell in rows[0][1:5]] == ["41.9", "25.8", "25.8", "38.1"]
    assert rows[1][4] == "–"
    assert "Knows, guesses, errs: M is unsure of 26" in page.text
    (scored,) = data.query("from leaderboard")
    shutil.rmtree(data.root / "unsure_predictions" / "e")
    (data.root / "unsure_predictions" / "other").mkdir()
    build_warehouse(data.root)
    assert data.query("from knows_guesses_errs") == data.query("from answers where kind = 'unsure'") == []
    assert data.query("from leaderboard") == [scored]
    assert "Unsure" not in write_report(data.root, "e").read_text(encoding="utf-8")
