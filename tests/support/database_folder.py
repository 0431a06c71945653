"""A PostgreSQL server of a test, on a socket file in a folder of its own."""

import os
import pwd
import signal
import subprocess
import tempfile
from collections.abc import Iterator
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from tests.support.fault_models import wait_until

BINARIES = sorted(Path("/usr/lib/postgresql").glob("*/bin"))
NEEDS_POSTGRES = pytest.mark.skipif(
    not BINARIES, reason="no PostgreSQL here (Debian: apt-get install postgresql)"
)


@dataclass
class Database:
    """A cluster that can be started and ended; Prefect's server has it as its database."""

    folder: Path
    process: "subprocess.Popen[bytes] | None" = None

    @property
    def settings(self) -> dict[str, str]:
        """The variable that names it to Prefect's server."""
        address = f"postgresql+asyncpg://prefect@/postgres?host={self.folder}"
        return {"PREFECT_SERVER_DATABASE_CONNECTION_URL": address}

    def start(self) -> None:
        """Start the cluster, and wait until it takes connections."""
        self.process = self._call(
            subprocess.Popen, "postgres", "-D", "cluster", "-k", str(self.folder), "-h", ""
        )
        ready = ("pg_isready", "-q", "-h", str(self.folder))
        wait_until(lambda: self._call(subprocess.run, *ready).returncode == 0, "PostgreSQL is ready")

    def end(self, number: int) -> None:
        """End the cluster by this signal."""
        assert self.process is not None
        self.process.send_signal(number)
        self.process.wait(60)

    def create(self) -> None:
        options = ("-U", "prefect", "-A", "trust", "--no-locale", "--encoding", "UTF8")
        self._call(subprocess.run, "initdb", "-D", "cluster", *options)

    def _call(self, call: Any, program: str, *arguments: str) -> Any:  # noqa: ANN401 - Popen or run
        """Call a program of PostgreSQL, which refuses to run as root: then as its own user."""
        user = pwd.getpwnam("postgres") if os.geteuid() == 0 else None
        options = {"user": user.pw_uid, "group": user.pw_gid, "extra_groups": []} if user else {}
        quiet = {"stdout": subprocess.DEVNULL, "stderr": subprocess.DEVNULL}
        return call([BINARIES[-1] / program, *arguments], cwd=self.folder, **options, **quiet)


@contextmanager
def run_database() -> Iterator[Database]:
    """Run an empty cluster during the block.

    It is not under tmp_path, which pytest closes to all other users: if root runs the tests, PostgreSQL runs
    as another user.
    """
    with tempfile.TemporaryDirectory(prefix="pretexeval-postgres-") as name:
        os.chmod(name, 0o777)
        database = Database(Path(name))
        database.create()
        database.start()
        try:
            yield database
        finally:
            database.end(signal.SIGINT)
