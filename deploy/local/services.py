"""The processes of an installation, each as the command that starts it and how it shows that it is up."""

import os
import socket
import sys
from collections.abc import Mapping
from dataclasses import dataclass
from datetime import UTC, datetime
from pathlib import Path

from deploy.local.service import Service
from primitives.http_client import fetch_local

DEFAULTS = {
    # From queue to start 9-16 s by default; half of it so.
    "PREFECT_WORKER_QUERY_SECONDS": "2",
    # A run whose process is gone is noticed by its silence.
    "PREFECT_FLOWS_HEARTBEAT_FREQUENCY": "30",
    # A server whose database restarts answers 500; a worker that met one as it started a run ended.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    # Who holds a limit (one `regenerate` at a time) is kept in files, under PREFECT_HOME: a server that
    # forgot it as it restarted would have the run ended that holds it.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    # What is waited for (an endpoint, another host) is told in the UI as well.
    "PREFECT_LOGGING_EXTRA_LOGGERS": "engines,tasks",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
# They belong to another installation, or to the process that starts this one.
NOT_INHERITED = ("PREFECT__", "PREFECT_API_", "PREFECT_SERVER_DATABASE_", "PREFECT_PROFILE", "PREFECT_HOME")


@dataclass(frozen=True)
class Ports:
    """On loopback; 0: a free one."""

    api: int = 0
    report: int = 0
    database: int = 0

    def fill(self) -> "Ports":
        """With free ports for those that are 0."""
        sockets = [socket.create_server(("127.0.0.1", 0)) for _ in range(3)]
        free = [listener.getsockname()[1] for listener in sockets]
        for listener in sockets:
            listener.close()
        return Ports(self.api or free[0], self.report or free[1], self.database or free[2])


def write_environment(root: Path, port: int, variables: Mapping[str, str]) -> dict[str, str]:
    """What all of them share: what is given goes before what is inherited, and that before DEFAULTS."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    ours = {"PREFECT_API_URL": f"http://127.0.0.1:{port}/api", "PREFECT_HOME": str(root / "prefect")}
    around = [inherited[name] for name in ("NO_PROXY", "no_proxy") if inherited.get(name)]
    around = [",".join([*around, "127.0.0.1", "localhost"])]
    return DEFAULTS | inherited | ours | dict.fromkeys(("NO_PROXY", "no_proxy"), around[0]) | dict(variables)


def write_server(
    environment: Mapping[str, str], database: Mapping[str, str], port: int, log: Path
) -> Service:
    """Prefect's server with its UI and its services; migrates its database as it starts."""
    options = ["server", "start", "--host", "127.0.0.1", "--port", str(port)]
    return Service(
        name="server",
        command=[sys.executable, "-m", "prefect", *options],
        environment={**environment, **database},
        log=log,
        is_ready=lambda: fetch_local(f"{environment['PREFECT_API_URL']}/ready").is_success,
    )


def write_web_server(environment: Mapping[str, str], folder: Path, port: int, log: Path) -> Service:
    """The pages of `report/`, as they lie there."""
    folder.mkdir(parents=True, exist_ok=True)
    options = ["--bind", "127.0.0.1", "--directory", str(folder), str(port)]
    return Service(
        name="report",
        command=[sys.executable, "-m", "http.server", *options],
        environment=environment,
        log=log,
        is_ready=lambda: fetch_local(f"http://127.0.0.1:{port}/").is_success,
    )


def write_worker(environment: Mapping[str, str], name: str, pool: str, folder: Path, log: Path) -> Service:
    """A process worker of that pool; each flow run is a process that it starts in `folder`."""
    options = ["--pool", pool, "--type", "process", "--name", name, "--no-create-pool-if-not-found"]
    # A model takes the whole GPU.
    limit = ["--limit", "1"] if pool == "gpu" else []
    service = Service(
        name=name,
        command=[sys.executable, "-m", "prefect", "worker", "start", *options, *limit],
        environment=environment,
        log=log,
        is_ready=lambda: _asks_for_work(environment["PREFECT_API_URL"], pool, service),
        folder=folder,
    )
    return service


def write_workers(
    environment: Mapping[str, str], n_cpu_workers: int, n_gpu_workers: int, folder: Path, logs: Path
) -> list[Service]:
    """`cpu`, `cpu-2`, …, `gpu`, `gpu-2`, …: where there are several for GPUs, each sees one of them."""
    workers = []
    for pool, n_workers in (("cpu", n_cpu_workers), ("gpu", n_gpu_workers)):
        for number in range(n_workers):
            name = f"{pool}-{number + 1}" if number else pool
            gpu = {"CUDA_VISIBLE_DEVICES": str(number)} if pool == "gpu" and n_workers > 1 else {}
            workers.append(write_worker({**environment, **gpu}, name, pool, folder, logs / f"{name}.log"))
    return workers


def create_pool(api_url: str, name: str) -> None:
    """A pool of process workers, unless there is one of that name; here, because two workers would race."""
    if not fetch_local(f"{api_url}/work_pools/{name}").is_success:
        fetch_local(f"{api_url}/work_pools/", {"name": name, "type": "process"})


def _asks_for_work(api_url: str, pool: str, service: Service) -> bool:
    """Whether the server has heard of the worker since it was last started."""
    workers = fetch_local(f"{api_url}/work_pools/{pool}/workers/filter", {}).read_json()
    for worker in workers if isinstance(workers, list) else []:
        heard = datetime.fromisoformat(worker["last_heartbeat_time"])
        if worker["name"] == service.name and heard >= datetime.fromtimestamp(service.started_at, UTC):
            return True
    return False
