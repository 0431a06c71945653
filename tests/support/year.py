"""A year of weekly editions in fast motion: its calendar, its configuration, and what each week leaves."""

import asyncio
import contextlib
import io
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pretexeval.config.schedule import label_period
from pretexeval.storage.layout import PREFECT_FOLDER
from tests.support.command import Environment, run_command, use_server, write_base, write_config
from tests.support.prefect_server import start_prefect
from tests.support.processes import find_free_port, wait_until_served
from tests.support.year_endpoint import ERRORS, N_TESTED, list_facts
from warehouse.query import read_rows

BERLIN = ZoneInfo("Europe/Berlin")
# On Sunday 2026-03-29 there is no 02:30, and on 2026-10-25 there are two.
SCHEDULE: dict[str, Any] = {"cron": "30 2 * * 0", "timezone": str(BERLIN)}
BEGIN, N_WEEKS = datetime(2025, 12, 29, tzinfo=BERLIN), 53
N_KEPT = 12
MISSED, BACKFILLED_AFTER = ("2026-W10", "2026-W11"), "2026-W14"
ADDED_IN, CHANGED_IN = "2026-W20", "2026-W30"
WITHDRAWN, WITHDRAWN_AFTER = "2026-W45", "2026-W48"
REASON = "two labels of the base were wrong"
COPIED_AFTER = "2026-W47"
N_ANCHORS, CONCURRENCY = 5, 8


def list_moments() -> dict[str, datetime]:
    """Return period -> when Prefect starts its run, for the weeks of 2026."""
    from prefect.server.schemas.schedules import CronSchedule

    schedule = CronSchedule(**SCHEDULE)
    moments = asyncio.run(schedule.get_dates(n=N_WEEKS, start=BEGIN))
    return {label_period(moment.astimezone(BERLIN).date(), "week"): moment for moment in moments}


@dataclass(frozen=True)
class Week:
    """What there was after the run of a week."""

    label: str
    seconds: float
    accuracy: Mapping[str, float]
    """Model -> average accuracy on the edition of the week."""
    new_text_rate: float
    n_bytes: Mapping[str, int]
    """Folder or file of the root -> its size."""
    texts: tuple[str, ...]
    """The text of each test sample of the edition."""
    kept: tuple[str, ...]
    """The labels of the editions in the warehouse."""


