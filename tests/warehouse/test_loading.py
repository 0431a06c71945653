"""What is loaded: complete editions and evaluations as their records list them, and nothing else."""

import re
from datetime import datetime

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import write_record
from tests.support.data_folder import DataFolder, fail_response
from tests.support.question_folder import Point, QuestionFolder
from tests.support.question_models import erratic
from tests.support.simulated_models import expert
from tests.support.stage_rows import describe_file, digest, response_row
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.query import run_query
from warehouse.records import require_record

RUN = f"predictions/{EDITION}/expert/run.json"


def count(data: DataFolder, *tables: str) -> list[int]:
    return [int(run_query(data.root, f"select count(*) from {table}")[1][0][0]) for table in tables]


def test_everything_complete_is_loaded(data: DataFolder) -> None:
    build_warehouse(data.root)
    tables = ("editions", "triplets", "samples", "models", "attempts", "responses", "predictions")
    assert count(data, *tables) == [1, 10, 80, 1, 0, 64, 64]
    (run,) = run_query(data.root, "from runs")[1]
    assert run[:5] == (EDITION, None, None, "expert", None)
    assert run[5:13] == (["strict"], 64, 1, 64, 0, 0, datetime(2026, 11, 20, 10), 1.5)
    # What answered and its prices are not in the record. Style and sampling are from the requests.
    assert run[13:] == (0.01, None, None, None, None, "completion", "{}", 5)
    assert run_query(data.root, "select kb, seed, methods from editions")[1] == [
        ("starter", 1, ["pretexeval"])
    ]


def test_what_has_no_record_is_skipped(data: DataFolder) -> None:
    data.write_model("novice")
    data.write_answers(EDITION, "novice", expert)
    (data.root / "predictions" / EDITION / "novice" / "run.json").unlink()
    build_warehouse(data.root)
    assert run_query(data.root, "select distinct model_id from predictions")[1] == [("expert",)]
    (data.root / "editions" / EDITION / "manifest.json").unlink()
    build_warehouse(data.root)
    assert count(data, "editions", "samples", "runs", "predictions", "pair_scores") == [0] * 5
    assert count(data, "responses") == [128]


def test_an_answer_counts_and_not_the_failure_before_it(data: DataFolder) -> None:
    sample = data.samples("pretexeval")[0]
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
        (f"reviews/{EDITION}/ada.parquet", r"cannot be read as human_grades.*review import"),
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
    run = require_record(folder / "run.json")
    names = [f"{stage}/all.parquet" for stage in ("requests", "readings", "predictions")]
    whole = {name: describe_file(folder / name, 64) for name in names}
    write_record(folder / "run.json", run | {"files": whole})
    left_over = folder / "predictions" / "left-over.parquet"
    left_over.write_bytes((folder / "predictions" / "all.parquet").read_bytes())
    build_warehouse(data.root)
    assert count(data, "predictions") == [64]
    longer = whole | {names[2]: whole[names[2]] | {"rows": 65}}
    write_record(folder / "run.json", run | {"files": longer})
    with pytest.raises(InputError, match="64 rows where 65 are listed"):
        build_warehouse(data.root)


def test_a_damaged_record_is_set_aside_and_named(data: DataFolder, caplog: pytest.LogCaptureFixture) -> None:
    record = data.root / RUN
    record.write_text('{"checksum": "0", "n": 1}')
    build_warehouse(data.root)
    damaged = r"expert/run\.json is damaged .* renamed to run\.json\.damaged; .*pretexeval run"
    assert re.search(damaged, caplog.text)
    assert not record.exists()
    assert count(data, "runs", "predictions", "responses") == [0, 0, 64]


def test_questions_without_samples(data: DataFolder) -> None:
    bank = QuestionFolder(DataFolder(data.root))
    for name in ("Case 1", "Case 2"):
        bank.add_point(Point("exam", name, has_pair=False, has_head=False))
    bank.write_edition("bank")
    bank.write_answers("bank", "expert", erratic, setting="chain_of_thought", n_repeats=5)
    build_warehouse(data.root)
    assert count(data, "questions", "question_answers", "question_predictions") == [20, 100, 20]
    (run,) = data.query("from runs where setting is not null")
    counts = (run["setting"], run["n_items"], run["n_repeats"], run["n_asked"])
    assert counts == ("chain_of_thought", 20, 5, 100)
    sql = "select negatives, pool, rephraser, methods from editions where edition_id = 'bank'"
    assert run_query(data.root, sql)[1] == [(None,) * 4]
