"""Reasoning in the warehouse: from a column of the responses, from marks in them, and not finished."""

import polars as pl

from tests.support.data_folder import DataFolder
from tests.support.stage_rows import write_responses, write_run
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

CLOSED = "<think>False?</think> True"
OPENED_BY_TEMPLATE = "False? </think> True"
UNFINISHED = "<think>It is false"


def rewrite(data: DataFolder, stage: str, **columns: list[object]) -> None:
    """Set columns of the first rows in the one file of the model's responses or predictions."""
    folder = {"responses": "responses/expert", "predictions": f"predictions/{EDITION}/expert/predictions"}
    (path,) = (data.root / folder[stage]).glob("*.parquet")
    frame = pl.read_parquet(path).sort("prompt_key")
    for name, values in columns.items():
        rest = frame[name].to_list() if name in frame.columns else [None] * frame.height
        frame = frame.with_columns(pl.Series(name, values + rest[len(values) :]))
    if stage == "responses":
        path.unlink()
        write_responses(data.root, "expert", frame.to_dicts())
    else:
        frame.write_parquet(path)


def test_reasoning_is_shown_apart_from_the_response(data: DataFolder) -> None:
    rewrite(
        data, "responses", reasoning=["False?"], response=[" True", CLOSED, OPENED_BY_TEMPLATE, UNFINISHED]
    )
    rewrite(data, "predictions", prediction=[True] * 3 + [None], is_unfinished_reasoning=[None] * 3 + [True])
    folder = data.root / "predictions" / EDITION / "expert"
    record = {name: v for name, v in require_record(folder / "run.json").items() if name != "files"}
    marks = {"reasoning_marks": ["<think>", "</think>"], "served": ["x, fp_1", "x, fp_2"]}
    write_run(folder, record | marks)
    build_warehouse(data.root)
    columns = "response, reasoning, is_unfinished_reasoning, logprob_true is null as has_no_logprob"
    rows = data.query(f"select {columns} from prediction_details order by prompt_key")
    assert [tuple(row.values()) for row in rows[:5]] == [
        (" True", "False?", False, True),
        (CLOSED, "False?", False, True),
        (OPENED_BY_TEMPLATE, "False?", False, True),
        (UNFINISHED, "It is false", True, True),
        (rows[4]["response"], None, False, False),
    ]
    for view in ("leaderboard", "average_accuracy"):
        (row,) = data.query(f"from {view}")
        assert row["unfinished_reasoning_rate"] == row["no_answer_rate"] == 1 / 64
    for view in ("by_relation", "by_transformation", "by_polarity", "by_negative"):
        rows = data.query(f"select unfinished_reasoning_rate, no_answer_rate from accuracy_{view}")
        assert any(row["unfinished_reasoning_rate"] for row in rows)
        assert all(row["unfinished_reasoning_rate"] == row["no_answer_rate"] for row in rows)
    (row,) = data.query("from joint_accuracy_curve where n = 8")
    assert row["unfinished_reasoning_rate"] == 1 / 64
    assert data.query("select model, served from served_models") == [
        {"model": "Expert", "served": "x, fp_1"},
        {"model": "Expert", "served": "x, fp_2"},
    ]


def test_text_between_marks_is_no_reasoning_where_the_run_knows_no_marks(data: DataFolder) -> None:
    rewrite(data, "responses", response=[CLOSED])
    build_warehouse(data.root)
    assert data.query("select count(reasoning) as n from prediction_details") == [{"n": 0}]
