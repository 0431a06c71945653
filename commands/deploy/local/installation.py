"""An installation on this machine: database, Prefect's server, web server, and workers.

`python -m commands.deploy.local` runs it; tests call `start_installation` with free ports. `supervisord`
starts the services and restarts those that end. It ends with the process that started it, and they end with
it.
"""

import os
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from xmlrpc.client import ServerProxy

from commands.deploy.cards import GpuWorker, require_cards_of_host
from commands.deploy.local import postgres
from commands.deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    URL_VARIABLE,
    provide_password,
    write_client_settings,
)
from commands.deploy.local.services import (
    CLIENT_DEFAULTS,
    REPOSITORY,
    Ports,
    Service,
    build_environment,
    create_pool,
    end_with_parent,
    list_services,
    stop,
    write_configuration,
)
from pretexeval.config.installation_names import (
    BASE_URL_VARIABLE,
    CPU_POOL,
    DEFAULT_POOL,
    INSTALLATION_VARIABLE,
    SERVED_ROOT_VARIABLE,
    find_installation,
)
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import LOGS_FOLDER, PAGES_FOLDER, POSTGRES_FOLDER, PREFECT_FOLDER

START_S = 180.0
"""Timeout for becoming ready. On two busy cores Prefect's server took 40 s with an empty database."""
# Ten seconds for the workers, and as many for the server, the web server and the database after them.
STOP_S = 60.0


@dataclass(frozen=True)
class Installation:
    """A running installation."""

    api_url: str
    report_url: str
    environment: dict[str, str]
    """For commands that talk to it: PREFECT_API_URL and the other variables of its own processes."""
    client_settings: Path
    """The file from which other commands and shells load the address and the password."""
    services: dict[str, Service]
    """`database`, `server`, `report`, then the workers `cpu`, `gpu`, `gpu-2`, …"""
    logs: Path
    supervisor: "subprocess.Popen[bytes]"
    control: Any
    """The methods of `supervisord` (xmlrpc): startProcess, stopProcess, getProcessInfo."""

    def name_process(self, name: str) -> str:
        """Return the name of a service for `supervisord`."""
        return f"workers:{name}" if self.services[name].is_worker else name

    def describe_process(self, name: str) -> dict[str, Any]:
        """Return the state of a service, with its `pid` and its `statename`."""
        found: dict[str, Any] = self.control.getProcessInfo(self.name_process(name))
        return found

    def start(self, name: str) -> None:
        """Start a service without waiting until it is ready."""
        self.control.startProcess(self.name_process(name), False)

    def wait(self, name: str) -> None:
        """Wait until a service is ready for the first time.

        Raises:
            InputError: it ends first, or takes longer than START_S.
        """
        deadline = time.monotonic() + START_S
        while not self.services[name].is_ready():
            has_ended = self.describe_process(name)["statename"] not in ("STARTING", "RUNNING")
            if has_ended or time.monotonic() > deadline:
                what = "ended" if has_ended else f"was not ready after {START_S:g} s"
                log = self.logs / f"{name}.log"
                lines = log.read_text(encoding="utf-8", errors="replace").splitlines()[-20:]
                raise InputError("\n".join([f"{name} {what}; {log} ends with:", *lines]))
            time.sleep(0.1)


@contextmanager
def start_installation(
    root: Path,
    *,
    name: str | None = None,
    n_cpu_workers: int = 1,
    gpu_workers: Sequence[GpuWorker] = (GpuWorker(),),
    ports: Ports | None = None,
    database: Path | None = None,
    folder: Path = REPOSITORY,
) -> Iterator[Installation]:
    """Start all services, and end them after the block; flow runs still active 10 s later are killed.

    Args:
        root: the data folder. The web server serves its pages and Parquet files, logs go to `logs/`,
            Prefect's files to `prefect/`.
        name: the name of the installation, after which its pools are named; by default that of the
            environment (`find_installation`).
        gpu_workers: the workers for models; each card belongs to one of them.
        database: PostgreSQL's folder, `root/postgres` by default. If root starts PostgreSQL, PostgreSQL runs
            as its own user, who needs access to this folder.
        folder: the working directory of flow runs.

    Raises:
        InputError: if a service cannot be started, the name of the installation is not valid, or a card
            cannot be given to a worker.
    """
    require_cards_of_host(gpu_workers)
    root = root.absolute()
    named, password = find_installation(name), provide_password(root)
    ports = (ports or Ports()).fill()
    report_url = f"http://127.0.0.1:{ports.report}/"
    # Somebody may have put a proxy with another address in front of the web server.
    links = {
        INSTALLATION_VARIABLE: named.name,
        BASE_URL_VARIABLE: os.environ.get(BASE_URL_VARIABLE, report_url),
        SERVED_ROOT_VARIABLE: str(root),
    }
    environment = build_environment(root, ports.api, password) | links
    shared = (URL_VARIABLE, PASSWORD_VARIABLE, *links, *CLIENT_DEFAULTS)
    file = write_client_settings(root, {each: environment[each] for each in shared})
    cluster = postgres.open_database(database or root / POSTGRES_FOLDER, ports.database)
    services = list_services(root, ports, environment, cluster, n_cpu_workers, gpu_workers, folder)
    logs = root / LOGS_FOLDER
    for each in (logs, root / PAGES_FOLDER):
        each.mkdir(parents=True, exist_ok=True)
    with _run_supervisor(root / PREFECT_FOLDER / "supervisord.conf", services, logs, environment) as running:
        installation = Installation(
            environment[URL_VARIABLE], report_url, environment, file, services, logs, *running
        )
        for first in ("database", "server", "report"):
            installation.start(first)
            installation.wait(first)
        for role in dict.fromkeys((CPU_POOL, DEFAULT_POOL, *(worker.pool for worker in gpu_workers))):
            create_pool(environment, named.name_pool(role))
        workers = [name for name, service in services.items() if service.is_worker]
        for worker in workers:
            installation.start(worker)
        for worker in workers:
            installation.wait(worker)
        yield installation


@contextmanager
def _run_supervisor(
    configuration: Path, services: Mapping[str, Service], logs: Path, environment: Mapping[str, str]
) -> Iterator[tuple["subprocess.Popen[bytes]", Any]]:
    """Run `supervisord` during the block; yield its process and its methods."""
    # The path of a socket must be short.
    with tempfile.TemporaryDirectory(prefix="pretexeval-") as short:
        socket_file = Path(short) / "supervisor.sock"
        write_configuration(configuration, socket_file, services, logs)
        command = [sys.executable, "-m", "supervisor.supervisord", "--nodaemon", "-c", str(configuration)]
        process = subprocess.Popen(
            end_with_parent(command, "TERM"),
            env=dict(environment),
            cwd="/",
            stdin=subprocess.DEVNULL,
            stdout=subprocess.DEVNULL,
            # Ctrl-C in a terminal signals the whole group; services end in order instead.
            start_new_session=True,
        )
        try:
            deadline = time.monotonic() + START_S
            while not socket_file.exists():
                if process.poll() is not None or time.monotonic() > deadline:
                    raise InputError(f"supervisord did not start; see {logs / 'supervisord.log'}")
                time.sleep(0.05)
            yield process, _connect(socket_file)
        finally:
            stop(process, STOP_S)


def _connect(socket_file: Path) -> Any:  # noqa: ANN401 - supervisor has no types
    from supervisor.xmlrpc import SupervisorTransport  # type: ignore[import-untyped]

    transport = SupervisorTransport(None, None, f"unix://{socket_file}")
    return ServerProxy("http://127.0.0.1", transport=transport).supervisor
