"""The scheduled flow in a full installation: a server on PostgreSQL, two pools, workers, a web server."""

import json
import re
import shutil
import subprocess
import sys
import time
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

import httpx
import pytest

from commands.deploy.cards import GpuWorker
from commands.deploy.local.installation import Installation, start_installation
from pretexeval.config.schedule import label_period
from tests.support.command import REPOSITORY, read_stamps, run_command, write_config
from tests.support.data_folder import query_rows
from tests.support.database_folder import NEEDS_POSTGRES, open_database_folder
from tests.support.endpoint import Body, Endpoint, EndpointReply, build_error, build_reply, serve_endpoint
from tests.support.fault_models import wait_until
from tests.support.installation import (
    EMIT_SCORE_CHANGES,
    MAKE_BLOCK,
    kill_run,
    run_python,
    write_falling_score,
)

pytestmark = [pytest.mark.long, NEEDS_POSTGRES]

NAMES = ("reference-facets-small",)
RELATION = "therapeutic_drugs"
# In Berlin, this is half past midnight of the next day.
MOMENT, DAY = "2026-11-21T23:30:00Z", "2026-11-22"
# Per relation, of the models behind an endpoint; 16 samples each.
N_PAIRS = 4
ENDED = ("COMPLETED", "FAILED", "CANCELLED")
Row = dict[str, Any]


class Server:
    """A client of Prefect's server."""

    def __init__(self, running: Installation) -> None:
        password = running.environment["PREFECT_API_AUTH_STRING"]
        name, _, word = password.partition(":")
        self.client = httpx.Client(base_url=running.api_url, timeout=30, auth=(name, word))

    def filter(self, kind: str, **filters: object) -> list[Row]:
        rows: list[Row] = self.client.post(f"/{kind}/filter", json=filters).raise_for_status().json()
        return rows

    def list_runs(self, flow: str) -> list[Row]:
        return self.filter("flow_runs", flows={"name": {"any_": [flow]}}, sort="START_TIME_ASC")

    def list_artifacts(self, run: Row) -> dict[str, Row]:
        """Return the artifacts of a run by their key, or by their type if they have no key.

        The keys end in the name of the configuration, which is left out here.
        """
        rows = self.filter("artifacts", artifacts={"flow_run_id": {"any_": [run["id"]]}})
        name = "-" + Path(run["parameters"]["config_file"]).stem
        assert all(row["key"].endswith(name) and row["description"] for row in rows if row["key"])
        return {str(row["key"] or row["type"]).removesuffix(name): row for row in rows}

    def start(self, name: str, deployment: str | None = None, **parameters: object) -> str:
        """Create a run of a deployment of the flow with that name, and return the id of the run."""
        # The deployment of `regenerate` is named after the configuration too.
        named = deployment or ("pretexeval.config" if name == "regenerate" else "pretexeval")
        found = self.client.get(f"/deployments/name/{name}/{named}").raise_for_status().json()
        path = f"/deployments/{found['id']}/create_flow_run"
        run_id: str = self.client.post(path, json={"parameters": parameters}).raise_for_status().json()["id"]
        return run_id

    def wait(self, run_id: str, states: tuple[str, ...], timeout_s: float = 300) -> Row:
        """Wait until the run is in one of the states, and return it."""
        deadline = time.monotonic() + timeout_s
        while time.monotonic() < deadline:
            run: Row = self.client.get(f"/flow_runs/{run_id}").raise_for_status().json()
            if run["state_type"] in states:
                return run
            time.sleep(0.5)
        raise AssertionError(f"{run['name']} is {run['state_name']} after {timeout_s:g} s")

    def wait_for_cron(self, deployment: str) -> Row:
        """Return the first run of `regenerate` that the scheduler starts, and switch its schedule off.

        It is switched off as soon as a worker takes the run, so that no second one follows.
        """
        path = f"/deployments/name/regenerate/{deployment}"
        named = self.client.get(path).raise_for_status().json()["id"]
        deadline = time.monotonic() + 300
        scheduled: list[Row] = []
        while not scheduled and time.monotonic() < deadline:
            scheduled = self.filter(
                "flow_runs", deployments={"id": {"any_": [named]}}, sort="EXPECTED_START_TIME_ASC"
            )
            time.sleep(0.5)
        assert scheduled, f"the server has scheduled no run of {deployment}"
        begun = self.wait(scheduled[0]["id"], ("PENDING", "RUNNING", *ENDED, "CRASHED"))
        self.client.post(f"/deployments/{named}/pause_deployment").raise_for_status()
        return begun

    def run(self, name: str, timeout_s: float = 300, **parameters: Any) -> Row:  # noqa: ANN401 - of any flow
        """Create a run as `start` does, and return the run when it has ended."""
        return self.wait(self.start(name, **parameters), (*ENDED, "CRASHED"), timeout_s)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    return tmp_path_factory.mktemp("deployed") / "data"


