"""An installation as `python -m commands.deploy.local` runs it, and what tests do to it and read from it."""

import os
import shlex
import signal
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path

import psutil

from commands.preflight.services import authorize
from pretexeval.engines.cards import CARDS_VARIABLE
from pretexeval.primitives.http_client import fetch
from pretexeval.storage.layout import CLIENT_SETTINGS
from tests.support.command import REPOSITORY, build_environment
from tests.support.data_folder import DataFolder, expert
from tests.support.database_folder import Database, run_database
from tests.support.fault_models import wait_until
from tests.support.processes import find_free_port
from warehouse.publishing import build_warehouse

# The commands of docs/operations.md, with a web hook instead of Slack.
MAKE_BLOCK = """
import sys
from prefect.blocks.notifications import CustomWebhookNotificationBlock as Block
note = {"subject": "{{subject}}", "body": "{{body}}"}
print(Block(name="hook", url=sys.argv[1], json_data=note).save("pretexeval", overwrite=True))
"""
EMIT_SCORE_CHANGES = """
import sys
from pathlib import Path
from prefect import flow
from flows.support.results import emit_score_changes
flow(emit_score_changes)(Path(sys.argv[1]), sys.argv[2])
"""
MARKS = {"server": "server start", "report": "commands.deploy.pages", "cpu-0": "--name cpu-0"}
"""Service -> what its command line contains."""


@dataclass
class Installation:
    """A running installation."""

    root: Path
    database: Database
    supervisor: "subprocess.Popen[str]"
    environment: dict[str, str]
    """That of commands and workers, as `source` loads it."""

    @property
    def api_url(self) -> str:
        return self.environment["PREFECT_API_URL"]

    @property
    def report_url(self) -> str:
        return f"{self.environment['PRETEXEVAL_BASE_URL']}/"

    def find_process(self, name: str) -> psutil.Process | None:
        """Return the process of a service; None while it does not run, or waits for another service."""
        mark = MARKS.get(name, f"--name {name}")
        for process in psutil.Process(self.supervisor.pid).children():
            try:
                line = process.cmdline()
            except psutil.Error:
                continue
            if mark in " ".join(line) and line[0] not in ("sh", "setpriv"):
                return process
        return None

    def is_ready(self, name: str) -> bool:
        """Return whether the service works, as those see it that use it."""
        if self.find_process(name) is None:
            return False
        if name == "server":
            return fetch(f"{self.api_url}/ready", is_local=True).is_success
        if name == "report":
            return fetch(f"{self.report_url}healthz", is_local=True).is_success
        return name in self.list_workers(name.partition("-")[0])

    def list_workers(self, pool: str) -> list[str]:
        """Return the workers of a pool that are online."""
        address = f"{self.api_url}/work_pools/{pool}/workers/filter"
        rows = fetch(address, authorize(self.environment), {}).read_json()
        return [row["name"] for row in rows if row["status"] == "ONLINE"] if isinstance(rows, list) else []

    def kill(self, *names: str, number: int = signal.SIGTERM) -> None:
        """Send the signal to the process groups of services, and wait until all are restarted and ready."""
        processes = [process for name in names if (process := self.find_process(name))]
        assert len(processes) == len(names)
        for process in processes:
            os.killpg(process.pid, number)
        psutil.wait_procs(processes, timeout=60)
        wait_until(lambda: all(map(self.is_ready, names)), f"{' and '.join(names)} are ready again")

    def notify(self, address: str) -> None:
        """Create the notifications of docs/operations.md, which go to the web hook at this address."""
        block = run_python(self, MAKE_BLOCK, address).strip()
        written = (REPOSITORY / "commands" / "deploy" / "notifications.yaml").read_text()
        file = self.root.parent / "notifications.yaml"
        file.write_text(written.replace("BLOCK\n", f"{block}\n"))
        create = [sys.executable, "-m", "prefect", "automation", "create", "--from-file", str(file)]
        environment = build_environment(self.environment)
        subprocess.run(create, env=environment, capture_output=True, check=True)

    def take_database_away(self, seconds: float, number: int = signal.SIGINT) -> None:
        """End the database by this signal, and start it again after so many seconds."""
        self.database.end(number)
        time.sleep(seconds)
        self.database.start()


@contextmanager
def start_installation(root: Path, *, n_gpu_workers: int = 1) -> Iterator[Installation]:
    """Start an installation on free ports with workers without cards, and end it after the block."""
    ports = ["--port", str(find_free_port()), "--report-port", str(find_free_port())]
    options = ["--root", str(root), *ports, *["--pool", "gpu"] * n_gpu_workers]
    with run_database() as database:
        supervisor = subprocess.Popen(
            [sys.executable, "-m", "commands.deploy.local", *options],
            cwd=REPOSITORY,
            env=build_environment({**database.settings, CARDS_VARIABLE: ""}),
            stdout=subprocess.PIPE,
            text=True,
            start_new_session=True,
        )
        try:
            assert supervisor.stdout is not None
            while "source" not in supervisor.stdout.readline():
                assert supervisor.poll() is None
            words = shlex.split((root / CLIENT_SETTINGS).read_text())
            environment = dict(word.split("=", 1) for word in words if "=" in word)
            running = Installation(root, database, supervisor, environment)
            services = ["server", "report", "cpu-0", *(f"gpu-{k}" for k in range(n_gpu_workers))]
            for name in services:
                wait_until(lambda service=name: running.is_ready(service), f"{name} is ready")  # type: ignore[misc]
            yield running
        finally:
            supervisor.terminate()
            supervisor.communicate(timeout=120)


def run_python(installation: Installation, source: str, *arguments: str) -> str:
    """Run the Python source with the environment of the installation, and return its output."""
    environment = build_environment({**installation.environment, "PYTHONPATH": str(REPOSITORY)})
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def write_falling_score(folder: Path) -> Path:
    """Write a warehouse of two weeks, in the second of which the model is always wrong; return its root."""
    world = DataFolder(folder / "fall")
    # Enough for an interval of a difference.
    world.add_pairs("symptoms", 15)
    for week, rule in (("2026-W47", expert), ("2026-W48", lambda sample: not sample["label"])):
        edition_id = f"starter-{week}-00000001"
        world.label = week
        world.write_edition(edition_id)
        world.write_answers(edition_id, "student", rule)
    build_warehouse(world.root)
    return world.root
