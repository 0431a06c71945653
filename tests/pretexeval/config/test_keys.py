"""A configuration that contains a key is refused, and the error message does not repeat the key."""

from pathlib import Path

import pytest

from pretexeval.config.file import load_config
from tests.pretexeval.config.test_file import read_error, write_config

ENDPOINT = '[[models]]\nname = "a"\nmodel = "m"\nengine = "openai"\n'
KEY = "sk-proj-a1b2c3d4e5f6g7h8"
# Some vendors give their keys no prefix.
BARE_KEY = "9f86d081884c7d659a2feaa0c55ad015"
UPPER_KEY = "A1B2C3D4E5F6G7H8I9J0K1"


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (f'{ENDPOINT}base_url = "http://a/v1"\napi_key_env = "{KEY}"', "api_key_env: give the name of"),
        (f'{ENDPOINT}base_url = "http://a/v1"\napi_key_env = "{BARE_KEY}"', "not the key itself"),
        (f'{ENDPOINT}base_url = "http://a/v1"\napi_key_env = "{UPPER_KEY}"', "not the key itself"),
        (f'{ENDPOINT}base_url = "http://a/v1"\napi_key_env = ["{KEY}"]', "api_key_env: should be"),
        (f'{ENDPOINT}base_url = "http://me:{BARE_KEY}@a/v1"', "models[0].base_url: user, password"),
        (f'{ENDPOINT}base_url = "http://{BARE_KEY}@a/v1"', "models[0].base_url: user, password"),
        (f'{ENDPOINT}base_url = "http://a/v1?key={BARE_KEY}"', "models[0].base_url: user, password"),
        (f'[[models]]\nname = "{KEY}"\nmodel = "m"', "models[0].name holds what looks like a key"),
        (f'[[models]]\nname = "a"\nmodel = "m"\nsystem_prompt = "Use {KEY}."', "system_prompt holds what"),
        (
            f'{ENDPOINT}base_url = "http://a/v1"\nextra_body = {{ metadata = {{ note = "{KEY}" }} }}',
            "models[0].extra_body.metadata.note holds what looks like a key",
        ),
        (
            f'{ENDPOINT}base_url = "http://a/v1"\nextra_body = {{ metadata = {{ api_key = "{BARE_KEY}" }} }}',
            "models[0].extra_body: api_key is not allowed",
        ),
        (f'[edition]\npool = "hf_{BARE_KEY}"', "edition.pool holds what looks like a key"),
        (f'[[models]]\nname = "a"\nmodel = "m"\nmax_tokens = "{BARE_KEY}"', "max_tokens = '***': should be"),
        (
            f'[[models]]\nname = "a"\nmodel = "m"\napi_key = "{BARE_KEY}"',
            "models[0].api_key is not a known key (did you mean api_key_env?)",
        ),
        (f'[models]\napi_key = "{BARE_KEY}"', "models: should be a list"),
        (f'models = ["{BARE_KEY}"]', "models[0] = '***': should be"),
        (f"[edition]\nseed = -{10**20}", "edition.seed = ***: should be"),
        (f'[judge]\nwriter = "{BARE_KEY}"', "judge.writer = '***': no [[writers]]"),
        (f'[storage]\nroot = "$NOWHERE/{BARE_KEY}"', "storage.root = '$NOWHERE/***'"),
        (f'[edition]\n{BARE_KEY} = "x"', "edition.*** is not a known key"),
    ],
)
def test_a_key_in_the_file_is_refused_and_not_repeated(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, text: str, expected: str
) -> None:
    monkeypatch.delenv("NOWHERE", raising=False)
    message = read_error(write_config(tmp_path, text))
    assert expected in message
    for secret in (KEY, BARE_KEY, UPPER_KEY, str(10**20)):
        assert secret not in message


def test_file_with_the_value_of_a_key_variable_is_refused(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    text = f'{ENDPOINT}base_url = "http://a/v1"\napi_key_env = "MY_KEY"\n[edition]\npool = "a swordfish"'
    path = write_config(tmp_path, text)
    monkeypatch.setenv("MY_KEY", "sword")
    assert load_config(path).models[0].api_key_env == "MY_KEY"
    monkeypatch.setenv("MY_KEY", "swordfish")
    message = read_error(path)
    assert "edition.pool holds what looks like a key" in message
    assert "swordfish" not in message


def test_names_with_versions_are_not_taken_for_keys(tmp_path: Path) -> None:
    names = ("llama3-8b-instruct-q4", "Qwen2.5-72B-Instruct-AWQ", "medgemma-27b-2026-W47")
    tables = "\n".join(f'[[models]]\nname = "{name}"\nmodel = "org/{name}"' for name in names)
    path = write_config(tmp_path, tables)
    assert [model.name for model in load_config(path).models] == list(names)
    message = read_error(write_config(tmp_path, tables.replace(names[1], names[0])))
    assert f"two models are named '{names[0]}'" in message
