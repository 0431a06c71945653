"""An installation on this machine: database, Prefect's server, web server, and workers.

`python -m deploy.local` runs it; tests call `start_installation` with free ports. Its processes end with the
process that started them.
"""

import os
import secrets
import signal
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from config.installation_names import INSTALLATION_VARIABLE, find_installation
from config.web_address import BASE_URL_VARIABLE, SERVED_ROOT_VARIABLE
from deploy.local import postgres
from deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    URL_VARIABLE,
    provide_password,
    write_client_settings,
)
from deploy.local.service import Process, Service
from deploy.local.services import (
    CLIENT_DEFAULTS,
    Ports,
    build_environment,
    build_server,
    build_web_server,
    build_workers,
    create_pool,
    remove_password,
)
from deploy.local.watchdog import INSTALLATION_MARK, start_installation_watchdog
from storage.layout import LOGS_FOLDER, POSTGRES_FOLDER

REPOSITORY = Path(__file__).parents[2]


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
    """`database`, `server`, `report`, then the workers: each needs only the services before it."""

    @property
    def workers(self) -> dict[str, Process]:
        """The processes of the workers by name: `cpu`, `gpu`, `gpu-2`, …"""
        fixed = ("database", "server", "report")
        return {name: one.process for name, one in self.services.items() if name not in fixed}

    def restart_ended(self) -> list[str]:
        """Start the services that have ended, and return their names."""
        ended = [one for one in self.services.values() if one.process.poll() is not None]
        for service in ended:
            service.start()
        return [service.name for service in ended]


@contextmanager
def start_installation(
    root: Path,
    *,
    name: str | None = None,
    n_cpu_workers: int = 1,
    n_gpu_workers: int = 1,
    ports: Ports | None = None,
    database: Path | None = None,
    folder: Path = REPOSITORY,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Installation]:
    """Start all services, and end them after the block; flow runs still active 10 s later are killed.

    Args:
        root: the data folder. The web server serves its pages and Parquet files, logs go to `logs/`,
            Prefect's files to `prefect/`.
        name: the name of the installation, after which its pools are named; by default that of the
            environment (`find_installation`).
        database: PostgreSQL's folder, `root/postgres` by default. If root starts PostgreSQL, PostgreSQL runs
            as its own user, who needs access to this folder.
        folder: the working directory of flow runs.
        variables: environment variables of all services; they override inherited ones.

    Raises:
        InputError: if a service cannot be started, or the name of the installation is not valid.
    """
    root = root.absolute()
    named, password = find_installation(name), provide_password(root)
    ports = (ports or Ports()).fill()
    marks = {INSTALLATION_MARK: secrets.token_hex(8), INSTALLATION_VARIABLE: named.name}
    report_url = f"http://127.0.0.1:{ports.report}/"
    # Somebody may have put a proxy with another address in front of the web server.
    links = {
        BASE_URL_VARIABLE: os.environ.get(BASE_URL_VARIABLE, report_url),
        SERVED_ROOT_VARIABLE: str(root),
    }
    environment = build_environment(root, ports.api, variables or {}, password) | marks | links
    shared = (URL_VARIABLE, PASSWORD_VARIABLE, INSTALLATION_VARIABLE, *links, *CLIENT_DEFAULTS)
    file = write_client_settings(root, {each: environment[each] for each in shared})
    installation = Installation(environment[URL_VARIABLE], report_url, environment, file, {})
    cluster = postgres.open_database(database or root / POSTGRES_FOLDER, ports.database)
    logs = root / LOGS_FOLDER
    with ExitStack() as stack:
        stack.callback(start_installation_watchdog(marks[INSTALLATION_MARK]).communicate)
        open_environment = remove_password(environment)
        _start(installation, stack, postgres.build_service(cluster, open_environment, logs / "database.log"))
        settings = cluster.build_settings()
        _start(installation, stack, build_server(environment, settings, ports.api, logs / "server.log"))
        pages = build_web_server(environment, root, ports.report, logs / "report.log")
        _start(installation, stack, pages)
        for role, limit in (("cpu", None), ("gpu", max(n_gpu_workers, 1))):
            create_pool(environment, named.name_pool(role), limit)
        for worker in build_workers(environment, n_cpu_workers, n_gpu_workers, folder, logs):
            _start(installation, stack, worker, is_waited_for=False)
        for service in installation.services.values():
            service.wait()
        # These callbacks run first: all workers end at the same time instead of one after another.
        for name in installation.workers:
            stack.callback(installation.services[name].ask_to_end)
        yield installation


def _start(
    installation: Installation, stack: ExitStack, service: Service, *, is_waited_for: bool = True
) -> None:
    service.start()
    stack.callback(service.end, signal.SIGINT if service.name == "database" else signal.SIGTERM)
    installation.services[service.name] = service
    if is_waited_for:
        service.wait()
