import socket
from importlib.metadata import version

import pytest

from preflight.server_checks import check_server, require_server
from primitives.errors import InputError
from tests.support.web_server import Route, serve_routes

OURS = version("prefect")


def make_pool(role: str, **settings: object) -> dict[str, object]:
    pool = {"name": f"pretexeval-{role}", "type": "process", "concurrency_limit": 1, "status": "READY"}
    return pool | settings


def make_routes(*pools: dict[str, object], server: str = OURS) -> dict[str, Route]:
    return {
        "/api/health": (200, True),
        "/api/admin/version": (200, server),
        "/api/work_pools/filter": (200, list(pools)),
    }


@pytest.fixture(autouse=True)
def _no_settings(monkeypatch: pytest.MonkeyPatch) -> None:
    names = ("PREFECT_API_URL", "PREFECT_API_KEY", "PREFECT_API_AUTH_STRING", "PRETEXEVAL_INSTALLATION")
    for name in names:
        monkeypatch.delenv(name, raising=False)


def test_no_server_is_fine() -> None:
    (check,) = check_server(0)
    assert check.state == "ok"
    assert "flows run in process" in check.found


def test_a_server_with_both_pools(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("PREFECT_API_AUTH_STRING", "admin:word")
    with serve_routes(make_routes(make_pool("cpu", concurrency_limit=None), make_pool("gpu"))) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        checks = check_server(0)
    assert [(c.name, c.state) for c in checks] == [
        ("Prefect", "ok"),
        ("pool pretexeval-cpu", "ok"),
        ("pool pretexeval-gpu", "ok"),
    ]
    assert [c.found for c in checks[1:]] == ["process, no limit", "process, 1 at once"]
    assert {key for _, key in web.requests} == {"Basic YWRtaW46d29yZA=="}


def test_the_pools_that_models_name_are_checked(monkeypatch: pytest.MonkeyPatch) -> None:
    pools = [make_pool("cpu"), make_pool("gpu"), make_pool("gpu-4x80", status="NOT_READY")]
    with serve_routes(make_routes(*pools)) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        idle, missing = check_server(0, ["gpu", "gpu-4x80", "gpu-8x80"])[-2:]
    assert (idle.name, idle.state) == ("pool pretexeval-gpu-4x80", "warning")
    assert idle.found == "process, 1 at once, no worker"
    assert (missing.name, missing.remedy) == ("pool pretexeval-gpu-8x80", "pretexeval deploy CONFIG")


@pytest.mark.parametrize(
    ("pool", "words", "remedy"),
    [
        (make_pool("cpu"), "does not exist", "pretexeval deploy"),
        (make_pool("gpu", is_paused=True), "paused", "prefect work-pool resume pretexeval-gpu"),
        (
            make_pool("gpu", status="NOT_READY"),
            "no worker",
            "worker start --pool pretexeval-gpu",
        ),
        (
            make_pool("gpu", concurrency_limit=None),
            "no limit",
            "limit pretexeval-gpu 2",
        ),
        (
            make_pool("gpu", concurrency_limit=3),
            "3 at once",
            "limit pretexeval-gpu 2",
        ),
    ],
)
def test_a_pool_with_a_problem_is_a_warning(
    monkeypatch: pytest.MonkeyPatch, pool: dict[str, object], words: str, remedy: str
) -> None:
    with serve_routes(make_routes(pool)) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
        gpu = check_server(2)[-1]
    assert (gpu.name, gpu.state) == ("pool pretexeval-gpu", "warning")
    assert words in gpu.found
    assert remedy in gpu.remedy


def test_a_server_of_another_version_is_a_warning(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_routes(make_routes(server="2.0.0")) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        check = check_server(0)[0]
    assert check.state == "warning"
    assert "version 2.0.0" in check.found
    assert OURS in check.remedy


def test_a_server_that_is_down_or_refuses_access_fails(monkeypatch: pytest.MonkeyPatch) -> None:
    with socket.socket() as bound:
        bound.bind(("127.0.0.1", 0))
        monkeypatch.setenv("PREFECT_API_URL", f"http://me:word@127.0.0.1:{bound.getsockname()[1]}/api")
        (gone,) = check_server(0)
    assert gone.state == "failing"
    assert "Connection refused" in gone.found
    assert "word" not in gone.found
    with serve_routes({"/api/health": (200, True), "/api/admin/version": (401, {})}) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        (closed,) = check_server(0)
        monkeypatch.setenv("PREFECT_API_URL", web.address)
        (elsewhere,) = check_server(0)
    assert "refuses access (HTTP 401)" in closed.found
    assert "PREFECT_API_AUTH_STRING" in closed.remedy
    assert "HTTP 404" in elsewhere.found


@pytest.mark.parametrize(
    ("routes", "words"),
    [
        ({}, "does not answer"),
        ({"/api/health": (200, {"status": "ok"})}, "is not a Prefect server"),
        ({"/api/health": (200, "<!doctype html>")}, "is not a Prefect server"),
        ({"/api/health": (503, None)}, "HTTP 503"),
        ({"/api/health": (200, True), "/api/admin/version": (401, None)}, "refuses access"),
    ],
)
def test_another_service_at_the_address_is_one_message(
    monkeypatch: pytest.MonkeyPatch, routes: dict[str, Route], words: str
) -> None:
    with serve_routes(routes) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api")
        with pytest.raises(InputError, match=f"PREFECT_API_URL: .*{words}.*;"):
            require_server()
        assert check_server(0)[0].state == "failing"
    for address in ("http://127.0.0.1:9/api", "nonsense", "http://[::1", "http://127.0.0.1:port/api"):
        monkeypatch.setenv("PREFECT_API_URL", address)
        with pytest.raises(InputError, match="PREFECT_API_URL"):
            require_server()


def test_a_prefect_server_is_accepted(monkeypatch: pytest.MonkeyPatch) -> None:
    with serve_routes(make_routes()) as web:
        monkeypatch.setenv("PREFECT_API_URL", f"{web.address}/api/")
        require_server()