@pytest.fixture(scope="module")
def running(root: Path) -> Iterator[Installation]:
    with (
        open_database_folder() as database,
        start_installation(
            root, gpu_workers=[GpuWorker()] * 2, database=database, folder=REPOSITORY
        ) as processes,
    ):
        models = [
            {"name": name, "model": str(REPOSITORY / "models" / name), "dtype": "bfloat16"} for name in NAMES
        ]
        config = write_config(
            root.parent / "config.toml",
            root,
            knowledge={"relations": [RELATION]},
            questions={"settings": ["answer_only"]},
            models=models,
        )
        for _ in range(2):
            run_command("deploy", config, folder=REPOSITORY, environment=processes.environment).require()
        yield processes


@pytest.fixture(scope="module")
def server(running: Installation) -> Server:
    return Server(running)


@pytest.fixture(scope="module")
def hook(running: Installation, tmp_path_factory: pytest.TempPathFactory) -> Iterator[Endpoint]:
    """Return a web hook that gets the notifications of all runs."""
    with serve_endpoint(lambda _, __: EndpointReply(body={})) as receiver:
        block = run_python(running, MAKE_BLOCK, receiver.base_url).strip()
        written = (REPOSITORY / "commands" / "deploy" / "automations.yaml").read_text()
        file = tmp_path_factory.mktemp("notifications") / "automations.yaml"
        file.write_text(written.replace("BLOCK\n", f"{block}\n"))
        create = ["automation", "create", "--from-file", str(file)]
        subprocess.run([sys.executable, "-m", "prefect", *create], env=running.environment, check=True)
        yield receiver


@pytest.fixture(scope="module")
def regenerated(server: Server, hook: Endpoint) -> Row:
    return server.run("regenerate", 600)


def test_scheduled_flow_completes(regenerated: Row) -> None:
    assert regenerated["state_type"] == "COMPLETED", regenerated["state"]["message"]


def test_run_has_artifacts_and_the_linked_page_shows_the_scores(
    regenerated: Row, server: Server, running: Installation
) -> None:
    artifacts = server.list_artifacts(regenerated)
    stages = {f"quality-{stage}" for stage in ("triplets", "variants", "statements", "samples")}
    results = {"dashboard", "parquet", "warehouse", "leaderboard", "facets"}
    assert results | {"models"} <= set(artifacts)
    for flow, keys in (
        ("build-test-set", {"parquet"} | stages),
        ("evaluate-model", {"dashboard", "parquet"}),
    ):
        assert keys | {"progress"} <= set(server.list_artifacts(server.list_runs(flow)[0]))
    table = json.loads(artifacts["leaderboard"]["data"])
    assert {row["model"] for row in table} == set(NAMES)
    link = find_link(artifacts["dashboard"])
    assert httpx.get(link).status_code == 200
    text = read_page(link)
    for row in table:
        assert row["model"] in text
        assert f"{row['accuracy %']:.1f}" in text


def read_page(link: str) -> str:
    """Return the page as a browser renders it, or without a browser as the server sends it."""
    browser = shutil.which("chromium") or shutil.which("chromium-browser")
    if browser is None:
        return httpx.get(link).text
    command = [browser, "--headless", "--no-sandbox", "--disable-gpu", "--dump-dom", link]
    return subprocess.run(command, capture_output=True, text=True, timeout=120, check=True).stdout


def test_second_run_of_the_week_asks_nothing_even_if_its_process_is_killed(
    regenerated: Row, server: Server, root: Path
) -> None:
    before = read_stamps(root, "responses/**/*.parquet")
    editions = sorted(path.name for path in (root / "editions").iterdir())
    # Without a moment, a second run on the other side of midnight on Sunday is of the next week.
    run_id = server.start("regenerate", moment=regenerated["expected_start_time"])
    server.wait(run_id, ("RUNNING",))
    kill_run(run_id)
    run = server.wait(run_id, ENDED)
    assert (run["state_type"], run["run_count"]) == ("COMPLETED", 2), run["state"]["message"]
    assert read_stamps(root, "responses/**/*.parquet") == before
    assert sorted(path.name for path in (root / "editions").iterdir()) == editions


@dataclass
class DailyRuns:
    """Two runs of a second configuration of the installation, which makes an edition every day."""

    failed: Row
    """The first run: its endpoint refuses one of the two models."""
    listed: Row
    """The model that the first run did not evaluate."""
    repaired: Row
    """The second run, after the endpoint was repaired."""
    n_asked_again: Counter[str]


REFUSAL = "Unsupported parameter: 'max_tokens'"


