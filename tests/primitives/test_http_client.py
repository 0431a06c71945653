import socket

import pytest

from primitives import http_client
from primitives.http_client import HttpReply, fetch, fetch_local
from tests.support.web_server import serve_routes

SECRET = "sk-very-secret"


def test_a_reply_holds_status_and_json() -> None:
    with serve_routes({"/a": (200, {"b": [1]}), "/refused": (401, {"b": 2})}) as web:
        found, refused, posted = (
            fetch(f"{web.address}/a"),
            fetch(f"{web.address}/refused"),
            fetch(f"{web.address}/a", data={"c": 3}),
        )
    assert (found.is_success, found.read_json()) == (True, {"b": [1]})
    assert posted == found
    assert refused == HttpReply(401)
    assert not refused.is_success
    assert refused.read_json() is None


def test_a_long_reply_is_cut(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(http_client, "MAX_BYTES", 10)
    with serve_routes({"/a": (200, "x" * 100)}) as web:
        reply = fetch(f"{web.address}/a")
    assert len(reply.content) == 10
    assert reply.read_json() is None


def test_user_and_password_of_the_address_become_the_header() -> None:
    with serve_routes({"/a": (200, {})}) as web:
        fetch(web.address.replace("http://", "http://me:p%40ss@") + "/a", "Bearer other")
    assert web.requests == [("/a", "Basic bWU6cEBzcw==")]


def test_authorization_is_not_sent_to_the_target_of_a_redirect() -> None:
    with (
        serve_routes({"/a": (200, {})}) as target,
        serve_routes({"/a": (302, {})}, headers={"Location": f"{target.address}/a"}) as web,
    ):
        assert fetch(f"{web.address}/a", f"Bearer {SECRET}").is_success
    assert web.requests == [("/a", f"Bearer {SECRET}")]
    assert target.requests == [("/a", None)]


@pytest.mark.parametrize(
    ("address", "reason"),
    [
        (f"http://me:{SECRET}@127.0.0.1:{{port}}/a", "Connection refused"),
        (f"http://127.0.0.1:1{SECRET}/a", "InvalidURL"),
        (f"http://127.0.0.1:{{port}}/a b{SECRET}", "InvalidURL"),
        (f"{SECRET}://a", "not an HTTP address"),
        (SECRET, "ValueError"),
    ],
)
def test_a_failure_is_a_reply_without_secrets(address: str, reason: str) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        reply = fetch(address.format(port=bound.getsockname()[1]))
    assert reply == HttpReply(None, error=reason)


def test_a_server_on_loopback_is_asked_past_the_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    for name in ("no_proxy", "NO_PROXY"):
        monkeypatch.delenv(name, raising=False)
    with serve_routes({"/a": (200, {})}) as web, serve_routes({}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address)
        assert fetch_local(f"{web.address}/a").is_success
        assert fetch(f"{web.address}/a").status == 404
    assert web.requests == [("/a", None)]
    assert proxy.requests == [(f"{web.address}/a", None)]
