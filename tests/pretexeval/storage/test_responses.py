"""The response store: what is stored, what is settled, and files that are damaged or cannot be written."""

import io
from collections.abc import Callable
from pathlib import Path

import polars as pl
import pyarrow.parquet as pq
import pytest

from pretexeval.storage.responses import ResponseStore
from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from schemas.stages import RESPONSES

K1, K2, K3, K4 = (f"{i:032x}" for i in range(1, 5))
FULL = Completion(" True\n", "ok", None, "stop", 12, 2, -0.25, -1.5, "Fever?", "x, fp_1")
FAILED = Completion(None, "error", "timed out")
TOO_LONG = Completion(None, "error", f"{PROMPT_TOO_LONG}: 9 tokens of 8")


@pytest.fixture
def store(tmp_path: Path) -> ResponseStore:
    return ResponseStore(tmp_path, "m-1")


def append(store: ResponseStore, repeat: int = 0, **completions: Completion) -> Path:
    """Append one chunk. Each completion is given under the name of its key, k1 … k4."""
    keys = [f"{int(name[1:]):032x}" for name in completions]
    prompts = [Prompt("completion", f"prompt {key[-1]}") for key in keys]
    return store.append(keys, prompts, list(completions.values()), repeat)


def read(store: ResponseStore) -> dict[str, str | None]:
    return dict(store.read(["prompt_key", "response"]).iter_rows())


def test_empty_store_has_no_rows(store: ResponseStore) -> None:
    assert store.list_files() == []
    assert store.read_settled_keys() == set()
    assert (store.read().columns, store.read().height) == (RESPONSES.names, 0)
    assert not store.folder.exists()


def test_response_is_stored_unchanged(store: ResponseStore) -> None:
    path = append(store, k1=FULL, k2=FAILED, k3=Completion(""))
    assert pq.read_schema(path).remove_metadata() == RESPONSES.schema.remove_metadata()
    assert store.read().sort("prompt_key").rows() == [
        (K1, "m-1", 0, "prompt 1", " True\n", "ok", None, "stop", 12, 2, -0.25, -1.5, "Fever?", "x, fp_1"),
        (K2, "m-1", 0, "prompt 2", None, "error", "timed out", None, None, None, None, None, None, None),
        (K3, "m-1", 0, "prompt 3", "", "ok", None, None, None, None, None, None, None, None),
    ]


def test_chosen_prompts_are_read_with_their_response_if_there_is_one(store: ResponseStore) -> None:
    wanted, columns = pl.LazyFrame({"prompt_key": [K1, K2]}), ["prompt_key", "response"]
    append(store, k1=FAILED, k3=FULL)
    assert store.read(columns, wanted).rows() == [(K1, None)]
    append(store, k1=FULL, k2=Completion("False"))
    assert sorted(store.read(columns, wanted).rows()) == [(K1, " True\n"), (K2, "False")]


def test_what_parquet_cannot_hold_is_replaced_and_costs_no_other_response(store: ResponseStore) -> None:
    """JSON can contain a lone surrogate, but UTF-8 and Parquet cannot."""
    numbers = (2**31, -1, float("nan"), float("inf"))
    odd = Completion("tr\ud83due", "ok", None, "st\udc00p", *numbers, reasoning="\udc00?", served=7)  # type: ignore[arg-type]
    append(store, k1=odd, k2=Completion(None, "error", "\udc00", served="x\udc00"), k3=FULL)
    columns = ["response", "error", "finish_reason", "n_prompt_tokens", "n_completion_tokens", "logprob_true"]
    rows = (
        store.read(["prompt_key", *columns, "logprob_false", "reasoning", "served"]).sort("prompt_key").rows()
    )
    assert [row[1:] for row in rows] == [
        ("tr\ufffdue", None, "st\ufffdp", None, None, None, None, "\ufffd?", None),
        (None, "\ufffd", None, None, None, None, None, None, "x\ufffd"),
        (" True\n", None, "stop", 12, 2, -0.25, -1.5, "Fever?", "x, fp_1"),
    ]
    texts = ["β \u2028 \x00 \x1f", "👍🏽", "\ufefftrue", '{"a": "\\"}', "\r\n"]
    keys = [f"{n:032x}" for n in range(5, 10)]
    store.append(keys, [Prompt("completion", "p")] * 5, [Completion(text) for text in texts])
    assert [read(store)[key] for key in keys] == texts


