"""Running the command with a configuration file and a results folder: in this process, or in its own.

A process of its own takes 3 to 9 s of processor time for its imports. It is for tests whose subject is the
process: signals, exits, blocked packages, limits of the system, and a Prefect server that the command starts.
"""

import contextlib
import hashlib
import io
import json
import os
import resource
import sys
import time
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from unittest import mock

from pretexeval.primitives.toml_files import write_toml
from tests.support.processes import run_process

REPOSITORY = Path(__file__).parents[2]
Environment = Mapping[str, str]
Table = Mapping[str, Any]


@dataclass(frozen=True)
class Outcome:
    """The result of one call of the command."""

    status: int
    out: str
    err: str
    cpu_s: float

    def require(self, status: int = 0) -> "Outcome":
        """Return self; fail with the output unless the command ended with this status."""
        assert self.status == status, f"exit status {self.status}\n{self.out}\n{self.err}"
        return self


def build_command(*arguments: str | Path) -> list[str]:
    """Return the command line of `pretexeval` with these arguments."""
    return [sys.executable, "-m", "commands", *map(str, arguments)]


def build_environment(more: Environment | None = None, *, blocked: Path | None = None) -> dict[str, str]:
    """Return this process's environment without settings of Prefect and vLLM, with ``more`` added.

    Args:
        blocked: a folder of `block_packages`.
    """
    inherited = {k: v for k, v in os.environ.items() if not k.startswith(("PREFECT_", "VLLM_"))}
    path = os.pathsep.join(str(p) for p in (blocked, REPOSITORY) if p)
    return inherited | {"PYTHONPATH": path, "HF_HUB_OFFLINE": "1"} | dict(more or {})


def run_command(*arguments: str | Path, folder: Path, environment: Environment | None = None) -> Outcome:
    """Run `pretexeval` in this process and in a folder: a file with a forgotten path would appear there.

    Flows run on the Prefect server that the environment names (fixture `prefect_server`).
    """
    from commands.main import main

    out, err = io.StringIO(), io.StringIO()
    started_s = time.process_time()
    with (
        use_server(environment or {}, folder),
        contextlib.redirect_stdout(out),
        contextlib.redirect_stderr(err),
    ):
        try:
            status = main([str(argument) for argument in arguments])
        except SystemExit as end:
            status = int(end.code or 0)
        own_server = None if "PREFECT_API_URL" in (environment or {}) else os.environ.get("PREFECT_API_URL")
    assert own_server is None, "name a server, or call run_process_command: this one would run until the end"
    return Outcome(status, out.getvalue(), err.getvalue(), time.process_time() - started_s)


@contextlib.contextmanager
def use_server(environment: Environment, folder: Path) -> Iterator[None]:
    """Let this process work in the folder and on the Prefect server of the environment during the block."""
    with (
        _replace_environment(build_environment(environment)),
        contextlib.chdir(folder),
        _use_prefect_settings(),
    ):
        yield


@contextlib.contextmanager
def _replace_environment(environment: Environment) -> Iterator[None]:
    """Replace the variables of this process during the block, each only if it differs."""
    before = dict(os.environ)
    _set_environment(environment)
    try:
        yield
    finally:
        _set_environment(before)


def _set_environment(environment: Environment) -> None:
    for name in os.environ.keys() - environment.keys():
        del os.environ[name]
    for name, value in environment.items():
        if os.environ.get(name) != value:
            os.environ[name] = value


@contextlib.contextmanager
def _use_prefect_settings() -> Iterator[None]:
    """Let Prefect, which read the variables when it was imported, read them again.

    A process has one events worker, which stays connected to the server of its first run and records the
    states of tasks there. It ends with the block, so that the next run may use another server.
    """
    if "PREFECT_API_URL" not in os.environ:
        yield
        return
    import prefect.context
    from prefect.events.worker import EventsWorker

    before = prefect.context.GLOBAL_SETTINGS_CONTEXT
    prefect.context.GLOBAL_SETTINGS_CONTEXT = prefect.context.root_settings_context()
    try:
        with send_no_heartbeats():
            yield
    finally:
        EventsWorker.drain_all(at_exit=False)
        prefect.context.GLOBAL_SETTINGS_CONTEXT = before


@contextlib.contextmanager
def send_no_heartbeats() -> Iterator[None]:
    """Let runs in this process send no heartbeats: each waits up to a second for the thread that does."""
    from prefect.flow_engine import BaseFlowRunEngine

    with mock.patch.object(BaseFlowRunEngine, "heartbeat_seconds", None):
        yield