@pytest.fixture(scope="module")
def daily(regenerated: Row, server: Server, running: Installation, root: Path) -> DailyRuns:
    is_repaired = False

    def reply(body: Body, _: int) -> EndpointReply:
        if body["model"] == "refused" and not is_repaired:
            return build_error(400, REFUSAL)
        return build_reply(" True")

    with serve_endpoint(reply) as endpoint:
        table = {"engine": "openai", "base_url": endpoint.base_url, "pairs_per_relation": N_PAIRS}
        config = write_config(
            root.parent / "daily.toml",
            root,
            knowledge={"relations": [RELATION]},
            models=[{"name": name, "model": name, **table} for name in ("refused", "answering")],
            schedule={"cron": "30 4 * * *", "timezone": "Europe/Berlin", "period": "day"},
        )
        run_command("deploy", config, folder=REPOSITORY, environment=running.environment).require()
        failed = server.run("regenerate", deployment="pretexeval.daily", moment=MOMENT)
        (listed,) = query_rows(root, "select edition_id, model, reason from not_evaluated")
        endpoint.requests.clear()
        is_repaired = True
        repaired = server.run("regenerate", deployment="pretexeval.daily", moment=MOMENT)
        n_asked_again = Counter(body["model"] for _, _, body in endpoint.requests)
    return DailyRuns(failed, listed, repaired, n_asked_again)


# A report of data quality holds brackets too, in patterns.
LINK = re.compile(r"\[[^\]]*\]\(([^)\s]+)\)")


def find_link(artifact: Row) -> str:
    """Return the address that a link artifact leads to."""
    found = LINK.fullmatch(artifact["data"])
    assert found, artifact["data"]
    return found[1]


def test_a_failing_model_fails_the_run_and_is_asked_alone_by_the_next(daily: DailyRuns, root: Path) -> None:
    assert daily.failed["state_type"] == "FAILED"
    assert f"1 of 2 models failed on {daily.listed['edition_id']}" in daily.failed["state"]["message"]
    assert daily.listed["model"] == "refused"
    assert REFUSAL in daily.listed["reason"]
    assert daily.repaired["state_type"] == "COMPLETED"
    assert daily.n_asked_again == {"refused": 16 * N_PAIRS}
    # Where Prefect stores errors by default.
    assert not (root / "prefect" / "storage").exists()


def test_every_link_of_every_run_leads_to_what_it_names(
    regenerated: Row, daily: DailyRuns, server: Server, running: Installation
) -> None:
    written = [row for row in server.filter("artifacts", limit=200) if row["type"] == "markdown"]
    links = {find_link(row) for row in written if LINK.fullmatch(row["data"])}
    assert len(links) >= 8
    assert all(link.startswith(running.report_url) for link in links)
    found = {link: httpx.get(link) for link in sorted(links)}
    assert {link: answer.status_code for link, answer in found.items()} == dict.fromkeys(links, 200)
    (folder,) = [link for link in links if link.endswith(f"/editions/{daily.listed['edition_id']}/")]
    pages = {link: read_page(link) for link in sorted(links) if link.endswith(("/", ".html"))}
    assert "samples/" in pages[folder]
    # A browser shows a page of its own, with the name of the error, instead of one that it cannot load.
    assert [link for link, page in pages.items() if "href=" not in page or "ERR_" in page] == []
    assert httpx.get(f"{folder}samples/{RELATION}.parquet").content[:4] == b"PAR1"
    missing = httpx.get(f"{running.report_url}{daily.listed['edition_id']}0/index.html")
    assert missing.status_code == 404
    assert "written when the edition is published" in missing.text


def test_failures_recoveries_and_score_changes_are_notified(
    daily: DailyRuns, hook: Endpoint, running: Installation, server: Server, root: Path, tmp_path: Path
) -> None:
    config = {"storage": {"root": str(root)}}
    assert server.run("publish", config=config, edition_id="nowhere")["state_type"] == "FAILED"
    for _ in range(2):
        run_python(
            running, EMIT_SCORE_CHANGES, str(write_falling_score(tmp_path)), "starter-2026-W48-00000001"
        )

    def find_notes(word: str) -> list[dict[str, str]]:
        return [note for *_, note in hook.requests if word in note["subject"]]

    wait_until(lambda: find_notes("Student"), "the note of the score", 90)
    time.sleep(3)
    (move,) = find_notes("Student")
    assert move["subject"] == "Student moved by -100.0 points"
    assert "100.0 % before, 0.0 % now" in move["body"]
    # None is about a run that another one started, that was killed and retried, or that a person started.
    failure, recovery = [note for *_, note in hook.requests if note is not move]
    assert failure["subject"] == f"{daily.failed['name']}: Failed"
    assert f"refused: {daily.listed['reason']}" in failure["body"]
    assert recovery["subject"] == f"{daily.repaired['name']}: well again"


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
        begun = server.wait_for_cron("pretexeval.anchored")
        done = server.wait(begun["id"], (*ENDED, "CRASHED"), 600)
        assert done["state_type"] == "COMPLETED", done["state"]["message"]
        assert done["auto_scheduled"]
        assert not done["parameters"].get("moment")
        assert len(endpoint.requests) == 16 * (N_PAIRS + n_anchors)
    (asked,) = query_rows(root, "select period, n_asked from runs where period is not null")
    planned = datetime.fromisoformat(done["expected_start_time"]).astimezone(ZoneInfo(zone))
    assert (planned.second, planned.microsecond) == (0, 0)
    assert asked == {"period": label_period(planned.date(), "week"), "n_asked": 16 * n_anchors}
    assert "anchored" in {row["model"] for row in query_rows(root, "from leaderboard")}
