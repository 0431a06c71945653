"""Recorded responses read from JSON lines, Parquet, batches, and logs of inspect_ai and lm-eval."""

import json
from pathlib import Path
from typing import Any

import pytest

from pretexeval.primitives.errors import InputError
from tasks.evaluation.recorded_rows import NO_RESPONSE, RecordedRow, read_recorded_file


def write_lines(path: Path, *rows: object) -> Path:
    """Write a line per row: a text as it is, and anything else as JSON."""
    lines = [row if isinstance(row, str) else json.dumps(row) for row in rows]
    path.write_text("\n".join(lines), encoding="utf-8")
    return path


def test_rows_are_read_as_they_are_written(tmp_path: Path) -> None:
    lines = [
        '{"question_id": "a", "response": "x\\u2028y \\ud800", "finish_reason": "stop", "other": 1}',
        "",
        '{"question_id": "b", "repeat": 1, "response": null}',
        '{"question_id": "c", "error": "timeout"}',
    ]
    # Windows programs begin a file with a byte-order mark.
    lines[0] = "\ufeff" + lines[0]
    assert read_recorded_file(write_lines(tmp_path / "responses.jsonl", *lines)).rows == [
        RecordedRow("a", 0, "x\u2028y \ufffd", finish_reason="stop"),
        RecordedRow("b", 1, error=NO_RESPONSE),
        RecordedRow("c", error="timeout"),
    ]


def test_broken_rows_are_named(tmp_path: Path) -> None:
    good = {"question_id": "a", "response": "A"}
    broken: tuple[tuple[object, str], ...] = (
        ("{", "line 2: not a JSON object"),
        ([1], "line 2: not a JSON object"),
        (good | {"question_id": 7}, "row 2, question_id: 7: Input should be a valid string"),
        (good | {"response": ["A"]}, "row 2, response: .* should be a valid string"),
        (good | {"repeat": -1}, "row 2, repeat: -1: .* greater than or equal to 0"),
        (good | {"repeat": True}, "row 2, repeat: True: .* valid integer"),
        ({"sample_id": "b", "response": "A"}, "either question_id or sample_id"),
    )
    for line, message in broken:
        with pytest.raises(InputError, match=message):
            read_recorded_file(write_lines(tmp_path / "responses.jsonl", good, line))


def make_sample(sample_id: object = "s1", content: object = " True", **fields: object) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "stop_reason": "stop"}
    return {"id": sample_id, "epoch": 1, "output": {"choices": [choice]}, **fields}


def write_log(path: Path, *samples: object, **task_args: str) -> Path:
    return write_lines(path, {"eval": {"task_args": task_args}, "samples": samples})


def test_samples_of_inspect_become_rows(tmp_path: Path) -> None:
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "False"}]
    path = write_log(
        tmp_path / "log.json",
        make_sample(),
        make_sample("s2", parts, epoch=3),
        make_sample("s3", error={"message": "the endpoint is gone"}),
        {"id": "s4", "epoch": 1},
        prompt_style="completion",
    )
    recorded = read_recorded_file(path)
    assert (recorded.id_column, recorded.prompt_style) == ("sample_id", "completion")
    assert recorded.rows == [
        RecordedRow("s1", response=" True", finish_reason="stop"),
        RecordedRow("s2", 2, response="False", finish_reason="stop", reasoning="Hm."),
        RecordedRow("s3", error="the endpoint is gone"),
        RecordedRow("s4", error="the log has no output of the model for this sample"),
    ]
    sample = make_sample("q1", " B", metadata={"question_id": "q1", "type": "MCQ"})
    recorded = read_recorded_file(write_log(tmp_path / "questions.json", sample))
    assert (recorded.id_column, recorded.prompt_style) == ("question_id", "chat")
    assert recorded.rows == [RecordedRow("q1", response=" B", finish_reason="stop")]


def test_files_that_hold_no_rows_are_refused(tmp_path: Path) -> None:
    files = {
        write_lines(tmp_path / "a.parquet"): "not a Parquet file",
        write_lines(tmp_path / "a.eval"): r"must end in .*inspect log dump",
        write_lines(tmp_path / "b.jsonl"): "no rows",
        write_lines(tmp_path / "a.json", []): "not a log of inspect_ai",
        write_lines(tmp_path / "b.json", "{"): "not a log of inspect_ai",
        write_log(tmp_path / "c.json", 1): "not a log of inspect_ai",
        write_log(tmp_path / "empty.json"): "has no samples",
        write_log(tmp_path / "number.json", make_sample(7)): "row 1, sample_id: 7",
    }
    for path, message in files.items():
        with pytest.raises(InputError, match=message):
            read_recorded_file(path)


def test_samples_of_lm_eval_become_rows(tmp_path: Path) -> None:
    doc = {"sample_id": "s1", "prompt": "Is it?"}
    path = tmp_path / "samples_task.jsonl"
    for sent, style in (("Is it?", "completion"), (['[{"role": "user"}]'], "chat")):
        row = {"doc": doc, "resps": [[" True\nx"]], "arguments": {"gen_args_0": {"arg_0": sent}}}
        recorded = read_recorded_file(write_lines(path, row))
        assert recorded.prompt_style == style
        assert recorded.rows == [RecordedRow("s1", response=" True\nx")]
    row = {"doc": {"question_id": "q1", "prompt": "Is it?"}, "resps": [[" B"]]}
    recorded = read_recorded_file(write_lines(path, row))
    assert (recorded.id_column, recorded.rows) == ("question_id", [RecordedRow("q1", response=" B")])
    broken: tuple[object, ...] = (None, [], [[]], ["True"])
    for resps in broken:
        with pytest.raises(InputError, match="line 1: not a JSON object with a response, a sample of lm"):
            read_recorded_file(write_lines(path, {"doc": doc, "resps": resps}))


def build_batch_reply(custom_id: str, **parts: object) -> dict[str, object]:
    body = {"choices": [{"message": {"content": "True", "reasoning": "Well"}, "finish_reason": "stop"}]}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None, **parts}


def test_replies_of_a_batch_become_rows(tmp_path: Path) -> None:
    refused = {"status_code": 400, "body": {"error": {"message": "too long"}}}
    good, path = build_batch_reply("sample_id:a"), tmp_path / "answers.jsonl"
    late = build_batch_reply("sample_id:c", response=None, error={"message": "expired"})
    read = read_recorded_file(
        write_lines(path, good, build_batch_reply("sample_id:b", response=refused), late)
    )
    assert (read.id_column, read.prompt_style) == ("sample_id", "chat")
    said, failed, expired = read.rows
    assert said == RecordedRow("a", response="True", finish_reason="stop", reasoning="Well")
    assert "too long" in str(failed.error)
    assert "expired" in str(expired.error)
    empty: dict[str, object] = {"status_code": 200, "body": {}}
    for reply, words in (
        (build_batch_reply("request-1"), "custom_id is 'request-1', which no export has"),
        (build_batch_reply("sample_id:d", response=empty), "KeyError"),
        (build_batch_reply("sample_id:d", response="late"), "TypeError"),
    ):
        with pytest.raises(InputError, match=rf"answers.jsonl, line 2: .* a reply of a batch \(.*{words}"):
            read_recorded_file(write_lines(path, good, reply))
