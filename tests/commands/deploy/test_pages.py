"""The web server of the pages: it sends its headers, and nothing but pages and results."""

import http.client
import re
from collections.abc import Iterator
from pathlib import Path

import httpx
import pytest

from commands.deploy.pages import BROWSER_POLICY, HEADERS, MISSING, POLICY, Results
from tests.support.web_server import serve_app

STATUSES = Path(__file__).with_name("statuses.tsv")


@pytest.fixture(scope="module")
def port(tmp_path_factory: pytest.TempPathFactory) -> Iterator[int]:
    """The port of a server for a root with pages, results and secrets."""
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
    with serve_app(Results(directory=root, html=True)) as address:
        yield int(address.rpartition(":")[2])


def test_only_pages_and_results_are_served_and_every_answer_has_the_headers(port: int) -> None:
    lines = STATUSES.read_text(encoding="utf-8").splitlines()
    for status, path in (*((int(line[:3]), line[4:]) for line in lines), (400, "/\x00")):
        connection = http.client.HTTPConnection("127.0.0.1", port, timeout=20)
        # The path is sent as it is.
        connection._validate_path = lambda url: None  # type: ignore[attr-defined]
        connection.request("POST" if status == 405 else "GET", path)
        answer = connection.getresponse()
        content = answer.read()
        assert b"secret" not in content, path
        assert answer.status == status, path
        if path != "/\x00":
            assert {name: answer.headers[name] for name in HEADERS} == HEADERS, path
            policy = BROWSER_POLICY if path.startswith("/edition-1/samples/") else POLICY
            assert answer.headers["Content-Security-Policy"] == policy, path
        if answer.status == 404:
            assert content.decode() == MISSING, path


def test_list_of_a_folder_links_its_files_and_hides_what_is_being_written(port: int) -> None:
    address = f"http://127.0.0.1:{port}/editions/e-1/"
    assert ".next" not in httpx.get(address).text
    text = httpx.get(f"{address}samples/").text
    (name,) = re.findall(r'href="(may[^"]*)"', text)
    assert httpx.get(f"{address}samples/{name}").text == "<p>../editions/e-1/samples/may%2Ftreat <b>.parquet"
    assert "<b>" not in text
