import re
from datetime import datetime

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.records import write_record
from schemas.stages import SAMPLES
from tests.support.data_folder import DataFolder
from tests.support.simulated_models import expert
from tests.support.stage_rows import describe_file, digest, response_row, write_rows
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.query import run_query
from warehouse.records import require_record

pytestmark = pytest.mark.usefixtures("without_views")


def count(data: DataFolder, table: str) -> int:
    return int(run_query(data.root, f"select count(*) from {table}")[1][0][0])


def dump(data: DataFolder, table: str) -> list[tuple[object, ...]]:
    return run_query(data.root, f"select * from {table}")[1]


def test_everything_complete_is_loaded(data: DataFolder) -> None:
    build_warehouse(data.root)
    counts = {t: count(data, t) for t in ("editions", "triplets", "samples", "models", "attempts")}
    assert counts == {"editions": 1, "triplets": 10, "samples": 80, "models": 1, "attempts": 0}
    assert count(data, "responses") == count(data, "predictions") == 64
    (run,) = dump(data, "runs")
    assert run[:10] == (EDITION, "expert", ["strict"], 64, 64, 0, 0, datetime(2026, 11, 20, 10), 1.5, 0.01)
    # What answered and its prices are not in the record. Style and sampling are from the requests.
    assert run[10:] == (None, None, None, None, "completion", "{}", 5)
    assert run_query(data.root, "select kb, seed, methods from editions")[1] == [
        ("starter", 1, ["pretexeval"])
    ]
    assert run_query(data.root, "select distinct split from samples order by split")[1] == [
        ("demonstration",),
        ("test",),
    ]


def test_an_edition_without_manifest_is_skipped_with_its_predictions(data: DataFolder) -> None:
    (data.root / "editions" / EDITION / "manifest.json").unlink()
    build_warehouse(data.root)
    assert [count(data, t) for t in ("editions", "samples", "runs", "predictions")] == [0] * 4
    assert count(data, "responses") == 64
    assert dump(data, "pair_scores") == []


def test_a_run_without_record_is_skipped(data: DataFolder) -> None:
    data.write_model("novice")
    data.write_answers(EDITION, "novice", expert)
    (data.root / "predictions" / EDITION / "novice" / "run.json").unlink()
    build_warehouse(data.root)
    assert run_query(data.root, "select distinct model_id from predictions")[1] == [("expert",)]


def test_an_answer_counts_and_not_the_failure_before_it(data: DataFolder) -> None:
    sample = data.samples("pretexeval")[0]
    key = digest("expert", sample["text"], n=32)
    failure = response_row("expert", key, sample["text"], None) | {
        "response": None,
        "status": "error",
        "error": "time-out",
    }
    data.write_responses("failures", "expert", [failure])
    build_warehouse(data.root)
    assert count(data, "responses") == 64
    sql = f"select status, response from responses where prompt_key = '{key}'"
    assert run_query(data.root, sql)[1] == [("ok", " True")]


def test_a_truncated_file_is_named(data: DataFolder) -> None:
    path = data.root / "editions" / EDITION / "samples" / "symptoms.parquet"
    path.write_bytes(path.read_bytes()[:-100])
    with pytest.raises(InputError, match=r"symptoms\.parquet: differs from the checksum.*pretexeval run"):
        build_warehouse(data.root)
    assert count(data, "responses") == 64, "the rest is published"


def test_a_file_with_other_rows_than_listed_is_an_error(data: DataFolder) -> None:
    path = data.root / "editions" / EDITION / "samples" / "drugs.parquet"
    rows = [row for row in data.samples("pretexeval") if row["relation"] == "drugs"]
    write_rows(path, SAMPLES, rows[:-1])
    with pytest.raises(InputError, match=r"drugs\.parquet: differs from the checksum in manifest\.json"):
        build_warehouse(data.root)


def test_a_run_is_what_its_record_lists(data: DataFolder) -> None:
    folder = data.root / "predictions" / EDITION / "expert"
    run = require_record(folder / "run.json")
    names = [f"{stage}/all.parquet" for stage in ("requests", "predictions")]
    whole = {name: describe_file(folder / name, 64) for name in names}
    write_record(folder / "run.json", run | {"files": whole})
    left_over = folder / "predictions" / "left-over.parquet"
    left_over.write_bytes((folder / "predictions" / "all.parquet").read_bytes())
    build_warehouse(data.root)
    assert count(data, "predictions") == 64
    longer = whole | {names[1]: whole[names[1]] | {"rows": 65}}
    write_record(folder / "run.json", run | {"files": longer})
    with pytest.raises(InputError, match="64 rows where 65 are listed"):
        build_warehouse(data.root)


@pytest.mark.parametrize("content", ["", "{", "[]", '{"edition_id": "another"}', '{"checksum": "0", "n": 1}'])
def test_a_damaged_record_is_set_aside_and_named(
    data: DataFolder, content: str, caplog: pytest.LogCaptureFixture
) -> None:
    record = data.root / "predictions" / EDITION / "expert" / "run.json"
    record.write_text(content)
    build_warehouse(data.root)
    assert re.search(
        r"expert/run\.json is damaged .* renamed to run\.json\.damaged; .*pretexeval run", caplog.text
    )
    assert not record.exists()
    assert [count(data, t) for t in ("runs", "predictions")] == [0, 0]
    assert count(data, "responses") == 64
