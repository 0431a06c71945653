"""Evaluations that give no score, because they failed or too many of their prompts did."""

from pretexeval.storage.records import write_record
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, fill_points
from tests.support.simulated_models import expert
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, REASON, fail_three
from warehouse.publishing import build_warehouse


def test_a_failure_before_any_score_is_listed(data: DataFolder) -> None:
    data.write_model("bad")
    data.write_answers(EDITION, "bad", expert, fail=fail_three)
    # The evaluation of Expert is complete; only a later attempt failed.
    failures = {"Down": "down-1", "v1.5": None, "Expert": "expert", "Bad": "bad"}
    for name, model_id in failures.items():
        record = {"edition_id": EDITION, "model": name, "model_id": model_id, "reason": f"{name} is down"}
        write_record(
            data.root / "failures" / EDITION / f"{name}.json",
            record | {"failed_at": "2026-11-21T12:00:00+00:00"},
        )
    build_warehouse(data.root)
    rows = data.query("select model, model_id, n_errors, reason from not_evaluated")
    assert [tuple(row.values()) for row in rows] == [
        ("Bad", "bad", 3, "Bad is down"),
        ("Down", "down-1", None, "Down is down"),
        ("v1.5", None, None, "v1.5 is down"),
    ]
    assert data.query("select model_id from leaderboard") == [{"model_id": "expert"}]


def fail_one(question: Row) -> str | None:
    return REASON if question["type"] == "TFQ" and question["head"] == "Disease 0" else None


def test_too_many_failed_questions_give_no_score_in_their_setting(data: DataFolder) -> None:
    folder = fill_points(QuestionFolder(data))
    folder.write_edition(EDITION, ("pretexeval",))
    folder.write_answers(EDITION, "expert", always_right, fail=fail_one)
    folder.write_answers(EDITION, "expert", always_right, setting="chain_of_thought", n_repeats=5)
    build_warehouse(data.root)
    assert {row["setting"] for row in data.query("from facet_accuracy")} == {"chain_of_thought"}
    (row,) = data.query("from not_evaluated")
    n_questions = sum(question["split"] == "test" for question in folder.list_questions())
    assert (row["setting"], row["n_items"], row["n_errors"]) == ("answer_only", n_questions, 4)
    assert row["reason"].startswith(f"4 of {n_questions} questions failed")
    assert row["reason"].endswith(REASON)
    # A prompt is counted once, whatever it asked.
    (usage,) = data.query("from token_usage")
    (prompts,) = data.query("select count(distinct prompt_key) as n from predictions")
    assert usage["n_prompts"] == prompts["n"] + 6 * n_questions
