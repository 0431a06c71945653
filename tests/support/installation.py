"""What tests do to an installation and read from it: its processes, runs, warehouse, and automations."""

import os
import signal
import subprocess
import sys
from pathlib import Path

from commands.deploy.local.installation import Installation
from pretexeval.storage.records import write_record
from tests.support import simulated_models
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder
from tests.support.fault_models import wait_until
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

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


def kill_service(installation: Installation, name: str, number: int = signal.SIGTERM) -> None:
    """Send the signal to the process group of a service, and wait until it was restarted and is ready."""
    pid = installation.describe_process(name)["pid"]
    os.killpg(pid, number)

    def is_restarted() -> bool:
        state = installation.describe_process(name)
        is_new = state["statename"] in ("STARTING", "RUNNING") and state["pid"] != pid
        return is_new and installation.services[name].is_ready()

    wait_until(is_restarted, f"{name} is restarted")


def run_python(installation: Installation, source: str, *arguments: str) -> str:
    """Run the Python source with the environment of the installation, and return its output."""
    environment = installation.environment | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


N_PAIRS = 15
"""Enough for an interval of a difference."""


def write_falling_score(folder: Path) -> Path:
    """Write a warehouse of two weeks, in the second of which the model is always wrong; return its root."""
    world = DataFolder(folder / "fall")
    for k in range(N_PAIRS):
        world.add_pair("symptoms", f"head{k}", f"tail{k}", f"tail{(k + 1) % N_PAIRS}")
    world.write_model("student")
    for week, rule in (
        ("2026-W47", simulated_models.expert),
        ("2026-W48", lambda sample: not sample["label"]),
    ):
        edition_id = f"starter-{week}-00000001"
        world.write_edition(edition_id)
        manifest = world.root / "editions" / edition_id / "manifest.json"
        write_record(manifest, require_record(manifest) | {"label": week})
        world.write_answers(edition_id, "student", rule)
    build_warehouse(world.root)
    return world.root
