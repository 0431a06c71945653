"""The client for health checks, and proxies, which are never used for this machine."""

import os
import socket
import urllib.request

import httpx
import pytest

from pretexeval.primitives.http_client import HttpReply, bypass_proxies, fetch
from tests.support.web_server import serve_routes

SECRET = "sk-very-secret"
VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *map(str.upper, VARIABLES)):
        # With a value first, so that the variable is removed after the test whoever sets it.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


def test_a_reply_holds_status_and_json() -> None:
    with serve_routes({"/a": (200, {"b": [1]}), "/refused": (401, {"b": 2})}) as web:
        found, refused = fetch(f"{web.address}/a"), fetch(f"{web.address}/refused")
        assert (found.is_success, found.read_json()) == (True, {"b": [1]})
        assert fetch(f"{web.address}/a", data={"c": 3}) == found
        assert (refused, refused.is_success, refused.read_json()) == (HttpReply(401), False, None)


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


def test_a_failure_is_a_reply_without_secrets() -> None:
    for address, reason in (
        (f"http://me:{SECRET}@127.0.0.1:{{port}}/a", "Connection refused"),
        (f"http://127.0.0.1:1{SECRET}/a", "not an HTTP address"),
        (f"{SECRET}://a", "not an HTTP address"),
        (SECRET, "not an HTTP address"),
    ):
        with socket.socket() as bound:
            bound.bind(("127.0.0.1", 0))
            reply = fetch(address.format(port=bound.getsockname()[1]))
        assert reply == HttpReply(None, error=reason), address


def test_a_server_on_loopback_is_asked_past_the_proxies_of_the_environment(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    with serve_routes({"/a": (200, {})}) as web, serve_routes({}) as proxy:
        monkeypatch.setenv("http_proxy", proxy.address)
        assert fetch(f"{web.address}/a", is_local=True).is_success
        assert fetch(f"{web.address}/a").status == 404
    assert web.requests == [("/a", None)]
    assert proxy.requests == [(f"{web.address}/a", None)]


@pytest.mark.parametrize("name", ["http_proxy", "ALL_PROXY"])
def test_loopback_is_reached_without_the_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intern.example, 127.0.0.1")
    assert bypass_proxies() == []
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"] == "intern.example,127.0.0.1,localhost,::1"
    assert urllib.request.proxy_bypass("127.0.0.1")
    with httpx.Client() as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            assert client._transport_for_url(httpx.URL(f"http://{host}:4200/api")) is client._transport
    # No proxy for any host stays so.
    monkeypatch.setenv("no_proxy", "*")
    assert bypass_proxies() == []
    assert urllib.request.proxy_bypass("example.org")


@pytest.mark.parametrize(
    "address", ["socks5://127.0.0.1:9", "socks4://u:word@h:1", "http://h:port", "http://h:0", "ftp://h"]
)
def test_a_proxy_that_no_client_can_use_is_removed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    (warning,) = bypass_proxies()
    assert "ALL_PROXY" in warning
    assert "word" not in warning
    assert "ALL_PROXY" not in os.environ
