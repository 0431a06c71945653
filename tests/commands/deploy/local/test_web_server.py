"""The web servers of the pages: both send the same headers, and nothing but pages."""

import http.client
import os
import re
import shutil
import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from functools import partial
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
from pretexeval.primitives.http_client import fetch_local
from tests.support.fault_models import wait_until
from tests.support.processes import find_free_port
from tests.support.web_server import serve

NGINX = Path(__file__).parents[4] / "commands" / "deploy" / "nginx.conf"
STATUS = {
    "/": 200,
    "/healthz": 200,
    "/edition-1/": 200,
    "/edition-1": 301,
    "/edition-1/samples/": 404,
    "/empty/": 404,
    "/.index.html.1.next": 404,
    "/edition-1/%2ehidden": 404,
    "/prefect/client.env": 404,
    "/%2e%2e/prefect/client.env": 404,
    "/editions/%2e%2e/prefect/client.env": 404,
    "/responses/m-1/model.json": 404,
    "/warehouse.duckdb.wal": 404,
    "/out.txt": 404,
    "/linked/prefect/client.env": 404,
    "/editions/out.txt": 404,
    "/editions/linked/prefect/client.env": 404,
    "/editions/e-1/.manifest.json.next": 404,
    "/editions/": 200,
    "/editions/e-1": 301,
    "/editions/e-1/samples/may%252Ftreat%20%3Cb%3E.parquet": 200,
    "/editions/e-2/": 404,
    "/predictions/e-1/m-1/": 200,
    "/anchor_predictions/e-0/2026-W47/m-1/run.json": 200,
    "/warehouse.duckdb": 200,
    "/\x00": 404,
}


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
        "../anchor_predictions/e-0/2026-W47/m-1/run.json",
        "../warehouse.duckdb",
    ):
        (folder / path).parent.mkdir(parents=True, exist_ok=True)
        (folder / path).write_text(f"<p>{path}")
    for path in ("prefect/client.env", "responses/m-1/model.json", "warehouse.duckdb.wal"):
        (root / path).parent.mkdir(parents=True, exist_ok=True)
        (root / path).write_text("secret")
    for place in (folder, root / "editions"):
        (place / "out.txt").symlink_to(root / "prefect" / "client.env")
        (place / "linked").symlink_to(root)
    return root


@contextmanager
def run_python(root: Path, _: Path) -> Iterator[int]:
    with serve(partial(PageHandler, directory=str(root))) as address:
        yield int(address.rpartition(":")[2])


@contextmanager
def run_nginx(root: Path, folder: Path) -> Iterator[int]:
    """Run nginx with the configuration of Compose, on a free port and for this data folder."""
    program = shutil.which("nginx", path=f"{os.environ['PATH']}:/usr/sbin")
    if program is None:
        pytest.skip("no nginx here (Debian: apt-get install nginx-light)")
    port = find_free_port()
    text = NGINX.read_text(encoding="utf-8").replace("listen 8080;", f"listen 127.0.0.1:{port};")
    (folder / "nginx.conf").write_text(text.replace("/tmp/", f"{folder}/").replace("/data", str(root)))
    # Started by root, its workers would be another user, who cannot read the folder.
    settings = "daemon off;" + (" user root;" if os.geteuid() == 0 else "")
    arguments = [program, "-e", "stderr", "-c", str(folder / "nginx.conf"), "-g", settings]
    process = subprocess.Popen(arguments, stderr=subprocess.PIPE)

    def answers() -> bool:
        return fetch_local(f"http://127.0.0.1:{port}/healthz").is_success or process.poll() is not None

    try:
        wait_until(answers, "nginx answers")
        assert process.poll() is None, process.stderr and process.stderr.read()
        yield port
    finally:
        process.terminate()
        process.communicate(timeout=60)


@pytest.fixture(scope="module", params=[run_python, run_nginx])
def port(
    request: pytest.FixtureRequest, root: Path, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[int]:
    with request.param(root, tmp_path_factory.mktemp("server")) as port:
        yield port


def test_only_pages_and_results_are_served_and_every_answer_has_the_headers(port: int) -> None:
    for path, status in STATUS.items():
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        # The path is sent as it is.
        connection._validate_path = lambda url: None  # type: ignore[attr-defined]
        connection.request("GET", path)
        answer = connection.getresponse()
        content = answer.read()
        assert b"secret" not in content, path
        # nginx has other reasons to refuse a request.
        assert answer.status == status if status < 400 else 400 <= answer.status < 500, path
        if answer.status != 400:
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
            policy = BROWSER_POLICY if path.startswith("/edition-1/samples/") else POLICY
            assert answer.headers["Content-Security-Policy"] == policy, path
        if answer.status == 404 and path != "/\x00":
            assert content.decode() == MISSING, path


def test_list_of_a_folder_links_its_files_and_hides_what_is_being_written(port: int) -> None:
    address = f"http://127.0.0.1:{port}/editions/e-1/"
    assert ".next" not in httpx.get(address).text
    text = httpx.get(f"{address}samples/").text
    (name,) = re.findall(r'href="(may[^"]*)"', text)
    assert httpx.get(f"{address}samples/{name}").text == "<p>../editions/e-1/samples/may%2Ftreat <b>.parquet"
    assert "<b>" not in text


def test_the_configuration_of_nginx_says_the_same() -> None:
    """Many machines have no nginx."""
    text = NGINX.read_text(encoding="utf-8")
    assert f"return 404 '{MISSING}';" in text
    assert f"location ~ ^/({'|'.join(LISTED_FOLDERS)})/ {{" in text
    found = re.findall(r"add_header (\S+) (\"[^\"]*\"|\S+) always;", text)
    policy = {"Content-Security-Policy": "$content_security_policy"}
    assert {name: value.strip('"') for name, value in found} == HEADERS | policy
    assert text.count("add_header ") == len(HEADERS) + 1
    assert f'default "{POLICY}";' in text
    assert f'~^{BROWSER.pattern} "{BROWSER_POLICY}";' in text
