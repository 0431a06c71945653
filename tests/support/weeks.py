"""Weekly editions in fast motion: their calendar, their configuration, and what each week leaves."""

import asyncio
import contextlib
import io
import json
import subprocess
import sys
import time
import urllib.request
from collections.abc import Iterator, Mapping
from dataclasses import dataclass, field
from datetime import datetime
from pathlib import Path
from typing import Any
from zoneinfo import ZoneInfo

from pretexeval.config.schedule import label_period
from pretexeval.storage.layout import PREFECT_FOLDER
from tests.support.command import Environment, run_command, use_server, write_base, write_config
from tests.support.prefect_server import start_prefect
from tests.support.processes import END_WITH_PARENT, find_free_port, wait_until_served
from tests.support.weeks_endpoint import ERRORS, N_TESTED, list_facts
from warehouse.query import read_rows

BERLIN = ZoneInfo("Europe/Berlin")
# On Sunday 2026-03-29 (week 13) there is no 02:30, and on 2026-10-25 (week 43) there are two.
SCHEDULE: dict[str, Any] = {"cron": "30 2 * * 0", "timezone": str(BERLIN)}
REASON = "two labels of the base were wrong"
N_ANCHORS, CONCURRENCY = 5, 8


@dataclass(frozen=True)
class Calendar:
    """Some weeks of 2026, and what happens in them. Weeks are numbers."""

    first: int
    last: int
    n_kept: int
    """How many editions are kept."""
    missed: tuple[int, int]
    """Two weeks without a run, whose editions are made after `backfilled_after`."""
    backfilled_after: int
    added_in: int
    """The model `newcomer` is added."""
    changed_in: int
    """The endpoint serves another model under the name `changing`."""
    withdrawn: int
    """The edition that is withdrawn after `withdrawn_after`."""
    withdrawn_after: int

    def list_moments(self) -> dict[int, datetime]:
        """Return week -> when Prefect starts its run."""
        from prefect.server.schemas.schedules import CronSchedule

        begin = datetime.fromisocalendar(2026, self.first, 1).replace(tzinfo=BERLIN)
        n_weeks = self.last - self.first + 1
        moments = asyncio.run(CronSchedule(**SCHEDULE).get_dates(n=n_weeks, start=begin))
        days = [moment.astimezone(BERLIN).date() for moment in moments]
        assert [label_period(day, "week") for day in days] == [
            name_week(number) for number in range(self.first, self.last + 1)
        ]
        return dict(zip(range(self.first, self.last + 1), moments, strict=True))


YEAR = Calendar(1, 53, 12, (10, 11), 14, 20, 30, 45, 48)
TEN_WEEKS = Calendar(8, 17, 4, (9, 10), 11, 12, 13, 14, 16)


def name_week(number: int) -> str:
    """Return the label of a week of 2026."""
    return f"2026-W{number:02}"


@dataclass(frozen=True)
class Week:
    """What there was after the run of a week."""

    number: int
    seconds: float
    accuracy: Mapping[str, float]
    """Model -> average accuracy on the edition of the week."""
    new_text_rate: float
    n_bytes: Mapping[str, int]
    """Folder or file of the root -> its size."""
    texts: tuple[str, ...]
    """The text of each test sample of the edition."""
    kept: tuple[int, ...]
    """The weeks of the editions in the warehouse."""


@dataclass
class LivedWeeks:
    """A folder with a base, a configuration and a data root; a Prefect server; the endpoint of models."""

    calendar: Calendar
    folder: Path
    server: Environment
    endpoint: str
    models: tuple[str, ...] = tuple(ERRORS)
    weeks: list[Week] = field(default_factory=list)
    """In the order in which their editions were made."""

    @property
    def root(self) -> Path:
        return self.folder / "data"

    @property
    def config(self) -> Path:
        return self.folder / f"{self.folder.name}.toml"

    def configure(self, *models: str) -> None:
        """Write the configuration with these models, or else with all of them."""
        tables = [
            {"name": name, "engine": "openai", "model": name, "base_url": f"{self.endpoint}/v1"}
            for name in models or self.models
        ]
        write_config(
            self.config,
            self.root,
            models=[table | {"concurrency": CONCURRENCY} for table in tables],
            knowledge=write_base(self.folder / "weekly.tsv", list_facts()),
            edition={"heads_per_relation": N_TESTED + 5, "evidence": []},
            storage={"keep_editions": self.calendar.n_kept},
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

    def observe(self, number: int, seconds: float) -> None:
        """Add what there is now of this week.

        Args:
            seconds: how long its run took.
        """
        label = name_week(number)
        (edition,) = read_rows(self.root, f"select edition_id from editions where label = '{label}'")
        of_edition = f"where edition_id = '{edition['edition_id']}'"
        scores = read_rows(self.root, f"select model, average_accuracy from leaderboard {of_edition}")
        (fresh,) = read_rows(self.root, f"select new_text_rate from freshness {of_edition}")
        tested = read_rows(self.root, f"select text from samples {of_edition} and split = 'test'")
        editions = read_rows(self.root, "select label from editions where not is_anchors")
        self.weeks.append(
            Week(
                number,
                seconds,
                {row["model"]: row["average_accuracy"] for row in scores},
                fresh["new_text_rate"],
                measure_root(self.root),
                tuple(row["text"] for row in tested),
                tuple(int(row["label"].partition("-W")[2]) for row in editions),
            )
        )

    def live(self) -> None:
        """Live all weeks of the calendar."""
        calendar = self.calendar
        for number, moment in calendar.list_moments().items():
            if number in calendar.missed:
                continue
            if number == calendar.first:
                self.configure(*(name for name in self.models if name != "newcomer"))
            if number == calendar.added_in:
                self.configure()
            if number == calendar.changed_in:
                urllib.request.urlopen(f"{self.endpoint}/change", b"true", timeout=30).close()
            began = time.monotonic()
            self.regenerate(moment)
            self.observe(number, time.monotonic() - began)
            if number == calendar.backfilled_after:
                began = time.monotonic()
                first, last = map(name_week, calendar.missed)
                self.run("backfill", self.config, "--from", first, "--to", last)
                seconds = (time.monotonic() - began) / len(calendar.missed)
                for missed in calendar.missed:
                    self.observe(missed, seconds)
            if number == calendar.withdrawn_after:
                bad = name_week(calendar.withdrawn)
                self.run("withdraw", bad, "--reason", REASON, "--root", self.root)


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
    program = [sys.executable, "-m", "tests.support.weeks_endpoint", str(port)]
    process = subprocess.Popen([*END_WITH_PARENT, *program])
    try:
        wait_until_served(process, f"http://127.0.0.1:{port}/")
        yield f"http://127.0.0.1:{port}"
    finally:
        process.terminate()
        process.wait(10)


def list_asked(endpoint: str) -> list[tuple[float, str, str]]:
    """Return each request so far: when it came (time.time), the model, and the prompt."""
    with urllib.request.urlopen(f"{endpoint}/asked", timeout=60) as reply:
        return [(when, model, prompt) for when, model, prompt in json.load(reply)]
