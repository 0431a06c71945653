"""The processes of docker-compose.yml without containers: database, server, workers, web server.

`python -m deploy.local.processes --root data` runs them until Ctrl-C and starts again what ends; a test opens
`start_processes` instead, on free ports. Either way they end with the process that started them.
"""

import argparse
import secrets
import signal
import sys
import time
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path

from deploy.local import postgres
from deploy.local.guard import MARK, start_guard
from deploy.local.service import Process, Service
from deploy.local.services import (
    Ports,
    create_pool,
    write_environment,
    write_server,
    write_web_server,
    write_workers,
)
from primitives.errors import InputError

REPOSITORY = Path(__file__).parents[2]
PAUSE_S = 5.0


@dataclass(frozen=True)
class Running:
    """An installation that is up."""

    api_url: str
    report_url: str
    environment: dict[str, str]
    """For commands that talk to it: PREFECT_API_URL, and what else its own processes have."""
    services: dict[str, Service]
    """`database`, `server`, `report`, then the workers: each needs only those before it."""

    @property
    def workers(self) -> dict[str, Process]:
        """By name: `cpu`, `gpu`, `gpu-2`, …"""
        fixed = ("database", "server", "report")
        return {name: one.process for name, one in self.services.items() if name not in fixed}

    def restart_database(self, number: signal.Signals = signal.SIGINT) -> None:
        """End it (SIGINT: connections are closed; SIGQUIT: as a crash) and return when it is up again."""
        _restart(self.services["database"], number)

    def restart_server(self, number: signal.Signals = signal.SIGTERM) -> None:
        """End it and return when it answers again, at the same address."""
        _restart(self.services["server"], number)

    def restart_worker(self, name: str) -> None:
        """Start it again, ended or not, and return when it asks for work."""
        _restart(self.services[name], signal.SIGTERM)

    def kill_worker(self, name: str, *, spares_runs: bool = False) -> None:
        """`kill -9`, with the flow runs that it has started unless they are spared."""
        self.services[name].kill(spares_children=spares_runs)

    def revive(self) -> list[str]:
        """Start again what has ended; the names."""
        ended = [one for one in self.services.values() if one.process.poll() is not None]
        for service in ended:
            service.start()
        return [service.name for service in ended]


def _restart(service: Service, number: signal.Signals) -> None:
    service.end(number)
    service.start()
    service.wait()


@contextmanager
def start_processes(
    root: Path,
    *,
    n_cpu_workers: int = 1,
    n_gpu_workers: int = 1,
    ports: Ports | None = None,
    database: Path | None = None,
    folder: Path = REPOSITORY,
    variables: Mapping[str, str] | None = None,
) -> Iterator[Running]:
    """All of it, up while the block lasts; a run that a worker still has 10 s after that is killed.

    Args:
        root: the data folder; its `report/` is served, logs go to `logs/`, Prefect's files to `prefect/`.
        database: PostgreSQL's folder, `root/postgres` unless given. Started by root, PostgreSQL runs as
            its own user, who has to be able to enter it.
        folder: where the flow runs run.
        variables: environment of all of them, before anything inherited.

    Raises:
        InputError: if one of them cannot be started.
    """
    root = root.absolute()
    ports = (ports or Ports()).fill()
    mark = secrets.token_hex(8)
    environment = write_environment(root, ports.api, variables or {}) | {MARK: mark}
    running = Running(environment["PREFECT_API_URL"], f"http://127.0.0.1:{ports.report}/", environment, {})
    cluster = postgres.open_database(database or root / "postgres", ports.database)
    logs = root / "logs"
    with ExitStack() as stack:
        stack.callback(start_guard(mark).communicate)
        _start(running, stack, postgres.write_service(cluster, environment, logs / "database.log"))
        settings = cluster.write_settings()
        _start(running, stack, write_server(environment, settings, ports.api, logs / "server.log"))
        pages = write_web_server(environment, root / "report", ports.report, logs / "report.log")
        _start(running, stack, pages)
        for pool in ("cpu", "gpu"):
            create_pool(running.api_url, pool)
        for worker in write_workers(environment, n_cpu_workers, n_gpu_workers, folder, logs):
            _start(running, stack, worker, is_waited_for=False)
        for service in running.services.values():
            service.wait()
        # Called first: the workers end at once instead of one after the other.
        for name in running.workers:
            stack.callback(running.services[name].ask_to_end)
        yield running


def _start(running: Running, stack: ExitStack, service: Service, *, is_waited_for: bool = True) -> None:
    service.start()
    stack.callback(service.end, signal.SIGINT if service.name == "database" else signal.SIGTERM)
    running.services[service.name] = service
    if is_waited_for:
        service.wait()


def main() -> int:
    """Run them until a signal; the exit status."""
    options = _parse_options()
    # As Ctrl-C: the processes are ended in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    ports = Ports(options.port, options.report_port, 0)
    numbers = {"n_cpu_workers": options.cpu_workers, "n_gpu_workers": options.gpu_workers}
    try:
        with start_processes(options.root, **numbers, ports=ports, database=options.database) as running:
            print(f"export PREFECT_API_URL={running.api_url}\nreport pages: {running.report_url}", flush=True)
            while True:
                time.sleep(PAUSE_S)
                for name in running.revive():
                    print(f"{name} had ended and was started again", flush=True)
    except InputError as error:
        print(f"deploy.local.processes: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m deploy.local.processes", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("data"), help="the data folder (default: data)")
    parser.add_argument("--database", type=Path, help="PostgreSQL's folder (default: ROOT/postgres)")
    parser.add_argument("--cpu-workers", type=int, default=1)
    parser.add_argument("--gpu-workers", type=int, default=1)
    parser.add_argument("--port", type=int, default=4200, help="of Prefect's server (default: 4200)")
    parser.add_argument("--report-port", type=int, default=8080, help="of the pages (default: 8080)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
