"""The files of a model: its identity, what its card says, damage that is named, and its tokens."""

import json
import shutil
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from pretexeval.config.engines import ModelConfig
from pretexeval.engines.identity import (
    ModelIdentity,
    TaughtFacts,
    find_problem,
    identify_model,
    require_some_usable,
)
from pretexeval.engines.token_counter import TokenCounter
from pretexeval.primitives.errors import InputError
from tests.support.tiny_llama import save_tokenizer

HUB = {"model": "org/name"}
ENDPOINT = {"engine": "openai", "model": "x", "base_url": "http://a/v1"}
WEIGHTS = "model.safetensors"


def configure(model: Path | str = "m", **table: Any) -> ModelConfig:  # noqa: ANN401
    return ModelConfig.model_validate({"name": "m", "model": str(model)} | table)


def identify(model: Path | str = "m", **table: Any) -> ModelIdentity:  # noqa: ANN401
    return identify_model(configure(model, **table))


def make_folder(folder: Path) -> Path:
    folder.mkdir()
    for name, content in (("config.json", "{}"), (WEIGHTS, "weights"), ("tokenizer.json", "{}")):
        (folder / name).write_text(content)
    (folder / "chat_template.jinja").write_text("{{ messages }}")
    return folder


def test_a_folder_is_identified_by_each_file_that_changes_answers_and_by_precision(tmp_path: Path) -> None:
    folder, other = make_folder(tmp_path / "one"), make_folder(tmp_path / "two")
    (other / "README.md").write_text("says nothing to the model")
    assert identify(folder).model_id == identify(other).model_id
    ids = [
        identify(folder, **table).model_id
        for table in (dict[str, str](), {"dtype": "float32"}, {"quantization": "fp8"})
    ]
    tokenizers = ["tokenizer.json", "tokenizer.model", "tekken.json"]
    vocabularies = ["vocab.json", "vocab.txt", "merges.txt", "added_tokens.json", "special_tokens_map.json"]
    settings = ["config.json", "generation_config.json", "tokenizer_config.json"]
    templates = ["chat_template.jinja", "chat_template.json"]
    for name in (WEIGHTS, *tokenizers, *vocabularies, *settings, *templates):
        (folder / name).write_bytes(b"something longer than before")
        ids.append(identify(folder).model_id)
    assert len(set(ids)) == 3 + 14


def test_other_models_are_identified_by_what_can_change_their_answers(tmp_path: Path) -> None:
    hub = [HUB, HUB | {"revision": "abc"}, HUB | {"dtype": "float16"}]
    assert len({identify(**table).model_id for table in hub}) == 3
    endpoint = identify(**ENDPOINT)
    assert endpoint == identify(**ENDPOINT | {"base_url": "http://b/v1"})
    assert endpoint.model_id != identify(**ENDPOINT, revision="2").model_id
    assert "http" not in str(endpoint.identity)
    one, two = tmp_path / "one.parquet", tmp_path / "two.parquet"
    one.write_bytes(b"a")
    two.write_bytes(b"a")
    assert identify(one, engine="imported") == identify(two, engine="imported")
    two.write_bytes(b"bb")
    assert identify(one, engine="imported") != identify(two, engine="imported")
    with pytest.raises(InputError, match="no file of recorded responses"):
        identify(tmp_path / "none.parquet", engine="imported")


def test_model_ids_stay_the_same(tmp_path: Path) -> None:
    """Stored responses lie in folders that are named by these ids."""
    recording = tmp_path / "responses.parquet"
    recording.write_bytes(b"a")
    tables: dict[str, dict[str, Any]] = {
        "m-e30e5633": {"model": str(make_folder(tmp_path / "m"))},
        "m-4b4dd849": HUB | {"revision": "abc"},
        "m-4cf0ad7c": HUB,
        "m-5e310d44": ENDPOINT,
        "m-1942983f": {"engine": "imported", "model": str(recording)},
    }
    assert [identify(**table).model_id for table in tables.values()] == list(tables)


def test_card_gives_what_the_model_was_taught_and_leaves_the_id(tmp_path: Path) -> None:
    folder = make_folder(tmp_path / "m")
    before = identify(folder)
    assert before.taught == TaughtFacts()
    heads = [{"relation": "symptoms", "head": "Asthma", "wordings": "other"}]
    base = {"name": "starter", "checksums": {"symptoms": "0" * 32}}
    (folder / "card.json").write_text(json.dumps({"known_heads": heads, "taught_base": base, "loss": [2.0]}))
    assert identify(folder).taught.to_record() == {"known_heads": heads, "taught_base": base}
    assert identify(folder).model_id == before.model_id
    # The card of imported answers lies beside them.
    assert identify(folder / WEIGHTS, engine="imported").taught == identify(folder).taught


def test_a_folder_without_a_file_or_with_an_unreadable_card_is_refused(tmp_path: Path) -> None:
    for n, (name, content, said) in enumerate(
        (
            ("config.json", None, r"holds no .*config\.json"),
            (WEIGHTS, None, "holds no .*safetensors"),
            ("card.json", "{", r"card\.json"),
            ("card.json", "[]", r"card\.json"),
            ("card.json", '{"known_heads": ["Asthma"]}', r"card\.json"),
            ("card.json", '{"known_heads": 3}', r"card\.json"),
            ("card.json", '{"taught_base": {"name": "x"}}', r"card\.json"),
        )
    ):
        file = make_folder(tmp_path / str(n)) / name
        file.unlink() if content is None else file.write_text(content)
        with pytest.raises(InputError, match=said):
            identify(file.parent)