@dataclass
class YearOfWeeks:
    """A folder with a base, a configuration and a data root; a Prefect server; the endpoint of models."""

    folder: Path
    server: Environment
    endpoint: str
    models: tuple[str, ...] = tuple(ERRORS)
    """Those of the year. `newcomer` is added in ADDED_IN, and `changing` changes in CHANGED_IN."""
    weeks: list[Week] = field(default_factory=list)
    _waiting: dict[str, datetime] = field(default_factory=list_moments)
    """The weeks that were not lived yet, with the moments of their runs."""

    @property
    def root(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        return self.folder / f"{self.folder.name}.toml"

    def configure(self, *models: str) -> None:
        """Write the configuration with these models, or else with all of them."""
        write_base(self.folder / "base.tsv", list_facts())
        tables = [
            {"name": name, "engine": "openai", "model": name, "base_url": f"{self.endpoint}/v1"}
            for name in models or self.models
        ]
        write_config(
            self.config,
            self.root,
            models=[table | {"concurrency": CONCURRENCY} for table in tables],
            knowledge={"name": "year", "format": "table", "path": str(self.folder / "base.tsv")},
            edition={"heads_per_relation": N_TESTED + 5, "evidence": []},
            storage={"keep_editions": N_KEPT},
            schedule=SCHEDULE,
            anchors={"n_pairs": N_ANCHORS},
        )

    def regenerate(self, moment: datetime) -> str:
        """Run the scheduled flow in this process, and return the name of the edition."""
        with use_server(self.server, self.folder), contextlib.redirect_stderr(io.StringIO()):
            from flows.regenerate import regenerate

            return regenerate(self.config, moment=moment)

    def run(self, *arguments: str | Path) -> None:
        """Run a subcommand of `pretexeval` that must succeed."""
        run_command(*arguments, folder=self.folder, environment=self.server).require()

    def observe(self, label: str, seconds: float) -> None:
        """Add what there is now of the week with this name.

        Args:
            seconds: how long its run took.
        """
        (edition,) = read_rows(self.root, f"select edition_id from editions where label = '{label}'")
        of_edition = f"where edition_id = '{edition['edition_id']}'"
        scores = read_rows(self.root, f"select model, average_accuracy from leaderboard {of_edition}")
        (fresh,) = read_rows(self.root, f"select new_text_rate from freshness {of_edition}")
        tested = read_rows(self.root, f"select text from samples {of_edition} and split = 'test'")
        editions = read_rows(self.root, "select label from editions where not is_anchors")
        self.weeks.append(
            Week(
                label,
                seconds,
                {row["model"]: row["average_accuracy"] for row in scores},
                fresh["new_text_rate"],
                measure_root(self.root),
                tuple(row["text"] for row in tested),
                tuple(row["label"] for row in editions),
            )
        )

    def live_until(self, last: str, after: Callable[[str], None] = lambda _: None) -> None:
        """Live the weeks up to this one that were not lived yet.

        The year has its schedule, missed weeks, a new and a changed model, and a bad edition.

        Args:
            after: called after each week with its name.
        """
        for label in [label for label in self._waiting if label <= last]:
            moment = self._waiting.pop(label)
            if label in MISSED:
                continue
            if not self.weeks:
                self.configure(*(name for name in self.models if name != "newcomer"))
            if label == ADDED_IN:
                self.configure()
            if label == CHANGED_IN:
                change_answers(self.endpoint)
            began = time.monotonic()
            self.regenerate(moment)
            self.observe(label, time.monotonic() - began)
            if label == BACKFILLED_AFTER:
                began = time.monotonic()
                self.run("backfill", self.config, "--from", MISSED[0], "--to", MISSED[-1])
                seconds = (time.monotonic() - began) / len(MISSED)
                for missed in MISSED:
                    self.observe(missed, seconds)
            self.withdraw_after(label)
            after(label)

    def withdraw_after(self, label: str) -> None:
        """Withdraw the bad edition if this is the week in which it is noticed."""
        if label == WITHDRAWN_AFTER:
            self.run("withdraw", WITHDRAWN, "--reason", REASON, "--root", self.root)


def measure_root(root: Path) -> dict[str, int]:
    """Return folder or file of the root -> its size in bytes. Hard links count once."""
    sizes: dict[str, int] = {}
    seen = set()
    for path in sorted(root.rglob("*")):
        try:
            status = path.stat()
        except FileNotFoundError:
            # The server's database is in use.
            continue
        if path.is_file() and status.st_ino not in seen:
            seen.add(status.st_ino)
            name = path.relative_to(root).parts[0]
            sizes[name] = sizes.get(name, 0) + status.st_size
    return sizes


def start_history(root: Path) -> Environment:
    """Start a Prefect server whose history lies in the data root, as that of a command does."""
    home = root / PREFECT_FOLDER
    home.mkdir(parents=True)
    return start_prefect(home)


@contextlib.contextmanager
def serve_models() -> Iterator[str]:
    """Run the endpoint of the models in a process of its own, and yield its address."""
    port = find_free_port()
    process = subprocess.Popen([sys.executable, "-m", "tests.support.year_endpoint", str(port)])
    try:
        wait_until_served(process, f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def change_answers(endpoint: str) -> None:
    """Let the endpoint serve another model under the name `changing`."""
    urllib.request.urlopen(urllib.request.Request(f"{endpoint}/change", b"true"), timeout=30).close()


def list_asked(endpoint: str) -> list[tuple[float, str, str]]:
    """Return each request so far: when it came (time.time), the model, and the prompt."""
    with urllib.request.urlopen(f"{endpoint}/asked", timeout=60) as reply:
        return [(when, model, prompt) for when, model, prompt in json.load(reply)]
