from pathlib import Path

import pyarrow.parquet as pq
import pytest

from schemas.exchange import PROMPT_TOO_LONG, Completion, Prompt
from schemas.stages import RESPONSES
from storage.responses import ResponseStore

K1, K2, K3, K4 = (f"{i:032x}" for i in range(1, 5))
FULL = Completion(" True\n", "ok", None, "stop", 12, 2, -0.25, -1.5)
FAILED = Completion(None, "error", "timed out")
TOO_LONG = Completion(None, "error", f"{PROMPT_TOO_LONG}: 9 tokens of 8")


@pytest.fixture
def store(tmp_path: Path) -> ResponseStore:
    return ResponseStore(tmp_path, "m-1")


def append(store: ResponseStore, repeat: int = 0, **completions: Completion) -> Path:
    """One chunk; each completion is given under the name of its key, k1 … k4."""
    keys = [f"{int(name[1:]):032x}" for name in completions]
    prompts = [Prompt("completion", f"prompt {key[-1]}") for key in keys]
    return store.append(keys, prompts, list(completions.values()), repeat)


def read(store: ResponseStore) -> dict[str, str | None]:
    return dict(store.read(["prompt_key", "response"]).iter_rows())


def test_an_empty_store(store: ResponseStore) -> None:
    assert store.list_files() == []
    assert store.read_settled_keys() == set()
    assert store.read().columns == RESPONSES.names
    assert store.read().height == 0
    assert not store.folder.exists()


def test_a_response_is_kept_as_it_came(store: ResponseStore) -> None:
    path = append(store, k1=FULL, k2=FAILED, k3=Completion(""))
    assert pq.read_schema(path).remove_metadata() == RESPONSES.schema.remove_metadata()
    assert store.read().sort("prompt_key").rows() == [
        (K1, "m-1", 0, "prompt 1", " True\n", "ok", None, "stop", 12, 2, -0.25, -1.5),
        (K2, "m-1", 0, "prompt 2", None, "error", "timed out", None, None, None, None, None),
        (K3, "m-1", 0, "prompt 3", "", "ok", None, None, None, None, None, None),
    ]


@pytest.mark.parametrize("text", ["β \u2028 \x00 \x1f", "👍🏽", "\ufefftrue", '{"a": "\\"}', "\r\n"])
def test_no_text_is_changed(store: ResponseStore, text: str) -> None:
    append(store, k1=Completion(text))
    assert read(store) == {K1: text}


def test_half_a_character_costs_no_chunk(store: ResponseStore) -> None:
    """JSON can carry a lone surrogate, which neither UTF-8 nor Parquet can hold."""
    append(store, k1=Completion("tr\ud83due"), k2=Completion(None, "error", "\udc00"), k3=FULL)
    assert store.read(["prompt_key", "response", "error"]).sort("prompt_key").rows() == [
        (K1, "tr\ufffdue", None),
        (K2, None, "\ufffd"),
        (K3, " True\n", None),
    ]


def test_chunks_add_up_and_never_replace_each_other(store: ResponseStore) -> None:
    paths = {append(store, k1=FULL), append(store, k2=FULL), append(store, k3=Completion("No"))}
    before = {path: path.read_bytes() for path in paths}
    append(store, k4=FULL)
    assert len(store.list_files()) == 4
    assert set(read(store)) == {K1, K2, K3, K4}
    assert {path: path.read_bytes() for path in paths} == before
    assert read(ResponseStore(store.folder.parent.parent, "m-1")) == read(store)


def test_the_same_chunk_twice_is_one_file(store: ResponseStore) -> None:
    assert append(store, k1=FULL) == append(store, k1=FULL)
    assert store.read().height == 1


def test_repeats_stand_beside_each_other(store: ResponseStore) -> None:
    append(store, k1=Completion("True"))
    append(store, repeat=1, k1=Completion("False"))
    rows = store.read(["repeat", "response"]).sort("repeat").rows()
    assert rows == [(0, "True"), (1, "False")]


@pytest.mark.parametrize("is_error_first", [True, False])
def test_a_response_wins_over_an_error(store: ResponseStore, is_error_first: bool) -> None:
    """By name, a file of either kind can come first; both orders are met among these."""
    for i in range(8):
        chunks = [Completion(None, "error", f"failed {i}"), Completion(f"True {i}")]
        for completion in chunks if is_error_first else chunks[::-1]:
            store.append([f"{i:032x}"], [Prompt("completion", "p")], [completion])
    found = store.read(["prompt_key", "response", "status", "error"]).sort("prompt_key")
    assert found["response"].to_list() == [f"True {i}" for i in range(8)]
    assert found.select("status", "error").unique().rows() == [("ok", None)]


def test_errors_are_asked_again_and_what_is_too_long_is_not(store: ResponseStore) -> None:
    append(store, k1=FULL, k2=FAILED, k3=TOO_LONG, k4=Completion(""))
    assert store.read_settled_keys() == {K1, K3, K4}
    append(store, k2=Completion("No"))
    assert store.read_settled_keys() == {K1, K2, K3, K4}


def test_models_never_mix(tmp_path: Path) -> None:
    one, two = ResponseStore(tmp_path, "m-1"), ResponseStore(tmp_path, "m-2")
    append(one, k1=Completion("True"))
    assert two.read_settled_keys() == set()
    append(two, k1=Completion("False"), k2=FULL)
    assert read(one) == {K1: "True"}
    assert read(two) == {K1: "False", K2: " True\n"}
    assert set(two.read(["model_id"])["model_id"]) == {"m-2"}
    assert one.folder != two.folder


def test_keys_without_their_completions_are_refused(store: ResponseStore) -> None:
    with pytest.raises(ValueError, match="shorter"):
        store.append([K1, K2], [Prompt("completion", "p")] * 2, [FULL])
    assert store.list_files() == []
