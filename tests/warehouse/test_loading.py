"""What is loaded: complete editions and evaluations as their records list them, and why others are not."""

from datetime import datetime

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import write_record
from tests.support.data_folder import DataFolder, expert, fail_response
from tests.support.question_folder import QuestionFolder, always_right, fill_points
from tests.support.stage_rows import change_record, describe_file, digest, response_row
from tests.warehouse.conftest import EDITION, REASON, fail_three
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

RUN = f"predictions/{EDITION}/expert/run.json"


def count(data: DataFolder, *tables: str) -> list[int]:
    return [int(run_query(data.root, f"select count(*) from {table}")[1][0][0]) for table in tables]


def test_everything_complete_is_loaded(data: DataFolder) -> None:
    build_warehouse(data.root)
    tables = ("editions", "triplets", "samples", "models", "attempts", "responses", "answers")
    assert count(data, *tables) == [1, 10, 80, 1, 0, 64, 64]
    (run,) = run_query(data.root, "from runs")[1]
    assert run[:5] == (EDITION, None, None, "expert", None)
    assert run[5:16] == (["strict"], 64, 0, 1, 64, 0, 64, 0, None, 0.01, True)
    # What answered and its prices are not in the record. Style and sampling are from the requests.
    assert run[16:20] == (datetime(2026, 11, 20, 10), 1.5, None, [])
    assert run[24:] == (None, None, "completion", "{}", 5)
    assert run_query(data.root, "select kb, seed, methods from editions")[1] == [
        ("starter", 1, ["pretexeval"])
    ]


def test_the_size_of_the_base_is_loaded_with_the_risks(data: DataFolder) -> None:
    sizes = {"n_base_heads": 30, "n_base_facts": 200, "n_tested_heads": 4, "n_testable_facts": 12}
    manifest = data.root / "editions" / EDITION / "manifest.json"
    change_record(manifest, profile={"relations": {"symptoms": sizes}})
    build_warehouse(data.root)
    sql = "select n_base_heads, n_base_facts, n_testable_facts from label_risks order by relation"
    assert run_query(data.root, sql)[1] == [(None, None, None), (30, 200, 12)]


def test_what_has_no_record_is_skipped(data: DataFolder) -> None:
    data.write_answers(EDITION, "novice", expert)
    (data.root / "predictions" / EDITION / "novice" / "run.json").unlink()
    build_warehouse(data.root)
    assert run_query(data.root, "select distinct model_id from answers")[1] == [("expert",)]
    (data.root / "editions" / EDITION / "manifest.json").unlink()
    build_warehouse(data.root)
    assert count(data, "editions", "samples", "runs", "answers", "pair_scores") == [0] * 5
    assert count(data, "responses") == [128]


def test_an_answer_counts_and_not_the_failure_before_it(data: DataFolder) -> None:
    sample = data.samples("pretexeval")[1]
    key = digest("expert", sample["text"], n=32)
    failed = response_row("expert", key, sample["text"], None) | fail_response("time-out")
    data.write_responses("failures", "expert", [failed])
    build_warehouse(data.root)
    assert count(data, "responses") == [64]
    sql = f"select status, response from responses where prompt_key = '{key}'"
    assert run_query(data.root, sql)[1] == [("ok", " True")]


def test_a_damaged_file_is_named_with_its_remedy_and_the_rest_published(data: DataFolder) -> None:
    for name, message in (
        (f"editions/{EDITION}/samples/symptoms.parquet", r"differs from the checksum.*pretexeval run"),
        (f"diversity/{EDITION}.parquet", r"differs from the checksum in .*pretexeval publish"),
        (f"reviews/{EDITION}/ada.parquet", r"cannot be read as human_verdicts.*review import"),
    ):
        path = data.root / name
        path.parent.mkdir(parents=True, exist_ok=True)
        whole = path.read_bytes() if path.exists() else b""
        path.write_bytes(whole[:-100] or b"PAR1 but no more")
        with pytest.raises(InputError, match=f"{path.name}: {message}"):
            build_warehouse(data.root)
        assert count(data, "responses") == [64]
        if whole:
            path.write_bytes(whole)
        else:
            path.unlink()


def test_a_run_is_what_its_record_lists(data: DataFolder) -> None:
    folder = (data.root / RUN).parent
    names = [f"{stage}/all.parquet" for stage in ("requests", "readings", "predictions")]
    whole = {name: describe_file(folder / name, 64) for name in names}
    change_record(folder / "run.json", files=whole)
    left_over = folder / "predictions" / "left-over.parquet"
    left_over.write_bytes((folder / "predictions" / "all.parquet").read_bytes())
    build_warehouse(data.root)
    assert count(data, "answers") == [64]
    longer = whole | {names[2]: whole[names[2]] | {"rows": 65}}
    change_record(folder / "run.json", files=longer)
    with pytest.raises(InputError, match="64 rows where 65 are listed"):
        build_warehouse(data.root)


def test_a_failure_before_any_score_is_listed(data: DataFolder) -> None:
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


def test_too_many_failed_questions_give_no_score_in_their_setting(data: DataFolder) -> None:
    folder = fill_points(QuestionFolder(data))
    folder.write_edition(EDITION, ("pretexeval",))
    failed = {("TFQ", "Disease 0"): REASON}
    folder.write_answers(EDITION, "expert", always_right, fail=lambda q: failed.get((q["type"], q["head"])))
    folder.write_answers(EDITION, "expert", always_right, setting="chain_of_thought", n_repeats=5)
    for day, run in enumerate(sorted((data.root / "question_predictions").rglob("run.json")), 21):
        change_record(run, finished_at=f"2026-11-{day}", price={"input": day, "output": 0})
    build_warehouse(data.root)
    assert {row["setting"] for row in data.query("from facet_accuracy")} == {"chain_of_thought"}
    n_questions = sum(question["split"] == "test" for question in folder.list_questions())
    runs = data.query("from runs where setting is not null order by setting")
    assert [(run["n_items"], run["n_repeats"], run["n_asked"]) for run in runs] == [
        (n_questions, n, n * n_questions) for n in (1, 5)
    ]
    kinds = "select kind, count(*) as n, count(*) filter (repeat = 0) as n_first from answers group by kind"
    (row,) = data.query(f"{kinds} having kind = 'questions'")
    assert (row["n"], row["n_first"]) == (6 * n_questions, 2 * n_questions)
    # All repeats of a question count once.
    assert [run["n_predictions"] for run in runs] == [n_questions] * 2
    (row,) = data.query("from not_evaluated")
    assert (row["setting"], row["n_predictions"], row["n_errors"]) == ("answer_only", n_questions, 4)
    assert row["reason"].startswith(f"4 of {n_questions} questions failed")
    assert row["reason"].endswith(REASON)
    (cost,) = data.query("from cost")
    n_asked = 64 + 6 * n_questions
    assert (cost["n_asked"], cost["duration_s"], cost["seconds_per_prompt"]) == (n_asked, 4.5, 4.5 / n_asked)
    assert cost["price_input"] == 22
    # A prompt is counted once, whatever it asked.
    (prompts,) = data.query("select count(distinct prompt_key) as n from answers where kind = 'samples'")
    assert cost["n_prompts"] == prompts["n"] + 6 * n_questions
