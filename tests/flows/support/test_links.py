"""The addresses of links in the Prefect UI: on the web server of the installation, or elsewhere."""

from pathlib import Path

import pytest

from flows.support import artifacts
from pretexeval.config.file import Config
from pretexeval.config.installation_names import BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE

EDITION = "starter-2026-W47-1a2b3c4d"
SERVER = "http://127.0.0.1:8080"


@pytest.fixture
def links(monkeypatch: pytest.MonkeyPatch) -> dict[str, str]:
    """Kind of the artifact -> its address, as far as they were linked."""
    found: dict[str, str] = {}

    def link(address: str, *, link_text: str, key: str, description: str) -> None:
        assert link_text
        assert description
        found[key] = address

    monkeypatch.setattr(artifacts, "create_link_artifact", link)
    return found


def configure(root: Path) -> Config:
    return Config.model_validate({"storage": {"root": root, "shared": "s3://bucket/team"}})


def test_links_lead_to_the_web_server_that_serves_the_root(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, links: dict[str, str]
) -> None:
    monkeypatch.setenv(BASE_URL_VARIABLE, f"{SERVER}/")
    monkeypatch.setenv(SERVED_ROOT_VARIABLE, str(tmp_path))
    monkeypatch.chdir(tmp_path.parent)
    artifacts.link_results(configure(Path(tmp_path.name)), EDITION)
    assert links == {
        "dashboard": f"{SERVER}/{EDITION}/index.html",
        "parquet": f"{SERVER}/editions/{EDITION}/",
        "warehouse": f"{SERVER}/warehouse.duckdb",
    }
    artifacts.link_predictions(configure(tmp_path), EDITION, f"predictions/{EDITION}/m-1")
    assert links["parquet"] == f"{SERVER}/predictions/{EDITION}/m-1/"
    # The web server of another folder does not have them.
    monkeypatch.setenv(SERVED_ROOT_VARIABLE, str(tmp_path.parent))
    artifacts.link_results(configure(tmp_path), EDITION)
    assert links["dashboard"] == f"s3://bucket/team/report/{EDITION}/index.html"
