"""The scheduled flow in a full installation: a server on PostgreSQL, two pools, workers, a web server."""

import json
import re
import time
from collections.abc import Iterator
from datetime import datetime
from pathlib import Path
from zoneinfo import ZoneInfo

import httpx
import pytest

from pretexeval.config.schedule import label_period
from tests.flows.deployed import ENDS, Deployed
from tests.support.command import REPOSITORY, run_command, write_config
from tests.support.database_folder import NEEDS_POSTGRES
from tests.support.endpoint import Endpoint, EndpointReply, build_reply, serve_endpoint
from tests.support.fault_models import wait_until
from tests.support.installation import (
    EMIT_SCORE_CHANGES,
    Installation,
    run_python,
    start_installation,
    write_falling_score,
)
from tests.support.prefect_server import Row
from warehouse.query import read_rows

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

NAME = "reference-facets-small"
RELATION = "therapeutic_drugs"
# Per relation, of the models behind an endpoint; 16 samples each.
N_PAIRS = 4


class Server(Deployed):
    def list_artifacts(self, run: Row) -> dict[str, Row]:
        """Return the artifacts of a run by their type."""
        of_run = {"artifacts": {"flow_run_id": {"any_": [run["id"]]}}}
        rows: list[Row] = self.ask("POST", "artifacts/filter", of_run)
        return {row["type"]: row for row in rows if row["type"]}

    def wait_for_cron(self, deployment: str) -> Row:
        """Return the first run of `regenerate` that the scheduler starts, and switch its schedule off.

        It is switched off as soon as a worker takes the run, so that no second one follows.
        """
        named = self.ask("GET", f"deployments/name/regenerate/{deployment}")["id"]
        of_deployment = {"deployments": {"id": {"any_": [named]}}, "sort": "EXPECTED_START_TIME_ASC"}

        def list_scheduled() -> list[Row]:
            rows: list[Row] = self.ask("POST", "flow_runs/filter", of_deployment)
            return rows

        wait_until(list_scheduled, f"the server has scheduled a run of {deployment}")
        begun = ("PENDING", "RUNNING", *ENDS)
        (run,) = self.wait_for_runs("it has begun", [list_scheduled()[0]["id"]], begun)
        self.ask("POST", f"deployments/{named}/pause_deployment")
        return run


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deployed") / "data"


@pytest.fixture(scope="module")
def running(root: Path) -> Iterator[Installation]:
    with start_installation(root) as processes:
        config = write_config(
            root.parent / "config.toml",
            root,
            knowledge={"relations": [RELATION]},
            questions={"settings": ["answer_only"]},
            models=[{"name": NAME, "model": str(REPOSITORY / "models" / NAME), "dtype": "bfloat16"}],
        )
        for _ in range(2):
            run_command("deploy", config, folder=REPOSITORY, environment=processes.environment).require()
        yield processes


@pytest.fixture(scope="module")
def server(root: Path, running: Installation) -> Server:
    return Server(root, running)


@pytest.fixture(scope="module")
def hook(running: Installation) -> Iterator[Endpoint]:
    """Return a web hook that gets the notifications of all runs."""
    with serve_endpoint(lambda _, __: EndpointReply(body={})) as receiver:
        running.notify(receiver.base_url)
        yield receiver


@pytest.fixture(scope="module")
def regenerated(server: Server, hook: Endpoint) -> Row:
    return server.run("regenerate", deployment="config")


def test_every_run_has_one_page_and_its_links_lead_to_what_they_name(
    regenerated: Row, server: Server, running: Installation, root: Path
) -> None:
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]
    page = server.list_artifacts(regenerated)["markdown"]["data"]
    assert page.startswith("- period ")
    assert re.search(rf"^1 +{NAME} ", page, re.MULTILINE)
    for stage in ("triplets", "variants", "statements", "samples"):
        built = server.list_artifacts(server.list_runs("build-test-set")[0])
        assert f"# Stage {stage} passed" in built["markdown"]["data"]
    assert {"markdown", "progress"} <= set(server.list_artifacts(server.list_runs("evaluate-model")[0]))

    artifacts = server.ask("POST", "artifacts/filter", {"limit": 200})
    pages = [row["data"] for row in artifacts if row["type"] == "markdown"]
    # A report of data quality holds brackets too, in patterns.
    links = {link for text in pages for link in re.findall(r"^- \[.*\]\((.*)\)$", text, re.MULTILINE)}
    assert len(links) >= 4
    assert all(link.startswith(running.report_url) for link in links)
    found = {link: httpx.get(link) for link in sorted(links)}
    assert {link: answer.status_code for link, answer in found.items()} == dict.fromkeys(links, 200)
    (edition,) = (root / "editions").iterdir()
    (folder,) = [link for link in links if link.endswith(f"/editions/{edition.name}/")]
    listings = [link for link in links if link.endswith(("/", ".html"))]
    assert [link for link in listings if "href=" not in found[link].text] == []
    assert "samples/" in found[folder].text
    assert httpx.get(f"{folder}samples/{RELATION}.parquet").content[:4] == b"PAR1"
    missing = httpx.get(f"{running.report_url}{edition.name}0/index.html")
    assert missing.status_code == 404
    assert "written when the edition is published" in missing.text


def test_only_score_changes_and_runs_of_the_schedule_are_notified(
    regenerated: Row, hook: Endpoint, running: Installation, server: Server, root: Path, tmp_path: Path
) -> None:
    """Runs that a person started, or that were killed and retried, are not: test_installation.py."""
    config = json.dumps({"storage": {"root": str(root)}})
    assert server.run("publish", config=config, edition_id="nowhere")["state_type"] == "FAILED"
    fallen = str(write_falling_score(tmp_path))
    for _ in range(2):
        run_python(running, EMIT_SCORE_CHANGES, fallen, "starter-2026-W48-00000001")
    wait_until(lambda: hook.requests, "the note of the score")
    time.sleep(3)
    (note,) = [note for *_, note in hook.requests]
    assert note["subject"] == "Student moved by -100.0 points"
    assert "100.0 % before, 0.0 % now" in note["body"]


def test_cron_starts_a_run_that_asks_anchors_and_its_edition(
    server: Server, running: Installation, root: Path
) -> None:
    n_anchors, zone = 2, "Europe/Berlin"
    with serve_endpoint(lambda _, __: build_reply(" True")) as endpoint:
        table = {"engine": "openai", "base_url": endpoint.base_url, "pairs_per_relation": N_PAIRS}
        config = write_config(
            root.parent / "anchored.toml",
            root,
            knowledge={"relations": [RELATION]},
            models=[{"name": "anchored", "model": "anchored", **table}],
            anchors={"n_pairs": n_anchors},
            schedule={"cron": "* * * * *", "timezone": zone},
        )
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        begun = server.wait_for_cron("anchored")
        (done,) = server.wait_for_runs("it has ended", [begun["id"]])
        assert done["state_type"] == "COMPLETED", done["state"]["message"]
        assert done["auto_scheduled"]
        assert not done["parameters"].get("moment")
        assert len(endpoint.requests) == 16 * (N_PAIRS + n_anchors)
    (asked,) = read_rows(root, "select period, n_asked from runs where period is not null")
    planned = datetime.fromisoformat(done["expected_start_time"]).astimezone(ZoneInfo(zone))
    assert (planned.second, planned.microsecond) == (0, 0)
    assert asked == {"period": label_period(planned.date(), "week"), "n_asked": 16 * n_anchors}
    assert "anchored" in {row["model"] for row in read_rows(root, "from leaderboard")}
