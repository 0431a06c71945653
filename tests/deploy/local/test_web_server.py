"""The web servers of the pages: both send the same headers, and nothing but pages."""

import http.client
import re
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import pytest

from deploy.local.web_server import BROWSER, BROWSER_POLICY, HEADERS, POLICY, PageHandler

NGINX = Path(__file__).parents[3] / "deploy" / "nginx.conf"


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    root = tmp_path_factory.mktemp("root")
    folder = root / "report"
    for path in (
        "index.html",
        "edition-1/index.html",
        ".index.html.1.next",
        "edition-1/.hidden",
        "empty/x.css",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"<p>{path}")
    (root / "warehouse.duckdb").write_text("secret")
    (folder / "out.txt").symlink_to(root / "warehouse.duckdb")
    (folder / "linked").symlink_to(root)
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(PageHandler, directory=str(folder))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


@pytest.mark.parametrize(
    ("method", "path", "status"),
    [
        ("GET", "/", 200),
        ("HEAD", "/", 200),
        ("GET", "/healthz", 200),
        ("GET", "/edition-1/", 200),
        ("GET", "/edition-1/index.html", 200),
        ("GET", "/edition-1", 301),
        ("GET", "/edition-1/samples/", 404),
        ("GET", "/edition-1/samples/data/0.js", 404),
        ("GET", "/samples/", 404),
        ("GET", "/empty/", 404),
        ("GET", "/missing", 404),
        ("GET", "/.index.html.1.next", 404),
        ("GET", "/edition-1/.hidden", 404),
        ("GET", "/edition-1/%2ehidden", 404),
        ("GET", "/../warehouse.duckdb", 404),
        ("GET", "/%2e%2e/warehouse.duckdb", 404),
        ("GET", "/out.txt", 404),
        ("GET", "/linked/warehouse.duckdb", 404),
        ("GET", "/\x00", 404),
        ("POST", "/", 501),
        ("DELETE", "/index.html", 501),
    ],
)
def test_only_pages_are_served_and_every_answer_has_the_headers(
    port: int, method: str, path: str, status: int
) -> None:
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection._validate_path = lambda url: None  # type: ignore[attr-defined]
    connection.request(method, path)
    answer = connection.getresponse()
    assert answer.status == status
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["Content-Security-Policy"] == (
        BROWSER_POLICY if path.startswith("/edition-1/samples/") else POLICY
    )
    assert b"secret" not in answer.read()
    connection.close()


def test_nginx_sends_the_same_headers_always() -> None:
    text = NGINX.read_text(encoding="utf-8")
    found = re.findall(r"add_header (\S+) (\"[^\"]*\"|\S+) always;", text)
    policy = {"Content-Security-Policy": "$content_security_policy"}
    assert {name: value.strip('"') for name, value in found} == HEADERS | policy
    assert text.count("add_header ") == len(HEADERS) + 1
    (policies,) = re.findall(r"map \$uri \$content_security_policy \{\n(.*?)\n    \}", text, re.DOTALL)
    assert [line.strip() for line in policies.splitlines()] == [
        f'default "{POLICY}";',
        f'~^{BROWSER.pattern} "{BROWSER_POLICY}";',
    ]