def run_process_command(
    *arguments: str | Path,
    folder: Path,
    environment: Environment | None = None,
    blocked: Path | None = None,
    timeout_s: float = 1200,
) -> Outcome:
    """Run `pretexeval` as a user does, in a process of its own.

    Args:
        blocked: a folder of `block_packages`.
    """
    return run_measured(
        build_command(*arguments),
        folder=folder,
        environment=build_environment(environment, blocked=blocked),
        timeout_s=timeout_s,
    )


def run_measured(
    command: Sequence[str], *, folder: Path, environment: Environment, timeout_s: float = 1200
) -> Outcome:
    """Run any command in a process of its own, and measure its processor time."""
    before = resource.getrusage(resource.RUSAGE_CHILDREN)
    done = run_process(command, folder=folder, environment=environment, timeout_s=timeout_s)
    after = resource.getrusage(resource.RUSAGE_CHILDREN)
    cpu_s = after.ru_utime + after.ru_stime - before.ru_utime - before.ru_stime
    return Outcome(done.returncode, done.stdout, done.stderr, cpu_s)


def block_packages(folder: Path, *names: str) -> Path:
    """Fill a folder for PYTHONPATH, with which importing any of these packages fails, and return it."""
    for name in names:
        (folder / name).mkdir(parents=True)
        (folder / name / "__init__.py").write_text(f"raise AssertionError('{name} was imported')\n")
    return folder


def write_config(
    path: Path, root: Path, *, models: Sequence[Table] = (), writers: Sequence[Table] = (), **tables: Table
) -> Path:
    """Write a configuration of these tables, with results under ``root``."""
    storage = {"root": str(root), **tables.pop("storage", {})}
    lists = {"models": list(models), "writers": list(writers)}
    write_toml(path, {"storage": storage, **tables, **lists})
    return path


def write_base(path: Path, rows: Iterable[Sequence[str]]) -> dict[str, str]:
    """Write a table of triplets (head, relation, tail), and return the table [knowledge] that names it."""
    lines = ["head\trelation\ttail", *("\t".join(row) for row in rows)]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")
    return {"name": path.stem, "format": "table", "path": str(path)}


def make_rows(*relations: str, n_heads: int = 14, n_tails: int = 6) -> list[tuple[str, str, str]]:
    """Return rows (head, relation, tail) in which every head has one or two tails."""
    return [
        (f"{relation} head {i}", relation, f"{relation} tail {tail % n_tails}")
        for relation in relations
        for i in range(n_heads)
        for tail in ((i,) if i % 3 else (i, i + 1))
    ]


def read_bytes(folder: Path, pattern: str = "**/*") -> dict[str, str]:
    """Return path within the folder -> checksum, for every file."""
    files = [path for path in sorted(folder.glob(pattern)) if path.is_file()]
    return {str(p.relative_to(folder)): hashlib.sha256(p.read_bytes()).hexdigest() for p in files}


def read_stamps(folder: Path, pattern: str = "**/*") -> dict[str, tuple[int, int]]:
    """Return path within the folder -> inode and time of the last change, for every file."""
    stats = {str(p.relative_to(folder)): p.stat() for p in sorted(folder.glob(pattern)) if p.is_file()}
    return {name: (stat.st_ino, stat.st_mtime_ns) for name, stat in stats.items()}


def read_record(root: Path, name: str, record: str = "run.json") -> dict[str, Any]:
    """Return the record of the only evaluation of the model with this name."""
    (path,) = root.glob(f"predictions/*/{name}-*/{record}")
    found: dict[str, Any] = json.loads(path.read_text(encoding="utf-8"))
    return found


def list_half_written(root: Path) -> list[str]:
    """Return the temporary files that an interrupted write would leave behind."""
    names = (str(path.relative_to(root)) for path in root.rglob("*"))
    return [name for name in names if ".next" in name or ".probe" in name]


def wait_for_servers_to_end(root: Path) -> bool:
    """Wait up to 20 s for Prefect's servers of the root to end, and return whether all have ended."""
    deadline = time.monotonic() + 20
    while has_servers(root) and time.monotonic() < deadline:
        time.sleep(0.1)
    return not has_servers(root)


def has_servers(root: Path) -> bool:
    """Return whether a process with the Prefect home of this root is running."""
    return bool(find_processes(f"PREFECT_HOME={root / 'prefect'}"))


def find_processes(variable: str) -> list[int]:
    """Return the ids of all running processes with this variable (NAME=VALUE) in their environment."""
    found = []
    for folder in Path("/proc").glob("[0-9]*"):
        # The process has ended, or belongs to another user. The environment of a zombie is empty.
        with contextlib.suppress(OSError):
            if variable.encode() in (folder / "environ").read_bytes().split(b"\0"):
                found.append(int(folder.name))
    return found
