import json
from pathlib import Path

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.identity import TaughtFacts, identify_model
from pretexeval.primitives.errors import InputError


def make_folder(folder: Path) -> Path:
    folder.mkdir(parents=True)
    (folder / "config.json").write_text("{}")
    (folder / "model.safetensors").write_bytes(b"weights")
    (folder / "tokenizer.json").write_text("{}")
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder


def identify_folder(folder: Path, **settings: str) -> str:
    config = ModelConfig.model_validate({"name": "m", "model": str(folder), **settings})
    return identify_model(config).model_id


def test_folder_is_identified_by_its_content(tmp_path: Path) -> None:
    one, two = make_folder(tmp_path / "one"), make_folder(tmp_path / "two")
    (two / "README.md").write_text("says nothing to the model")
    assert identify_folder(one) == identify_folder(two)
    assert identify_folder(one).startswith("m-")
    assert len(identify_folder(one)) == len("m-") + 8


def test_each_file_that_changes_answers_changes_the_id(tmp_path: Path) -> None:
    weights, tokenizers = ["model.safetensors"], ["tokenizer.json", "tokenizer.model", "tekken.json"]
    vocabularies = ["vocab.json", "vocab.txt", "merges.txt", "added_tokens.json", "special_tokens_map.json"]
    settings = ["config.json", "generation_config.json", "tokenizer_config.json"]
    templates = ["chat_template.jinja", "chat_template.json"]
    folder = make_folder(tmp_path / "m")
    ids = [identify_folder(folder)]
    for name in (*weights, *tokenizers, *vocabularies, *settings, *templates):
        (folder / name).write_bytes(b"something longer than before")
        ids.append(identify_folder(folder))
    assert len(set(ids)) == 1 + 14


def test_dtype_and_quantization_change_the_id(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    ids = {
        identify_folder(folder),
        identify_folder(folder, dtype="float32"),
        identify_folder(folder, quantization="fp8"),
    }
    assert len(ids) == 3


def test_card_gives_what_the_model_was_taught_and_leaves_the_id(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    before = identify_folder(folder)
    heads = [{"relation": "symptoms", "head": "Asthma", "wordings": "other"}]
    base = {"name": "starter", "checksums": {"symptoms": "0" * 32}}
    assert identify_model(ModelConfig(name="m", model=str(folder))).taught == TaughtFacts()
    card = {"known_heads": heads, "taught_base": base, "loss": [2.0]}
    (folder / "card.json").write_text(json.dumps(card))
    after = identify_model(ModelConfig(name="m", model=str(folder)))
    assert after.taught.to_record() == {"known_heads": heads, "taught_base": base}
    assert after.model_id == before


@pytest.mark.parametrize(
    "card", ["{", "[]", '{"known_heads": ["Asthma"]}', '{"known_heads": 3}', '{"taught_base": {"name": "x"}}']
)
def test_unreadable_card_is_refused(tmp_path: Path, card: str) -> None:
    folder = make_folder(tmp_path / "m")
    (folder / "card.json").write_text(card)
    with pytest.raises(InputError, match=r"card\.json"):
        identify_model(ModelConfig(name="m", model=str(folder)))


@pytest.mark.parametrize(
    ("missing", "said"), [("config.json", r"config\.json"), ("model.safetensors", "safetensors")]
)
def test_incomplete_folder_is_refused(tmp_path: Path, missing: str, said: str) -> None:
    folder = make_folder(tmp_path / "m")
    (folder / missing).unlink()
    with pytest.raises(InputError, match=f"holds no .*{said}"):
        identify_model(ModelConfig(name="m", model=str(folder)))


def test_hub_model_is_identified_by_name_revision_and_precision() -> None:
    hub = {"name": "m", "model": "org/name"}
    configs = [hub, hub | {"revision": "abc"}, hub | {"dtype": "float16"}]
    ids = {identify_model(ModelConfig.model_validate(c)).model_id for c in configs}
    assert len(ids) == 3


def test_endpoint_is_identified_by_name_and_revision_not_by_address() -> None:
    endpoint = {"name": "m", "engine": "openai", "model": "x", "base_url": "http://a/v1"}
    first = identify_model(ModelConfig.model_validate(endpoint))
    moved = identify_model(ModelConfig.model_validate(endpoint | {"base_url": "http://b/v1"}))
    revised = identify_model(ModelConfig.model_validate(endpoint | {"revision": "2"}))
    assert first == moved
    assert first.model_id != revised.model_id
    assert "http" not in str(first.identity)


def test_recording_is_identified_by_its_bytes(tmp_path: Path) -> None:
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    one.write_bytes(b"a")
    two.write_bytes(b"a")
    configs = [ModelConfig(name="m", engine="recorded", model=str(p)) for p in (one, two)]
    assert identify_model(configs[0]) == identify_model(configs[1])
    two.write_bytes(b"bb")
    assert identify_model(configs[0]) != identify_model(configs[1])
    (tmp_path / "card.json").write_text('{"known_heads": []}')
    assert identify_model(configs[0]).taught == TaughtFacts(known_heads=[])
    two.unlink()
    with pytest.raises(InputError, match="no file of recorded responses"):
        identify_model(configs[1])


def test_model_ids_stay_the_same(tmp_path: Path) -> None:
    """Stored responses lie in folders that are named by these ids."""
    recording = tmp_path / "recorded.parquet"
    recording.write_bytes(b"a")
    configs = {
        "m-e30e5633": {"model": str(make_folder(tmp_path / "m"))},
        "m-4b4dd849": {"model": "org/name", "revision": "abc"},
        "m-4cf0ad7c": {"model": "org/name"},
        "m-5e310d44": {"engine": "openai", "model": "x", "base_url": "http://a/v1"},
        "m-8eb21f8c": {"engine": "recorded", "model": str(recording)},
    }
    found = [identify_model(ModelConfig.model_validate({"name": "m", **c})) for c in configs.values()]
    assert [each.model_id for each in found] == list(configs)
