import socket

import pytest

from config.engines import ModelConfig
from preflight.endpoint_checks import check_endpoint
from primitives import http_client
from tests.support.web_server import serve_routes

SECRET = "sk-very-secret"
LISTED = {"data": [{"id": "llama"}, {"id": "gemma"}]}


def configure(base_url: str, **settings: object) -> ModelConfig:
    table = {"name": "m", "engine": "openai", "model": "llama", "base_url": base_url}
    return ModelConfig.model_validate(table | settings)


def test_an_endpoint_that_serves_the_model_is_asked_for_its_list_with_the_key(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    with serve_routes({"/v1/models": (200, LISTED)}) as web:
        check = check_endpoint(configure(f"{web.address}/v1/", api_key_env="MY_KEY"))
    assert (check.name, check.state) == ("model m", "ok")
    assert check.found == f"{web.address}/v1 serves llama"
    assert web.requests == [("/v1/models", f"Bearer {SECRET}")]


def test_a_model_that_is_not_listed_is_a_warning_with_those_that_are() -> None:
    with serve_routes({"/v1/models": (200, LISTED)}) as web:
        check = check_endpoint(configure(f"{web.address}/v1", model="lama"))
    assert check.state == "warning"
    assert check.found.endswith("does not list lama; it lists llama, gemma")
    assert web.requests == [("/v1/models", None)]


@pytest.mark.parametrize(
    ("status", "state", "words"),
    [
        (401, "failing", "refuses the key (HTTP 401)"),
        (403, "failing", "refuses the key (HTTP 403)"),
        (404, "warning", "answers, but lists no models"),
        (500, "failing", "answers with an error (HTTP 500)"),
    ],
)
def test_the_http_status_decides(status: int, state: str, words: str) -> None:
    with serve_routes({"/v1/models": (status, LISTED)}) as web:
        check = check_endpoint(configure(f"{web.address}/v1"))
    assert check.state == state
    assert words in check.found
    assert check.remedy


@pytest.mark.parametrize("body", ["text", [1], {"data": 3}, {"data": [1]}, None])
def test_an_answer_of_another_shape_is_a_warning(body: object) -> None:
    with serve_routes({"/v1/models": (200, body)}) as web:
        check = check_endpoint(configure(f"{web.address}/v1"))
    assert check.state == "warning"
    assert check.found.endswith("it lists none")


def test_a_server_that_is_not_running_fails() -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        check = check_endpoint(configure(f"http://127.0.0.1:{bound.getsockname()[1]}/v1"))
    assert check.state == "failing"
    assert check.found.endswith("does not answer (Connection refused)")


def test_an_endpoint_that_does_not_answer_in_time(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "TIMEOUT_S", 0.1)
    with serve_routes({"/v1/models": (200, LISTED)}, wait_s=0.5) as web:
        check = check_endpoint(configure(f"{web.address}/v1"))
    assert check.state == "failing"
    assert "no answer within 0.1 s" in check.found


def test_a_variable_that_is_not_set_fails_and_nothing_is_sent(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.delenv("MY_KEY", raising=False)
    with serve_routes({"/v1/models": (200, LISTED)}) as web:
        check = check_endpoint(configure(f"{web.address}/v1", api_key_env="MY_KEY"))
    assert check.state == "failing"
    assert "the environment variable MY_KEY is not set" in check.found
    assert web.requests == []


def test_no_secret_is_shown_or_sent_elsewhere(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("MY_KEY", SECRET)
    with serve_routes({"/v1/models": (200, {"data": [{"id": SECRET}]})}) as other:
        location = {"Location": f"{other.address}/v1/models"}
        with serve_routes({"/v1/models": (302, {})}, headers=location) as web:
            check = check_endpoint(configure(f"{web.address}/v1", api_key_env="MY_KEY"))
    assert [key for _, key in other.requests] == [None]
    assert [key for _, key in web.requests] == [f"Bearer {SECRET}"]
    assert "it lists ***" in check.found


def test_an_invalid_address_fails() -> None:
    check = check_endpoint(configure("localhost:8000/v1"))
    assert check.state == "failing"
    assert "base_url is not an address" in check.found
