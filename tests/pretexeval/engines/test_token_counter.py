import json
import shutil
from pathlib import Path

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.token_counter import TokenCounter
from tests.support.command import REPOSITORY

REFERENCE = REPOSITORY / "models" / "reference-small"


def make_counter(model: Path | str, **settings: object) -> TokenCounter:
    table = {"name": "m", "model": str(model)}
    return TokenCounter(ModelConfig.model_validate(table | settings))


@pytest.fixture
def folder(tmp_path: Path) -> Path:
    """A model's folder with a real tokenizer and weights that nobody loads."""
    for name in ("config.json", "tokenizer.json"):
        shutil.copy(REFERENCE / name, tmp_path / name)
    (tmp_path / "model.safetensors").touch()
    return tmp_path


@pytest.fixture
def hub(folder: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    """A cache of the hub that holds the model as org/tiny."""
    from huggingface_hub import constants

    repository = tmp_path / "hub" / "models--org--tiny"
    shutil.copytree(folder, repository / "snapshots" / "abc", ignore=shutil.ignore_patterns("hub"))
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    monkeypatch.setattr(constants, "HF_HUB_CACHE", str(tmp_path / "hub"))


def test_a_model_in_a_folder_counts_with_its_tokenizer_and_knows_its_limit(folder: Path) -> None:
    from tokenizers import Tokenizer

    text = "Aspirin may treat Headache."
    described = json.loads((folder / "config.json").read_text())
    counter = make_counter(folder)
    assert counter.is_exact
    assert counter.count(text) == len(Tokenizer.from_file(str(folder / "tokenizer.json")).encode(text).ids)
    assert counter.limit == described["max_position_embeddings"]
    assert make_counter(folder, max_model_len=77).limit == 77


@pytest.mark.usefixtures("hub")
def test_a_model_in_the_cache_of_the_hub_counts_with_its_tokenizer_and_has_no_limit(folder: Path) -> None:
    """The limit decides what a prompt holds, so it must not depend on what is cached."""
    cached = make_counter("org/tiny", max_model_len=77)
    assert cached.is_exact
    assert cached.count("Aspirin") == make_counter(folder).count("Aspirin")
    assert cached.limit is None


@pytest.mark.parametrize(
    "settings",
    [
        {"model": "org/none"},
        {"engine": "openai", "base_url": "http://127.0.0.1:9/v1"},
        {"engine": "recorded"},
    ],
)
def test_any_other_model_counts_characters_and_has_no_limit(folder: Path, settings: dict[str, str]) -> None:
    counter = make_counter(**{"model": folder, "max_model_len": 77} | settings)  # type: ignore[arg-type]
    assert not counter.is_exact
    assert counter.count("x" * 10) == 2.5
    assert counter.limit is None
