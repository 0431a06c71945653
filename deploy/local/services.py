"""The services of an installation: the command and the environment of each, and its readiness check."""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from config.installation_names import INSTALLATION_VARIABLE, InstallationNames
from deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    SERVER_PASSWORD_VARIABLE,
    URL_VARIABLE,
    authorize,
)
from deploy.local.service import Service
from primitives.http_client import fetch_local, list_bypassed
from primitives.process import ALLOCATOR_VARIABLES
from storage.layout import PAGES_FOLDER, PREFECT_FOLDER

# It is started by its path, with -P, so that no folder of a user takes the place of a module.
SERVER_FILE = Path(__file__).parents[1] / "server.py"
# Workers and commands need these as well.
CLIENT_DEFAULTS = {
    # By default a run starts 9-16 s after it is scheduled; this setting halves the delay.
    "PREFECT_WORKER_QUERY_SECONDS": "2",
    # The server notices a run whose process is gone when its heartbeats stop.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    # The server answers 500 while its database restarts. Clients retry; without this setting, a worker that
    # was starting a run at that moment ended.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
}
DEFAULTS = CLIENT_DEFAULTS | {
    **ALLOCATOR_VARIABLES,
    # Keep the leases of concurrency limits (one `regenerate` at a time) in files under PREFECT_HOME. Leases
    # in memory are lost when the server restarts, and Prefect then ends the run that held the limit.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # Show these loggers in the UI as well: they say what a run is waiting for (an endpoint, another host).
    "PREFECT_LOGGING_EXTRA_LOGGERS": "engines,tasks",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
# Variables with these prefixes belong to another installation, or to the process that starts this one.
NOT_INHERITED = (
    "PREFECT__",
    "PREFECT_API_",
    "PREFECT_SERVER_DATABASE_",
    "PREFECT_PROFILE",
    "PREFECT_HOME",
    SERVER_PASSWORD_VARIABLE,
)


@dataclass(frozen=True)
class Ports:
    """Ports on loopback; 0 stands for any free port."""

    api: int = 0
    report: int = 0
    database: int = 0

    def fill(self) -> "Ports":
        """Return the ports with a free one in place of each 0."""
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        free = [listener.getsockname()[1] for listener in sockets]
        for listener in sockets:
            listener.close()
        return Ports(self.api or free[0], self.report or free[1], self.database or free[2])


def build_environment(root: Path, port: int, variables: Mapping[str, str], password: str) -> dict[str, str]:
    """Return the environment of all services: ``variables``, then inherited ones, then DEFAULTS."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    ours = {
        URL_VARIABLE: f"http://127.0.0.1:{port}/api",
        PASSWORD_VARIABLE: password,
        "PREFECT_HOME": str(root / PREFECT_FOLDER),
    }
    return DEFAULTS | inherited | ours | list_bypassed(inherited) | dict(variables)


def build_server(
    environment: Mapping[str, str], database: Mapping[str, str], port: int, log: Path
) -> Service:
    """Return Prefect's server with UI and background services; it migrates its database when it starts."""
    return Service(
        name="server",
        command=[sys.executable, "-P", str(SERVER_FILE), "--port", str(port)],
        environment={**environment, **database, SERVER_PASSWORD_VARIABLE: environment[PASSWORD_VARIABLE]},
        log=log,
        is_ready=lambda: fetch_local(f"{environment['PREFECT_API_URL']}/ready").is_success,
    )


def build_web_server(environment: Mapping[str, str], root: Path, port: int, log: Path) -> Service:
    """Return a web server for the pages and the Parquet files of the data folder."""
    (root / PAGES_FOLDER).mkdir(parents=True, exist_ok=True)
    return Service(
        name="report",
        command=[sys.executable, "-m", "deploy.local.web_server", str(root), str(port)],
        environment=remove_password(environment),
        log=log,
        is_ready=lambda: fetch_local(f"http://127.0.0.1:{port}/healthz").is_success,
    )


def remove_password(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the environment without the password of Prefect's server, for services that do not use it."""
    return {name: value for name, value in environment.items() if name != PASSWORD_VARIABLE}


def build_worker(environment: Mapping[str, str], name: str, role: str, folder: Path, log: Path) -> Service:
    """Return a process worker of a pool; it starts each flow run as a process in `folder`.

    Args:
        role: `cpu` or `gpu`.
    """
    pool = InstallationNames(environment[INSTALLATION_VARIABLE]).name_pool(role)
    options = ["--pool", pool, "--type", "process", "--name", name, "--no-create-pool-if-not-found"]
    # A model takes the whole GPU, so a worker of this pool starts one run at a time.
    limit = ["--limit", "1"] if role == "gpu" else []
    service = Service(
        name=name,
        command=[sys.executable, "-m", "prefect", "worker", "start", *options, *limit],
        environment=environment,
        log=log,
        is_ready=lambda: _asks_for_work(environment, pool, service),
        folder=folder,
    )
    return service


def build_workers(
    environment: Mapping[str, str], n_cpu_workers: int, n_gpu_workers: int, folder: Path, logs: Path
) -> list[Service]:
    """Return the workers `cpu`, `cpu-2`, …, `gpu`, `gpu-2`, …; of several GPU workers, each sees one GPU."""
    workers = []
    for role, n_workers in (("cpu", n_cpu_workers), ("gpu", n_gpu_workers)):
        for number in range(n_workers):
            name = f"{role}-{number + 1}" if number else role
            gpu = {"CUDA_VISIBLE_DEVICES": str(number)} if role == "gpu" and n_workers > 1 else {}
            workers.append(build_worker({**environment, **gpu}, name, role, folder, logs / f"{name}.log"))
    return workers


def create_pool(environment: Mapping[str, str], name: str, limit: int | None) -> None:
    """Create a pool of process workers unless it exists; two workers that create it themselves would race."""
    pools, authorization = f"{environment[URL_VARIABLE]}/work_pools/", authorize(environment)
    if not fetch_local(f"{pools}{name}", authorization=authorization).is_success:
        pool = {"name": name, "type": "process", "concurrency_limit": limit}
        fetch_local(pools, pool, authorization)


def _asks_for_work(environment: Mapping[str, str], pool: str, service: Service) -> bool:
    """Return whether the server got a heartbeat of the worker since the worker was last started."""
    address = f"{environment[URL_VARIABLE]}/work_pools/{pool}/workers/filter"
    workers = fetch_local(address, {}, authorize(environment)).read_json()
    for worker in workers if isinstance(workers, list) else []:
        heard = datetime.fromisoformat(worker["last_heartbeat_time"])
        if worker["name"] == service.name and heard >= datetime.fromtimestamp(service.started_at, UTC):
            return True
    return False
