"""Recorded responses read from JSON lines, Parquet, batches, and logs of inspect_ai and lm-eval."""

import json
import struct
import zipfile
import zlib
from pathlib import Path
from typing import Any

import pyarrow as pa
import pytest

from pretexeval.primitives.errors import InputError
from tasks.evaluation import recorded_rows
from tasks.evaluation.recorded_rows import NO_RESPONSE, ZSTD, RecordedRow, read_recorded_file

HEADER = {"eval": {"task_args": {"prompt_style": "completion"}}}


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
    assert read_recorded_file(write_lines(tmp_path / "responses.jsonl", *lines)).rows == [
        RecordedRow("a", 0, "x\u2028y \ufffd", finish_reason="stop"),
        RecordedRow("b", 1, error=NO_RESPONSE),
        RecordedRow("c", error="timeout"),
    ]


@pytest.mark.parametrize("encoding", ["utf-8-sig", "utf-16", "utf-16-le", "utf-32"])
def test_a_byte_order_mark_may_stand_before_the_rows(tmp_path: Path, encoding: str) -> None:
    """Files that were put together have one before the rows of each."""
    line = '{"sample_id": "s1", "response": "é"}\n'
    path = tmp_path / "responses.jsonl"
    path.write_bytes((line + "\ufeff" + line).encode(encoding))
    assert read_recorded_file(path).rows == [RecordedRow("s1", response="é")] * 2


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: not JSON"),
        ("[1]", "line 2: not a JSON object"),
        ('{"question_id": 7, "response": "A"}', "row 2: question_id is 7, not a text"),
        ('{"question_id": "b", "response": ["A"]}', "row 2: response is neither a text nor null"),
        ('{"question_id": "b", "repeat": -1, "response": "A"}', "row 2: repeat is -1"),
        ('{"question_id": "b", "repeat": true, "response": "A"}', "row 2: repeat is True"),
        ('{"sample_id": "b", "response": "A"}', "either question_id or sample_id"),
    ],
)
def test_broken_rows_are_named(tmp_path: Path, line: str, message: str) -> None:
    path = write_lines(tmp_path / "responses.jsonl", {"question_id": "a", "response": "A"}, line)
    with pytest.raises(InputError, match=message):
        read_recorded_file(path)


def make_sample(sample_id: object = "s1", content: object = " True", **fields: object) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "stop_reason": "stop"}
    return {"id": sample_id, "epoch": 1, "output": {"choices": [choice]}, **fields}


def write_log(path: Path, *samples: dict[str, Any], header: str = "header.json", method: int = 8) -> Path:
    entries = {f"samples/{sample['id']}_epoch_1.json": sample for sample in samples} | {header: HEADER}
    contents = {name: json.dumps(value).encode() for name, value in entries.items()}
    with zipfile.ZipFile(path, "w", zipfile.ZIP_STORED if method == ZSTD else method) as archive:
        for name, content in contents.items():
            archive.writestr(name, pa.compress(content, "zstd", asbytes=True) if method == ZSTD else content)
    if method == ZSTD:
        mark_as_zstd(path, contents)
    return path


def mark_as_zstd(path: Path, contents: dict[str, bytes]) -> None:
    """Write method, size and checksum of the content into the central directory of the archive."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    for name, content in contents.items():
        struct.pack_into("<H", data, at + 10, ZSTD)
        struct.pack_into("<L", data, at + 16, zlib.crc32(content))
        struct.pack_into("<L", data, at + 24, len(content))
        at += 46 + len(name)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, ZSTD])
def test_samples_of_inspect_become_rows(tmp_path: Path, method: int) -> None:
    parts = [{"type": "reasoning", "reasoning": "Hm."}, {"type": "text", "text": "attachment://a"}]
    path = write_log(
        tmp_path / "log.eval",
        make_sample(),
        make_sample("s2", parts, attachments={"a": "False"}),
        make_sample("s3", error={"message": "the endpoint is gone"}),
        {"id": "s4", "epoch": 1},
        method=method,
    )
    recorded = read_recorded_file(path)
    assert (recorded.id_column, recorded.prompt_style) == ("sample_id", "completion")
    assert recorded.rows == [
        RecordedRow("s1", response=" True", finish_reason="stop"),
        RecordedRow("s2", response="False", finish_reason="stop", reasoning="Hm."),
        RecordedRow("s3", error="the endpoint is gone"),
        RecordedRow("s4", error="the log has no output of the model for this sample"),
    ]
    path = write_log(tmp_path / "long.eval", make_sample(content="x" * 5000), method=method)
    good = path.read_bytes()
    for bad in (b"", good[: len(good) // 2], good[:60] + b"\0" * 20 + good[80:]):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"not a log of inspect_ai that can be read .*eval-retry"):
            read_recorded_file(path)


def test_other_logs_of_inspect_are_read_too(tmp_path: Path) -> None:
    """These are questions, which their metadata tells, a log in JSON, and the log of an interrupted run."""
    sample = make_sample("q1", " B", metadata={"question_id": "q1", "type": "MCQ"})
    recorded = read_recorded_file(write_log(tmp_path / "questions.eval", sample))
    assert recorded.id_column == "question_id"
    assert recorded.rows == [RecordedRow("q1", response=" B", finish_reason="stop")]
    whole = write_lines(tmp_path / "log.json", HEADER | {"samples": [make_sample(epoch=3)]})
    assert [row.repeat for row in read_recorded_file(whole).rows] == [2]
    started = write_log(tmp_path / "log.eval", make_sample(), header="_journal/start.json")
    assert [row.response for row in read_recorded_file(started).rows] == [" True"]


def test_files_that_hold_no_rows_or_are_too_large_are_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    files = {
        write_lines(tmp_path / "a.parquet"): "not a Parquet file",
        write_lines(tmp_path / "a.csv"): "must end in",
        write_lines(tmp_path / "b.jsonl"): "no rows",
        write_lines(tmp_path / "a.json", []): "not a log of inspect_ai",
        write_lines(tmp_path / "b.json", "{"): "not a log of inspect_ai",
        write_lines(tmp_path / "c.json", {"eval": {}, "samples": [1]}): "not a log of inspect_ai",
        write_log(tmp_path / "empty.eval"): "has no samples",
        write_log(tmp_path / "number.eval", make_sample(7)): "sample_id is 7, not a text",
    }
    for path, message in files.items():
        with pytest.raises(InputError, match=message):
            read_recorded_file(path)
    monkeypatch.setattr(recorded_rows, "MAX_ENTRY_BYTES", 100)
    with pytest.raises(InputError, match="bytes, more than 100"):
        read_recorded_file(write_log(tmp_path / "large.eval", make_sample(content="x" * 200)))


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
        with pytest.raises(InputError, match=r"line 1: not a sample of lm-eval \(resps is"):
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
        (build_batch_reply("sample_id:d", response=empty), "its body has no message"),
        (build_batch_reply("sample_id:d", response="late"), "its body has no message"),
    ):
        with pytest.raises(InputError, match=rf"answers.jsonl, line 2: not a reply of a batch \({words}"):
            read_recorded_file(write_lines(path, good, reply))
