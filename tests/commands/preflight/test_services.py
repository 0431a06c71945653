"""Keys, endpoints, Prefect's server and the shared storage: a problem is found, and no key is shown."""

import socket
from datetime import timedelta
from importlib.metadata import version
from pathlib import Path

import pytest

from commands.preflight import services
from commands.preflight.machine import Finding
from commands.preflight.services import (
    check_endpoint,
    check_keys,
    check_room,
    check_server,
    check_shared,
    require_server,
)
from flows.support import keys
from pretexeval.config.engines import ModelConfig
from pretexeval.primitives import http_client
from pretexeval.primitives.errors import InputError
from tests.support.object_storage import KEYS, ObjectStorage, serve_rclone
from tests.support.web_server import Route, serve_routes

SECRET = "sk-very-secret"
LISTED = {"data": [{"id": "llama"}, {"id": "gemma"}]}
OURS = version("prefect")


@pytest.fixture(autouse=True)
def _nothing_set(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("MY_KEY", "PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING")
    for name in (*names, "PRETEXEVAL_INSTALLATION"):
        monkeypatch.delenv(name, raising=False)


def test_keys_are_found_where_a_run_finds_them(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", f" {SECRET}\n")
    monkeypatch.setenv("OTHER_KEY", "")
    monkeypatch.setattr(keys, "provide_variables", lambda _: monkeypatch.setenv("OTHER_KEY", SECRET))
    names = ["MY_KEY", "OTHER_KEY"]
    (given, missing) = check_keys(names, ["OPTIONAL_KEY"], has_server=False)
    assert given == Finding("key MY_KEY", "ok", "in the environment as MY_KEY")
    assert missing.state == "failing"
    assert "block 'other-key'" in missing.found
    assert "prefect block create secret" in missing.remedy
    _, found = check_keys(names, ["OPTIONAL_KEY"], has_server=True)
    assert found == Finding("key OTHER_KEY", "ok", "in the Prefect Secret block 'other-key'")


def ask(base_url: str, **settings: object) -> Finding:
    table = {"name": "m", "engine": "openai", "model": "llama", "base_url": base_url}
    return check_endpoint(ModelConfig.model_validate(table | settings))


def test_an_endpoint_is_asked_for_its_list_with_the_key(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    with serve_routes({"/v1/models": (200, LISTED)}) as web:
        found = ask(f"{web.address}/v1/", api_key_env="MY_KEY")
        unlisted = ask(f"{web.address}/v1", model="lama")
    assert found == Finding("model m", "ok", f"{web.address}/v1 serves llama")
    assert unlisted.state == "warning"
    assert unlisted.found.endswith("does not list lama; it lists llama, gemma")
    assert web.requests == [("/v1/models", f"Bearer {SECRET}"), ("/v1/models", None)]


def test_an_error_is_failing_and_an_endpoint_that_lists_nothing_a_warning() -> None:
    routes: dict[str, Route] = {"404": (404, {}), "text": (200, "text"), "number": (200, {"data": [1]})}
    errors = {401: r"refuses the key \(HTTP 401\)", 500: r"an error \(HTTP 500\)"}
    paths = {f"/{name}/models": route for name, route in routes.items()}
    with serve_routes({f"/{status}/models": (status, {}) for status in errors} | paths) as web:
        assert {name: ask(f"{web.address}/{name}").state for name in routes} == dict.fromkeys(
            routes, "warning"
        )
        for status, words in errors.items():
            with pytest.raises(InputError, match=words):
                ask(f"{web.address}/{status}")


def test_an_endpoint_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        with pytest.raises(InputError, match=r"does not answer .Connection refused"):
            ask(f"http://127.0.0.1:{bound.getsockname()[1]}/v1")
    monkeypatch.setattr(http_client, "TIMEOUT_S", 0.1)
    with serve_routes({"/v1/models": (200, LISTED)}, wait_s=0.5) as web:
        with pytest.raises(InputError, match=r"no answer within 0\.1 s"):
            ask(f"{web.address}/v1")
        with pytest.raises(InputError, match="the environment variable MY_KEY is not set"):
            ask(f"{web.address}/v1", api_key_env="MY_KEY")
    with pytest.raises(InputError, match="base_url is not an address"):
        ask("localhost:8000/v1")


def test_a_server_and_its_version(monkeypatch: pytest.MonkeyPatch) -> None:
    assert "flows run in process" in check_server().found
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:word")
    for theirs, state in ((OURS, "ok"), ("2.0.0", "warning")):
        routes: dict[str, Route] = {"/api/health": (200, True), "/api/admin/version": (200, theirs)}
        with serve_routes(routes) as web:
            monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
            found = check_server()
        assert (found.state, f"version {theirs}" in found.found) == (state, True)
        assert {key for _, key in web.requests} == {"Basic YWRtaW46d29yZA=="}


def test_another_service_at_the_address_is_one_message(monkeypatch: pytest.MonkeyPatch) -> None:
    routes: dict[str, Route] = {
        "/page/health": (200, "<!doctype html>"),
        "/busy/health": (503, None),
        "/closed/health": (200, True),
        "/closed/admin/version": (401, None),
    }
    words = {
        "none": "does not answer",
        "page": "is not a Prefect server",
        "busy": "HTTP 503",
        "closed": "refuses access",
    }
    with serve_routes(routes) as web:
        for name, said in words.items():
            monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/{name}")
            with pytest.raises(InputError, match=f"PREFECT_API_URL: .*{said}.*;"):
                require_server()
    for address in ("http://me:word@127.0.0.1:9/api", "http://[::1", "http://127.0.0.1:port/api"):
        monkeypatch.setenv("PREFECT_API_URL", address)
        with pytest.raises(InputError, match="PREFECT_API_URL") as raised:
            require_server()
        assert "word" not in str(raised.value)


def test_a_root_that_cannot_be_written_or_is_full(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> None:
    (tmp_path / "file").write_text("mine")
    with pytest.raises(InputError, match="cannot be written"):
        check_room(tmp_path / "file" / "data")
    assert check_room(tmp_path / "not" / "there").state == "ok"
    monkeypatch.setattr(services, "measure_free_space", lambda _: 1_000_000)
    assert check_room(tmp_path).state == "failing"
    assert (tmp_path / "file").read_text() == "mine"
    assert not (tmp_path / "not").exists()


def test_storage_without_conditional_writes_is_failing_and_nothing_is_left(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, moto: ObjectStorage
) -> None:
    moto.set_environment(monkeypatch)
    assert check_shared(moto.address).state == "ok"
    with serve_rclone(tmp_path) as server:
        server.set_environment(monkeypatch)
        with pytest.raises(InputError, match="conditional writes"):
            check_shared(server.address)
    assert not [path for path in (tmp_path / "bucket").rglob("*") if path.is_file()]


def test_storage_that_cannot_be_reached(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(services, "PATIENCE", timedelta(seconds=1))
    for name, value in {**KEYS, "AWS_ENDPOINT_URL": "http://127.0.0.1:9", "AWS_REGION": "here"}.items():
        monkeypatch.setenv(name, value)
    with pytest.raises(InputError, match="s3://bucket/a") as raised:
        check_shared("s3://bucket/a")
    assert KEYS["AWS_SECRET_ACCESS_KEY"] not in str(raised.value)
    for name in KEYS:
        monkeypatch.delenv(name)
    # Without keys the library asks the machine for a role.
    monkeypatch.setenv("AWS_METADATA_ENDPOINT", "http://127.0.0.1:9")
    with pytest.raises(InputError, match=r"no key was found: set AWS_ACCESS_KEY_ID, .*'aws-access-key-id'"):
        check_shared("s3://bucket/a")