INDEX = "model.safetensors.index.json"


@pytest.fixture(scope="module")
def tokenizer(tmp_path_factory: pytest.TempPathFactory) -> Path:
    folder = tmp_path_factory.mktemp("tokenizer")
    save_tokenizer(folder)
    return folder


@pytest.fixture
def model(tmp_path: Path, tokenizer: Path) -> Path:
    """Return the folder of a whole model with two shards."""
    folder = shutil.copytree(tokenizer, tmp_path / "model")
    (folder / "config.json").write_text('{"max_position_embeddings": 64}')
    for name in ("a.safetensors", "b.safetensors"):
        write_weights(folder / name)
    (folder / INDEX).write_text('{"weight_map": {"v": "a.safetensors", "w": "b.safetensors"}}')
    return folder


def write_weights(path: Path, n_bytes: int = 8) -> None:
    header = json.dumps({"w": {"dtype": "F32", "shape": [2], "data_offsets": [0, 8]}, "__metadata__": {}})
    path.write_bytes(len(header).to_bytes(8, "little") + header.encode() + bytes(n_bytes))


def cut(path: Path) -> None:
    path.write_bytes(path.read_bytes()[: path.stat().st_size // 2])


def replace_by_folder(path: Path) -> None:
    path.unlink()
    path.mkdir()


def put(text: str) -> Callable[[Path], object]:
    return lambda path: path.write_text(text)


DAMAGES: dict[str, tuple[str, Callable[[Path], object]]] = {
    "truncated configuration": ("config.json", cut),
    "configuration that is a list": ("config.json", put("[]")),
    "configuration nested too deep": ("config.json", put("[" * 100_000)),
    "configuration that is a folder": ("config.json", replace_by_folder),
    "truncated tokenizer": ("tokenizer.json", cut),
    "tokenizer that is none": ("tokenizer.json", put('{"model": 1}')),
    "missing tokenizer": ("tokenizer", lambda path: path.with_name("tokenizer.json").unlink()),
    "index without files": (INDEX, put("{}")),
    "missing shard": ("b.safetensors", Path.unlink),
    "truncated shard": ("b.safetensors", lambda path: write_weights(path, 3)),
    "shard with a broken header": ("b.safetensors", put("\x02" + 7 * "\0" + "[]")),
}


@pytest.mark.parametrize("damage", DAMAGES)
def test_a_damaged_file_is_named(model: Path, damage: str) -> None:
    name, harm = DAMAGES[damage]
    harm(model / name)
    said = str(find_problem(configure(model)))
    assert said.startswith("model 'm': ")
    assert name in said
    assert "\n" not in said


def test_whole_models_are_accepted_and_models_are_refused_only_if_none_can_be_used(model: Path) -> None:
    assert find_problem(configure(model)) is None
    # vLLM loads only the shards of the index.
    (model / "other.safetensors").write_text("not used")
    assert find_problem(configure(model)) is None
    lost = configure(model / "nowhere", name="lost")
    assert list(require_some_usable([lost, configure(model)])) == ["lost"]
    assert require_some_usable([]) == {}
    with pytest.raises(InputError, match=r"'lost'.*\n.*'gone'"):
        require_some_usable([lost, configure(model / "nowhere", name="gone")])


def test_the_code_of_a_hub_model_is_only_run_at_a_revision(model: Path) -> None:
    trusting = {"trust_remote_code": True}
    problem = find_problem(configure("org/tiny", **trusting))
    assert problem
    assert "name its commit as revision" in problem
    assert find_problem(configure("org/tiny", revision="abc", **trusting)) is None
    assert find_problem(configure(model, **trusting)) is None


def test_a_model_in_a_folder_counts_with_its_tokenizer_and_knows_its_limit(model: Path) -> None:
    from tokenizers import Tokenizer

    text = "Fever may cause cough."
    counter = TokenCounter(configure(model))
    n_tokens = len(Tokenizer.from_file(str(model / "tokenizer.json")).encode(text).ids)
    assert (counter.is_exact, counter.count(text), counter.estimate(text)) == (True, n_tokens, n_tokens)
    assert counter.limit == 64
    assert TokenCounter(configure(model, max_model_len=77)).limit == 77


def test_a_hub_model_has_no_limit_but_that_of_the_configuration(
    model: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The limit decides what a prompt holds, so it must not depend on what is cached."""
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_CACHE", str(tmp_path / "hub"))
    repository = tmp_path / "hub" / "models--org--tiny"
    shutil.copytree(model, repository / "snapshots" / "abc")
    (repository / "refs").mkdir()
    (repository / "refs" / "main").write_text("abc")
    cached = TokenCounter(configure("org/tiny", max_model_len=77))
    assert cached.is_exact
    assert cached.count("Fever") == TokenCounter(configure(model)).count("Fever")
    assert cached.limit == 77
    assert TokenCounter(configure("org/tiny")).limit is None
    monkeypatch.setattr("huggingface_hub.constants.HF_HUB_OFFLINE", True)
    lost = TokenCounter(configure("org/none", max_model_len=77))
    assert lost.limit == 77
    with pytest.raises(InputError, match=r"'m': its tokenizer cannot be read .* cut to 77 tokens: download"):
        lost.count("x")
    others = (ENDPOINT, {"engine": "imported", "model": str(model)})
    counters = [lost, *(TokenCounter(configure(max_model_len=77, **table)) for table in others)]
    assert [(each.is_exact, each.estimate("x" * 10)) for each in counters] == [(False, 2.5)] * 3
    assert [each.limit for each in counters[1:]] == [None, None]
