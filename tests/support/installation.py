"""What tests of an installation do to it, and look at: its runs, its warehouse, its automations."""

import hashlib
import os
import signal
import subprocess
import sys
from pathlib import Path

from deploy.local.processes import Running
from deploy.local.watchdog import find_marked
from tests.support import simulated_models
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import write_record
from tests.warehouse.conftest import fill_pairs
from warehouse.publish import build_warehouse
from warehouse.query import run_query
from warehouse.records import read_record

# As docs/operations.md has it, with a web hook in the place of Slack.
MAKE_BLOCK = """
import sys
from prefect.blocks.notifications import CustomWebhookNotificationBlock as Block
note = {"subject": "{{subject}}", "body": "{{body}}"}
print(Block(name="hook", url=sys.argv[1], json_data=note).save("pretexeval", overwrite=True))
"""
REPORT_MOVES = """
import sys
from pathlib import Path
from prefect import flow
from flows.support.score_changes import report_moves
flow(report_moves)(Path(sys.argv[1]), sys.argv[2])
"""


def kill_run(run_id: str) -> None:
    """`kill -9`, and its worker goes on."""
    pids = list(find_marked([f"PREFECT__FLOW_RUN_ID={run_id}"]))
    assert pids
    for pid in pids:
        os.kill(pid, signal.SIGKILL)


def read_tables(root: Path) -> dict[str, str]:
    """Table -> checksum of its rows; and of the leaderboard, which is made from most of them."""
    names = [str(name) for (name,) in run_query(root, "select table_name from duckdb_tables()")[1]]
    rows = {name: run_query(root, f"from {name} order by all")[1] for name in (*names, "leaderboard")}
    assert rows["predictions"]
    return {name: hashlib.sha256(repr(found).encode()).hexdigest() for name, found in rows.items()}


def run_python(running: Running, source: str, *arguments: str) -> str:
    environment = running.environment | {"PYTHONPATH": str(REPOSITORY)}
    command = [sys.executable, "-c", source, *arguments]
    return subprocess.run(command, env=environment, capture_output=True, text=True, check=True).stdout


def write_fall(folder: Path) -> Path:
    """The root of two weeks, in the second of which the model is wrong about everything."""
    world = fill_pairs(DataFolder(folder / "fall"))
    world.write_model("student")
    for week, rule in (
        ("2026-W47", simulated_models.expert),
        ("2026-W48", lambda sample: not sample["label"]),
    ):
        edition_id = f"starter-{week}-00000001"
        world.write_edition(edition_id)
        manifest = world.root / "editions" / edition_id / "manifest.json"
        write_record(manifest, read_record(manifest) | {"label": week})
        world.write_answers(edition_id, "student", rule)
    build_warehouse(world.root)
    return world.root
