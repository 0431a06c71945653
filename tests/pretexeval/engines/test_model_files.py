"""Damaged files of models: each is named before the model is loaded, and whole models are accepted."""

import json
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.model_files import find_problem, require_some_usable
from pretexeval.primitives.errors import InputError
from tests.support.tiny_llama import save_tokenizer

INDEX = "model.safetensors.index.json"


def write_weights(path: Path, n_bytes: int = 8) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {}})
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(n_bytes))


@pytest.fixture(scope="module")
def tokenizer_files(tmp_path_factory: pytest.TempPathFactory) -> dict[str, bytes]:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return {path.name: path.read_bytes() for path in folder.iterdir()}


@pytest.fixture
def model(tmp_path: Path, tokenizer_files: dict[str, bytes]) -> Path:
    """Return the folder of a whole model with two shards."""
    folder = tmp_path / "model"
    folder.mkdir()
    for name, content in tokenizer_files.items():
        (folder / name).write_bytes(content)
    (folder / "config.json").write_text('{"max_position_embeddings": 64}')
    for name in ("a.safetensors", "b.safetensors"):
        write_weights(folder / name)
    (folder / INDEX).write_text('{"weight_map": {"v": "a.safetensors", "w": "b.safetensors"}}')
    return folder


def configure(folder: Path, **table: Any) -> ModelConfig:  # noqa: ANN401
    return ModelConfig.model_validate({"name": "m", "model": str(folder)} | table)


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def make_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def write_broken_header(path: Path) -> None:
    path.write_bytes((2).to_bytes(8, "little") + b"[]")


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "truncated configuration": ("config.json", cut),
    "configuration that is a list": ("config.json", lambda path: path.write_text("[]")),
    "configuration nested too deep": ("config.json", lambda path: path.write_text("[" * 100_000)),
    "configuration that is a folder": ("config.json", make_folder),
    "truncated tokenizer": ("tokenizer.json", cut),
    "tokenizer that is none": ("tokenizer.json", lambda path: path.write_text('{"model": 1}')),
    "missing tokenizer": ("tokenizer", lambda path: (path.parent / "tokenizer.json").unlink()),
    "index without files": (INDEX, lambda path: path.write_text("{}")),
    "missing shard": ("b.safetensors", Path.unlink),
    "truncated shard": ("b.safetensors", lambda path: write_weights(path, 3)),
    "shard with a broken header": ("b.safetensors", write_broken_header),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(model: Path, damage: str) -> None:
    name, harm = DAMAGES[damage]
    harm(model / name)
    said = find_problem(configure(model))
    assert said is not None
    assert said.startswith("model 'm': ")
    assert name in said
    assert "\n" not in said


def test_whole_models_are_accepted(model: Path) -> None:
    assert find_problem(configure(model)) is None
    # vLLM loads only the shards of the index.
    (model / "other.safetensors").write_text("not used")
    assert find_problem(configure(model)) is None


def test_models_are_refused_only_if_none_can_be_used(model: Path) -> None:
    lost = configure(model / "nowhere").model_copy(update={"name": "lost"})
    assert list(require_some_usable([lost, configure(model)])) == ["lost"]
    assert require_some_usable([]) == {}
    with pytest.raises(InputError, match=r"'lost'.*\n.*'gone'"):
        require_some_usable([lost, lost.model_copy(update={"name": "gone"})])