def test_chunks_accumulate_and_never_replace_each_other(store: ResponseStore) -> None:
    paths = {append(store, k1=FULL), append(store, k2=FULL), append(store, k3=Completion("No"))}
    before = {path: path.read_bytes() for path in paths}
    append(store, k4=FULL)
    append(store, k4=FULL)
    append(store, repeat=1, k4=FULL)
    assert (len(store.list_files()), store.read().height) == (5, 5)
    assert set(read(store)) == {K1, K2, K3, K4}
    assert {path: path.read_bytes() for path in paths} == before
    assert read(ResponseStore(store.folder.parent.parent, "m-1")) == read(store)


def test_response_wins_over_an_error(store: ResponseStore) -> None:
    """The names are hashes, so among sixteen pairs of files each kind sorts first in some."""
    for i in range(16):
        chunks = [Completion(None, "error", f"failed {i}"), Completion(f"True {i}")]
        for completion in chunks if i % 2 else chunks[::-1]:
            store.append([f"{i:032x}"], [Prompt("completion", "p")], [completion])
    found = store.read(["prompt_key", "response", "status", "error"]).sort("prompt_key")
    assert found.select("response", "status", "error").rows() == [
        (f"True {i}", "ok", None) for i in range(16)
    ]


def test_failed_prompts_are_not_settled_unless_they_are_too_long(store: ResponseStore) -> None:
    append(store, k1=FULL, k2=FAILED, k3=TOO_LONG, k4=Completion(""))
    assert store.read_settled_keys() == {K1, K3, K4}
    append(store, k3=FAILED)
    assert dict(store.read_failed().select("prompt_key", "is_open").iter_rows()) == {K2: True, K3: False}
    append(store, k2=Completion("No"))
    assert store.read_settled_keys() == {K1, K2, K3, K4}
    # Each repeat is asked by itself.
    asked = pl.DataFrame({"prompt_key": [K1, K2]})
    append(store, repeat=1, k1=FULL)
    assert [store.select_open(asked, n)["prompt_key"].to_list() for n in range(3)] == [[], [K2], [K1, K2]]


def flip_byte(content: bytes) -> bytes:
    middle = len(content) // 2
    return content[:middle] + bytes([content[middle] ^ 1]) + content[middle + 1 :]


def write_another(_: bytes) -> bytes:
    file = io.BytesIO()
    pl.DataFrame({"prompt_key": [K1]}).write_parquet(file)
    return file.getvalue()


@pytest.mark.parametrize("damage", [lambda content: content[:-7], flip_byte, lambda _: b"", write_another])
def test_damaged_file_is_renamed_and_its_prompts_are_not_settled(
    tmp_path: Path, damage: Callable[[bytes], bytes], caplog: pytest.LogCaptureFixture
) -> None:
    for is_known in (True, False):
        store = ResponseStore(tmp_path / str(is_known), "m-1")
        path, other = append(store, k1=FULL), append(store, k2=FULL)
        if is_known:
            assert store.read_settled_keys() == {K1, K2}
        path.write_bytes(damage(path.read_bytes()))
        assert store.read_settled_keys() == {K2}
        assert store.list_files() == [other]
        # The file is named once, with the number of its answers.
        assert caplog.text.count(f"{path} is damaged (1 answers)") == 1
        assert path.with_suffix(".damaged").exists()
        assert append(store, k1=FULL) == path
        assert store.read_settled_keys() == {K1, K2}


def test_damaged_file_of_an_earlier_version_is_named(
    store: ResponseStore, caplog: pytest.LogCaptureFixture
) -> None:
    path = append(store, k1=FULL, k2=FULL)
    old = path.rename(path.with_name(path.name.replace("-2.parquet", ".parquet")))
    assert store.read_settled_keys() == {K1, K2}
    old.write_bytes(old.read_bytes()[:-7])
    assert store.read_settled_keys() == set()
    assert f"{old} is damaged (an unknown number" in caplog.text


def test_prompts_of_a_deleted_or_a_half_written_file_are_not_settled(store: ResponseStore) -> None:
    path, other = append(store, k1=FULL), append(store, k2=FULL)
    assert store.read_settled_keys() == {K1, K2}
    path.unlink()
    assert store.read_settled_keys() == {K2}
    # A writer that was killed leaves its temporary file.
    other.rename(other.with_name(f".{other.name}.123-abcd.next"))
    assert store.read_settled_keys() == set()


def test_full_disk_leaves_no_partial_file_and_keeps_the_old_ones(
    store: ResponseStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    def fail(_: int) -> None:
        raise OSError(28, "the disk is full")

    append(store, k1=FULL)
    monkeypatch.setattr("pretexeval.storage.files.os.fsync", fail)
    with pytest.raises(OSError, match="full"):
        append(store, k2=FULL)
    assert len(list(store.folder.iterdir())) == 1
    assert set(read(store)) == {K1}
