"""Weekly editions that are disturbed: killed, cancelled or paused at random moments, and run again."""

import os
import random
import signal
import sys
import time
from dataclasses import dataclass, field
from datetime import datetime
from multiprocessing import get_context
from multiprocessing.context import ForkServerProcess
from pathlib import Path

from prefect.exceptions import CancelledRun

from tests.support.command import send_no_heartbeats, use_server
from tests.support.prefect_server import open_client
from tests.support.weeks import LivedWeeks, name_week

KINDS = ("killed", "cancelled", "paused", "killed")
PAUSE_S = 2.0
# What a flow imports, and starting it would take longer than the rest of a week.
PRELOADED = ["flows.regenerate", "great_expectations", "tests.support.disturbances"]
CANCELLED = 3
ENDS = (0, -signal.SIGKILL, -signal.SIGTERM, CANCELLED)
"""The exit codes of runs that completed, were killed, were ended by SIGTERM, or noticed a cancellation."""
FIRST_SHARE, LAST_SHARE = 0.02, 0.95


def regenerate_logged(config: Path, moment: datetime, log: Path) -> None:
    """Run the scheduled flow as the only task of this process, with its output in the log."""
    from flows.regenerate import regenerate

    with log.open("wb") as output:
        os.dup2(output.fileno(), sys.stderr.fileno())
    try:
        with send_no_heartbeats():
            regenerate(config, moment=moment)
    except CancelledRun:
        sys.exit(CANCELLED)


@dataclass
class DisturbedWeeks:
    """The weeks of a calendar after one of them, whose runs are disturbed, and what was done to them."""

    lived: LivedWeeks
    after: int
    """The last week that was lived before."""
    n_per_week: int
    done: list[tuple[str, float]] = field(default_factory=list)
    """The kind of each disturbance, and when it happened (time.time)."""
    _began: dict[int, float] = field(default_factory=dict)
    _draw: random.Random = field(default_factory=lambda: random.Random(34))
    _cpu_s: float | None = None
    """The processor time of an undisturbed week. It says how far a run is, also on a busy machine."""

    def live(self) -> None:
        """Run the weeks, each in processes that are disturbed until one ends by itself; the first is not."""
        context = get_context("forkserver")
        context.set_forkserver_preload(PRELOADED)
        moments = self.lived.calendar.list_moments()
        with use_server(self.lived.server, self.lived.folder):
            for number in range(self.after + 1, self.lived.calendar.last + 1):
                n_wanted = self.n_per_week * len(self._began)
                self._began[number] = time.time()
                is_complete, n_runs = False, 0
                while not is_complete or len(self.done) < n_wanted:
                    n_runs += 1
                    given = (self.lived.config, moments[number], self.log)
                    process = context.Process(target=regenerate_logged, args=given)
                    is_complete = self._run(process, number, n_runs if len(self.done) < n_wanted else None)
                self.lived.withdraw_after(number)

    @property
    def log(self) -> Path:
        """The output of the last run."""
        return self.lived.folder / "log"

    def find_week(self, when: float) -> int:
        """Return the week that was lived at this time (time.time)."""
        return max(number for number, began in self._began.items() if began <= when)

    def _run(self, process: ForkServerProcess, number: int, nth: int | None) -> bool:
        """Run a week, and return whether it completed.

        Args:
            nth: how often the week has been run, this time included, so that less of it is left; None: this
                run is not disturbed.
        """
        process.start()
        assert process.pid is not None
        if self._cpu_s is not None and nth is not None:
            kind = KINDS[len(self.done) % len(KINDS)]
            aim = self._cpu_s * self._draw.uniform(FIRST_SHARE, LAST_SHARE) / nth
            while process.is_alive() and read_cpu_s(process.pid) < aim:
                time.sleep(0.005)
            if process.is_alive():
                self.done.append((kind, time.time()))
                getattr(self, f"_be_{kind}")(process.pid, number)
        cpu_s = 0.0
        while process.exitcode is None:
            cpu_s = read_cpu_s(process.pid) or cpu_s
            process.join(0.05)
        if self._cpu_s is None:
            self._cpu_s = cpu_s
        assert process.exitcode in ENDS, self.log.read_text()
        return process.exitcode == 0

    def _be_killed(self, pid: int, _: int) -> None:
        os.kill(pid, signal.SIGKILL)

    def _be_paused(self, pid: int, _: int) -> None:
        os.kill(pid, signal.SIGSTOP)
        time.sleep(PAUSE_S)
        os.kill(pid, signal.SIGCONT)

    def _be_cancelled(self, pid: int, number: int) -> None:
        """Cancel the run at the server, as the UI does, and end its process, as a worker does then."""
        client = open_client(self.lived.server)
        wanted = {
            "flow_runs": {"name": {"like_": name_week(number)}, "state": {"type": {"any_": ["RUNNING"]}}},
            "flows": {"name": {"any_": ["regenerate"]}},
            "sort": "START_TIME_DESC",
        }
        for run in client.post("/flow_runs/filter", json=wanted).raise_for_status().json()[:1]:
            state = {"state": {"type": "CANCELLING", "name": "Cancelling"}}
            client.post(f"/flow_runs/{run['id']}/set_state", json=state).raise_for_status()
        os.kill(pid, signal.SIGTERM)


def read_cpu_s(pid: int) -> float:
    """Return the processor time that a process has used; 0 if it has ended."""
    try:
        fields = Path(f"/proc/{pid}/stat").read_text().rpartition(")")[2].split()
    except OSError:
        return 0.0
    return (int(fields[11]) + int(fields[12])) / os.sysconf("SC_CLK_TCK")
