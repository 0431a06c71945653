import os
import urllib.request

import pytest

from primitives.proxies import bypass_proxies

VARIABLES = ("http_proxy", "https_proxy", "all_proxy", "no_proxy")


@pytest.fixture(autouse=True)
def no_variables(monkeypatch: pytest.MonkeyPatch) -> None:
    for name in (*VARIABLES, *map(str.upper, VARIABLES)):
        # With a value first, so that the variable is removed after the test whoever sets it.
        monkeypatch.setenv(name, "")
        monkeypatch.delenv(name)


@pytest.mark.parametrize("name", [*VARIABLES[:3], *map(str.upper, VARIABLES[:3])])
def test_loopback_is_reached_without_the_proxy(name: str, monkeypatch: pytest.MonkeyPatch) -> None:
    import httpx

    monkeypatch.setenv(name, "http://127.0.0.1:9")
    monkeypatch.setenv("NO_PROXY", "intern.example, 127.0.0.1")
    assert bypass_proxies() == []
    assert os.environ["no_proxy"] == os.environ["NO_PROXY"] == "intern.example,127.0.0.1,localhost,::1"
    assert urllib.request.proxy_bypass("127.0.0.1")
    with httpx.Client() as client:
        for host in ("127.0.0.1", "localhost", "[::1]"):
            assert client._transport_for_url(httpx.URL(f"http://{host}:4200/api")) is client._transport


@pytest.mark.parametrize(
    "address", ["socks5://127.0.0.1:9", "socks4://u:word@h:1", "http://h:port", "http://h:0", "ftp://h"]
)
def test_a_proxy_that_no_client_can_use_is_removed(address: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("ALL_PROXY", address)
    (warning,) = bypass_proxies()
    assert "ALL_PROXY" in warning
    assert "word" not in warning
    assert "ALL_PROXY" not in os.environ


def test_no_proxy_for_any_host_stays_so(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("http_proxy", "http://127.0.0.1:9")
    monkeypatch.setenv("no_proxy", "*")
    assert bypass_proxies() == []
    assert urllib.request.proxy_bypass("example.org")
    assert urllib.request.proxy_bypass("127.0.0.1")


def test_without_a_proxy_the_environment_stays(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HTTP_PROXY", "")
    assert bypass_proxies() == []
    assert "no_proxy" not in os.environ
