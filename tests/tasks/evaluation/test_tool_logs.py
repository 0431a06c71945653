"""Logs of inspect_ai and lm-eval as recorded responses, from whole and from damaged files."""

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
from tasks.evaluation.recorded_rows import RecordedRow, read_recorded_file

HEADER = {"eval": {"task_args": {"prompt_style": "completion"}}}


def make_sample(sample_id: object = "s1", content: object = " True", **fields: object) -> dict[str, Any]:
    choice = {"message": {"role": "assistant", "content": content}, "stop_reason": "stop"}
    return {"id": sample_id, "epoch": 1, "output": {"choices": [choice]}, **fields}


def write_log(path: Path, *samples: dict[str, Any], header: str = "header.json", method: int = 8) -> Path:
    entries = {f"samples/{sample['id']}_epoch_1.json": sample for sample in samples} | {header: HEADER}
    with zipfile.ZipFile(
        path, "w", method if method != recorded_rows.ZSTD else zipfile.ZIP_STORED
    ) as archive:
        for name, value in entries.items():
            content = json.dumps(value).encode()
            archive.writestr(name, pa.compress(content, "zstd", asbytes=True) if method == 93 else content)
    if method == recorded_rows.ZSTD:
        mark_as_zstd(path, {name: json.dumps(value).encode() for name, value in entries.items()})
    return path


def mark_as_zstd(path: Path, contents: dict[str, bytes]) -> None:
    """Write method, size and checksum of the content into the central directory of the archive."""
    data = bytearray(path.read_bytes())
    at = data.index(b"PK\x01\x02")
    for name, content in contents.items():
        struct.pack_into("<H", data, at + 10, recorded_rows.ZSTD)
        struct.pack_into("<L", data, at + 16, zlib.crc32(content))
        struct.pack_into("<L", data, at + 24, len(content))
        at += 46 + len(name)
    path.write_bytes(bytes(data))


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, recorded_rows.ZSTD])
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
    assert recorded.prompt_style == "completion"
    assert recorded.rows == [
        RecordedRow("s1", response=" True", finish_reason="stop"),
        RecordedRow("s2", response="False", finish_reason="stop", reasoning="Hm."),
        RecordedRow("s3", error="the endpoint is gone"),
        RecordedRow("s4", error="the log has no output of the model for this sample"),
    ]


def test_questions_of_inspect_are_told_by_their_metadata(tmp_path: Path) -> None:
    sample = make_sample("q1", " B", metadata={"question_id": "q1", "type": "MCQ"})
    recorded = read_recorded_file(write_log(tmp_path / "log.eval", sample))
    assert recorded.id_column == "question_id"
    assert recorded.rows == [RecordedRow("q1", response=" B", finish_reason="stop")]


def test_a_json_log_and_the_log_of_an_interrupted_run_are_read_too(tmp_path: Path) -> None:
    whole = tmp_path / "log.json"
    whole.write_text(json.dumps(HEADER | {"samples": [make_sample(epoch=3)]}), encoding="utf-8")
    assert [row.repeat for row in read_recorded_file(whole).rows] == [2]
    started = write_log(tmp_path / "log.eval", make_sample(), header="_journal/start.json")
    assert [row.response for row in read_recorded_file(started).rows] == [" True"]


