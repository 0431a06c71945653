import pytest

from config.engines import ModelConfig
from preflight.key_checks import FoundKey, check_keys, find_keys, find_storage_keys
from tests.support.web_server import serve_routes

SECRET = "sk-very-secret"
PATH = "/api/block_types/slug/secret/block_documents/name/my-key?include_secrets=true"
MODEL = ModelConfig(name="m", engine="openai", model="x", base_url="http://a/v1", api_key_env="MY_KEY")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in ("MY_KEY", "PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING"):
        monkeypatch.delenv(name, raising=False)


def test_a_key_of_the_environment_is_found_and_not_shown(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {SECRET}\n")
    keys = find_keys([MODEL, MODEL])
    (check,) = check_keys(keys)
    assert (check.name, check.state, check.found) == ("key MY_KEY", "ok", "in the environment as MY_KEY")
    assert keys["MY_KEY"] is not None
    assert keys["MY_KEY"].value == SECRET
    assert SECRET not in f"{keys} {check}"


def test_a_key_of_a_block_is_found_with_the_servers_authorization(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_KEY", "entry")
    with serve_routes({PATH: (200, {"data": {"value": SECRET}})}) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        keys = find_keys([MODEL])
    assert web.requests == [(PATH, "Bearer entry")]
    (check,) = check_keys(keys)
    assert (check.state, check.found) == ("ok", "in the Prefect Secret block 'my-key'")
    assert keys["MY_KEY"] is not None
    assert keys["MY_KEY"].value == SECRET


@pytest.mark.parametrize("body", [{}, {"data": {"value": " "}}, {"data": {"value": [1]}}, {"data": 1}, 3])
def test_a_block_without_a_text_is_no_key(monkeypatch: pytest.MonkeyPatch, body: object) -> None:
    with serve_routes({PATH: (200, body)}) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        assert find_keys([MODEL]) == {"MY_KEY": None}


def test_a_missing_key_fails_with_both_remedies() -> None:
    (check,) = check_keys(find_keys([MODEL]))
    assert (check.name, check.state) == ("key MY_KEY", "failing")
    assert "MY_KEY is not set" in check.found
    assert "block 'my-key'" in check.found
    assert "prefect block create secret" in check.remedy


def test_a_model_without_an_endpoint_needs_no_key() -> None:
    assert find_keys([ModelConfig(name="m", model="x", api_key_env="MY_KEY")]) == {}


def test_keys_of_a_storage_are_those_that_are_found(monkeypatch: pytest.MonkeyPatch) -> None:
    """A missing key is not an error: a role of the machine opens a storage as well."""
    for name in ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"):
        monkeypatch.delenv(name, raising=False)
    assert find_storage_keys("s3://bucket/a") == {}
    monkeypatch.setenv("AWS_ACCESS_KEY_ID", "AKIATESTTESTTEST")
    block = PATH.replace("my-key", "aws-secret-access-key")
    with serve_routes({block: (200, {"data": {"value": SECRET}})}) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        keys = find_storage_keys("s3://bucket/a")
    assert keys == {
        "AWS_ACCESS_KEY_ID": FoundKey("AKIATESTTESTTEST", "in the environment as AWS_ACCESS_KEY_ID"),
        "AWS_SECRET_ACCESS_KEY": FoundKey(SECRET, "in the Prefect Secret block 'aws-secret-access-key'"),
    }
    assert {check.state for check in check_keys(keys)} == {"ok"}
