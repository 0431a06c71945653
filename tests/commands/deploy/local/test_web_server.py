"""The web servers of the pages: both send the same headers, and nothing but pages."""

import http.client
import os
import re
import shutil
import subprocess
import threading
from collections.abc import Iterator
from functools import partial
from http.server import ThreadingHTTPServer
from pathlib import Path

import httpx
import pytest

from commands.deploy.local.web_server import (
    BROWSER,
    BROWSER_POLICY,
    HEADERS,
    LISTED_FOLDERS,
    MISSING,
    POLICY,
    PageHandler,
)
from tests.support.fault_models import wait_until
from tests.support.processes import find_free_port

NGINX = Path(__file__).parents[4] / "commands" / "deploy" / "nginx.conf"


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    root = tmp_path_factory.mktemp("root")
    folder = root / "report"
    for path in (
        "index.html",
        "edition-1/index.html",
        ".index.html.1.next",
        "edition-1/.hidden",
        "empty/x.css",
        "../editions/e-1/samples/may%2Ftreat <b>.parquet",
        "../editions/e-1/.manifest.json.next",
        "../predictions/e-1/m-1/run.json",
        "../question_predictions/e-1/answer_only/m-1/run.json",
        "../anchor_predictions/e-0/2026-W47/m-1/run.json",
        "../warehouse.duckdb",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"<p>{path}")
    for path in ("prefect/client.env", "responses/m-1/model.json", "warehouse.duckdb.wal", ".publish.lock"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("secret")
    for place in (folder, root / "editions"):
        (place / "out.txt").symlink_to(root / "prefect" / "client.env")
        (place / "linked").symlink_to(root)
    return root


@pytest.fixture(scope="module")
def port(root: Path) -> Iterator[int]:
    with ThreadingHTTPServer(("127.0.0.1", 0), partial(PageHandler, directory=str(root))) as server:
        threading.Thread(target=server.serve_forever, daemon=True).start()
        yield server.server_port
        server.shutdown()


REQUESTS = pytest.mark.parametrize(
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
        ("GET", "/prefect/client.env", 404),
        ("GET", "/../prefect/client.env", 404),
        ("GET", "/%2e%2e/prefect/client.env", 404),
        ("GET", "/editions/../prefect/client.env", 404),
        ("GET", "/editions/%2e%2e/prefect/client.env", 404),
        ("GET", "/responses/m-1/model.json", 404),
        ("GET", "/warehouse.duckdb.wal", 404),
        ("GET", "/.publish.lock", 404),
        ("GET", "/out.txt", 404),
        ("GET", "/linked/prefect/client.env", 404),
        ("GET", "/editions/out.txt", 404),
        ("GET", "/editions/linked/", 404),
        ("GET", "/editions/linked/prefect/client.env", 404),
        ("GET", "/editions/e-1/.manifest.json.next", 404),
        ("GET", "/editions/", 200),
        ("GET", "/editions/e-1", 301),
        ("GET", "/editions/e-1/", 200),
        ("HEAD", "/editions/e-1/samples/", 200),
        ("GET", "/editions/e-1/samples/may%252Ftreat%20%3Cb%3E.parquet", 200),
        ("GET", "/editions/e-2/", 404),
        ("GET", "/predictions/e-1/m-1/", 200),
        ("GET", "/question_predictions/e-1/answer_only/m-1/run.json", 200),
        ("GET", "/anchor_predictions/e-0/2026-W47/m-1/run.json", 200),
        ("GET", "/warehouse.duckdb", 200),
        ("GET", "/\x00", 404),
        ("POST", "/", 501),
        ("DELETE", "/index.html", 501),
    ],
)


@REQUESTS
def test_only_pages_and_results_are_served_and_every_answer_has_the_headers(
    port: int, method: str, path: str, status: int
) -> None:
    answer = ask(port, method, path)
    assert answer.status == status
    require_headers(answer, path)


def ask(port: int, method: str, path: str) -> http.client.HTTPResponse:
    """Return the answer to a request, whose path is sent as it is."""
    connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
    connection._validate_path = lambda url: None  # type: ignore[attr-defined]
    connection.request(method, path)
    return connection.getresponse()


def require_headers(answer: http.client.HTTPResponse, path: str) -> None:
    assert {name: answer.headers[name] for name in HEADERS} == HEADERS
    assert answer.headers["Content-Security-Policy"] == (
        BROWSER_POLICY if path.startswith("/edition-1/samples/") else POLICY
    )
    assert b"secret" not in answer.read()


def test_list_of_a_folder_links_its_files_and_hides_what_is_being_written(port: int) -> None:
    address = f"http://127.0.0.1:{port}/editions/e-1/"
    assert ".next" not in httpx.get(address).text
    text = httpx.get(f"{address}samples/").text
    assert "may%2Ftreat &lt;b&gt;.parquet" in text
    (name,) = re.findall(r'href="(may[^"]*)"', text)
    assert httpx.get(f"{address}samples/{name}").text == "<p>../editions/e-1/samples/may%2Ftreat <b>.parquet"


def test_page_that_is_not_written_yet_is_a_page_that_says_so(port: int) -> None:
    answer = httpx.get(f"http://127.0.0.1:{port}/edition-2/index.html")
    assert (answer.status_code, answer.text) == (404, MISSING)
    assert "written when the edition is published" in answer.text


def test_nginx_serves_the_same_and_says_the_same_of_missing_pages() -> None:
    text = NGINX.read_text(encoding="utf-8")
    assert f"return 404 '{MISSING}';" in text
    assert f"location ~ ^/({'|'.join(LISTED_FOLDERS)})/ {{" in text
    assert "location = /warehouse.duckdb {" in text


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


@pytest.fixture(scope="module")
def nginx_port(root: Path, tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """Run nginx with the configuration of Compose, on a free port and for this data folder."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no nginx here (Debian: apt-get install nginx-light)")
    folder, port = tmp_path_factory.mktemp("nginx"), find_free_port()
    text = NGINX.read_text(encoding="utf-8").replace("listen 8080;", f"listen 127.0.0.1:{port};")
    (folder / "nginx.conf").write_text(text.replace("/tmp/", f"{folder}/").replace("/data", str(root)))
    # Started by root, its workers would be another user, who cannot read the folder.
    settings = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    arguments = [program, "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", settings]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)
    try:
        wait_until(lambda: _answers(port) or process.poll() is not None, "nginx answers")
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=60)


def _answers(port: int) -> bool:
    try:
        return httpx.get(f"http://127.0.0.1:{port}/healthz", timeout=5).text == "up\n"
    except httpx.HTTPError:
        return False


@REQUESTS
def test_nginx_serves_the_same(nginx_port: int, method: str, path: str, status: int) -> None:
    answer = ask(nginx_port, method, path)
    # It has other reasons to refuse a request.
    assert answer.status == status if status < 400 else 400 <= answer.status < 500
    if answer.status not in (400, 405):
        require_headers(answer, path)


def test_nginx_says_that_a_page_is_not_written_yet(nginx_port: int) -> None:
    answer = httpx.get(f"http://127.0.0.1:{nginx_port}/edition-2/index.html")
    assert (answer.status_code, answer.text) == (404, MISSING)
    parquet = "/editions/e-1/samples/may%252Ftreat%20%3Cb%3E.parquet"
    assert "may%2Ftreat" in httpx.get(f"http://127.0.0.1:{nginx_port}{parquet}").text