@pytest.mark.parametrize("method", [zipfile.ZIP_DEFLATED, recorded_rows.ZSTD])
def test_damaged_logs_of_inspect_are_refused(tmp_path: Path, method: int) -> None:
    path = write_log(tmp_path / "log.eval", make_sample(content="x" * 5000), method=method)
    good = path.read_bytes()
    for bad in (b"", good[: len(good) // 2], good[:60] + b"\0" * 20 + good[80:]):
        path.write_bytes(bad)
        with pytest.raises(InputError, match=r"not a log of inspect_ai that can be read .*eval-retry"):
            read_recorded_file(path)


def test_what_is_no_log_or_too_large_is_refused(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    for name, content in (("a.json", "[]"), ("b.json", "{"), ("c.json", '{"eval": {}, "samples": [1]}')):
        (tmp_path / name).write_text(content, encoding="utf-8")
        with pytest.raises(InputError, match="not a log of inspect_ai"):
            read_recorded_file(tmp_path / name)
    with pytest.raises(InputError, match="has no samples"):
        read_recorded_file(write_log(tmp_path / "empty.eval"))
    with pytest.raises(InputError, match="sample_id is 7, not a text"):
        read_recorded_file(write_log(tmp_path / "number.eval", make_sample(7)))
    monkeypatch.setattr(recorded_rows, "MAX_ENTRY_BYTES", 100)
    with pytest.raises(InputError, match="bytes, more than 100"):
        read_recorded_file(write_log(tmp_path / "large.eval", make_sample(content="x" * 200)))


def test_samples_of_lm_eval_become_rows(tmp_path: Path) -> None:
    doc = {"sample_id": "s1", "prompt": "Is it?"}
    path = tmp_path / "samples_task.jsonl"
    for sent, style in (("Is it?", "completion"), (['[{"role": "user"}]'], "chat")):
        row = {"doc": doc, "resps": [[" True\nx"]], "arguments": {"gen_args_0": {"arg_0": sent}}}
        path.write_text(json.dumps(row), encoding="utf-8")
        recorded = read_recorded_file(path)
        assert recorded.prompt_style == style
        assert recorded.rows == [RecordedRow("s1", response=" True\nx")]
    row = {"doc": {"question_id": "q1", "prompt": "Is it?"}, "resps": [[" B"]]}
    path.write_text(json.dumps(row), encoding="utf-8")
    recorded = read_recorded_file(path)
    assert (recorded.id_column, recorded.rows) == ("question_id", [RecordedRow("q1", response=" B")])
    broken: tuple[object, ...] = (None, [], [[]], ["True"])
    for resps in broken:
        path.write_text(json.dumps({"doc": doc, "resps": resps}), encoding="utf-8")
        with pytest.raises(InputError, match=r"line 1: not a sample of lm-eval \(resps is"):
            read_recorded_file(path)


def write_replies(path: Path, *rows: object) -> Path:
    path.write_text("".join(json.dumps(row) + "\n" for row in rows))
    return path


def build_batch_reply(custom_id: str, **parts: object) -> dict[str, object]:
    body = {"choices": [{"message": {"content": "True", "reasoning": "Well"}, "finish_reason": "stop"}]}
    return {"custom_id": custom_id, "response": {"status_code": 200, "body": body}, "error": None, **parts}


def test_replies_of_a_batch_become_rows(tmp_path: Path) -> None:
    refused = {"status_code": 400, "body": {"error": {"message": "too long"}}}
    path = write_replies(
        tmp_path / "answers.jsonl",
        build_batch_reply("sample_id:a"),
        build_batch_reply("sample_id:b", response=refused),
        build_batch_reply("sample_id:c", response=None, error={"message": "expired"}),
    )
    found = read_recorded_file(path)
    assert (found.id_column, found.prompt_style) == ("sample_id", "chat")
    said, failed, expired = found.rows
    assert (said.row_id, said.response, said.reasoning, said.finish_reason) == ("a", "True", "Well", "stop")
    assert "too long" in str(failed.error)
    assert "expired" in str(expired.error)


@pytest.mark.parametrize(
    ("reply", "words"),
    [
        (build_batch_reply("request-1"), "custom_id is 'request-1', which no export has"),
        (
            build_batch_reply("sample_id:a", response={"status_code": 200, "body": {}}),
            "its body has no message",
        ),
        (build_batch_reply("sample_id:a", response="late"), "its body has no message"),
    ],
)
def test_a_reply_that_is_none_is_named(tmp_path: Path, reply: object, words: str) -> None:
    path = write_replies(tmp_path / "answers.jsonl", build_batch_reply("sample_id:b"), reply)
    with pytest.raises(InputError, match=rf"answers.jsonl, line 2: not a reply of a batch \({words}"):
        read_recorded_file(path)
