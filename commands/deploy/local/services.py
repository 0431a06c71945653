"""The services of an installation, and the configuration of the supervisor that runs them."""

import os
import shlex
import shutil
import socket
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from dataclasses import dataclass, field
from pathlib import Path

from commands.deploy.cards import GpuWorker, build_worker_command
from commands.deploy.local.client_settings import (
    PASSWORD_VARIABLE,
    SERVER_PASSWORD_VARIABLE,
    URL_VARIABLE,
    authorize,
    list_workers,
)
from commands.deploy.local.postgres import Database
from pretexeval.config.installation_names import (
    CPU_POOL,
    DEFAULT_POOL,
    INSTALLATION_VARIABLE,
    InstallationNames,
)
from pretexeval.primitives.http_client import fetch_local, list_bypassed
from pretexeval.primitives.process import ALLOCATOR_VARIABLES
from pretexeval.storage.layout import PREFECT_FOLDER

REPOSITORY = Path(__file__).parents[3]
# It is started by its path, with -P, so that no folder of a user takes the place of a module.
SERVER_FILE = REPOSITORY / "commands" / "deploy" / "server.py"
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
# By default Prefect's server keeps runs for ever. With this setting it removes them, their logs and their
# artifacts after 90 days.
KEEP_RUNS = {"PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs"}
DEFAULTS = CLIENT_DEFAULTS | {
    **ALLOCATOR_VARIABLES,
    # Keep the leases of concurrency limits (one `regenerate` at a time) in files under PREFECT_HOME. Leases
    # in memory are lost when the server restarts, and Prefect then ends the run that held the limit.
    "PREFECT_SERVER_CONCURRENCY_LEASE_STORAGE": "prefect.server.concurrency.lease_storage.filesystem",
    **KEEP_RUNS,
    # A run that no worker takes within a quarter of an hour is late, and is notified. By default it is late
    # after 15 s, in which a worker is not even restarted.
    "PREFECT_SERVER_SERVICES_LATE_RUNS_AFTER_SECONDS": "900",
    # A run that is cancelled while its process starts does not begin. If its worker does not notice that, the
    # server ends it after this time; by default after 300 s.
    "PREFECT_SERVER_SERVICES_CANCELLATION_CLEANUP_CANCELLING_TIMEOUT_SECONDS": "60",
    # Show these loggers in the UI as well: they say what a run is waiting for (an endpoint, another host).
    "PREFECT_LOGGING_EXTRA_LOGGERS": "pretexeval.engines,tasks",
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}
# For services that do not use the password of Prefect's server.
NO_PASSWORD = {PASSWORD_VARIABLE: "", SERVER_PASSWORD_VARIABLE: ""}
# Variables with these prefixes belong to another installation, or to the process that starts this one.
NOT_INHERITED = (
    "PREFECT__",
    "PREFECT_API_",
    "PREFECT_SERVER_DATABASE_",
    "PREFECT_PROFILE",
    "PREFECT_HOME",
    SERVER_PASSWORD_VARIABLE,
)
HEAD = """\
[supervisord]
logfile={logs}/supervisord.log
pidfile={path}.pid
{user}
[unix_http_server]
file={socket_file}
[rpcinterface:supervisor]
supervisor.rpcinterface_factory=supervisor.rpcinterface:make_main_rpcinterface
"""
# All workers end at the same time, and first: the others have a lower priority.
GROUP = """
[group:workers]
programs={}
"""
# A service that ends within startsecs is started again after a pause, which becomes longer each time. The
# flow runs of a worker are in its process group.
PROGRAM = """
[program:{name}]
command={command}
directory={service.folder}
environment={variables}
{user}
priority={priority}
autostart=false
autorestart=true
startsecs=10
startretries=1000000
stopsignal={service.stop_signal}
stopasgroup={service.is_worker}
killasgroup=true
stopwaitsecs=10
redirect_stderr=true
stdout_logfile={log}
stdout_logfile_maxbytes=10MB
stdout_logfile_backups=4
"""


def stop(process: "subprocess.Popen[bytes]", timeout_s: float) -> None:
    """Ask a process to end, and kill it if it takes longer."""
    process.terminate()
    try:
        process.wait(timeout_s)
    except subprocess.TimeoutExpired:
        process.kill()
        process.wait()


def end_with_parent(command: list[str], signal: str = "KILL") -> list[str]:
    """Return the command with a prefix by which Linux sends its process a signal when the parent ends."""
    setpriv = shutil.which("setpriv")
    return [setpriv, "--pdeathsig", signal, "--", *command] if setpriv else command


@dataclass(frozen=True)
class Service:
    """One process of an installation."""

    command: list[str]
    is_ready: Callable[[], bool]
    """Returns whether the service is ready for use."""
    variables: Mapping[str, str] = field(default_factory=dict)
    """Its environment besides that of all services."""
    folder: Path = Path("/")
    """Its working directory."""
    stop_signal: str = "TERM"
    user: str | None = None
    """The user that it runs as; None for the user that starts it."""
    is_worker: bool = False


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


def build_environment(root: Path, port: int, password: str) -> dict[str, str]:
    """Return the environment of all services: inherited variables, then DEFAULTS."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith(NOT_INHERITED)}
    ours = {
        URL_VARIABLE: f"http://127.0.0.1:{port}/api",
        PASSWORD_VARIABLE: password,
        SERVER_PASSWORD_VARIABLE: password,
        "PREFECT_HOME": str(root / PREFECT_FOLDER),
    }
    return DEFAULTS | inherited | ours | list_bypassed(inherited)


def list_services(
    root: Path,
    ports: Ports,
    environment: Mapping[str, str],
    database: Database,
    n_cpu_workers: int,
    gpu_workers: Sequence[GpuWorker],
    folder: Path,
) -> dict[str, Service]:
    """Return `database`, `server`, `report` and the workers; each needs only the services before it.

    Args:
        n_cpu_workers: how many workers serve the pool `cpu`.
        gpu_workers: the workers of the other pools; each takes one run at a time.
        folder: the working directory of flow runs.
    """
    api, pages = environment[URL_VARIABLE], f"http://127.0.0.1:{ports.report}/healthz"
    services = {
        "database": Service(
            database.command,
            is_ready=database.is_ready,
            variables={**NO_PASSWORD, "LC_ALL": "C"},
            # The fast shutdown, which does not wait for clients.
            stop_signal="INT",
            user=database.user,
        ),
        # The server creates or migrates the tables of its database when it starts.
        "server": Service(
            [sys.executable, "-P", str(SERVER_FILE), "--port", str(ports.api)],
            is_ready=lambda: fetch_local(f"{api}/ready").is_success,
            variables=database.build_settings(),
        ),
        "report": Service(
            [sys.executable, "-m", "commands.deploy.local.web_server", str(root), str(ports.report)],
            is_ready=lambda: fetch_local(pages).is_success,
            variables=NO_PASSWORD,
            folder=REPOSITORY,
        ),
    }
    for number in range(n_cpu_workers):
        name = _number(CPU_POOL, number)
        services[name] = _build_worker(environment, name, GpuWorker(CPU_POOL), folder)
    for number, worker in enumerate(gpu_workers):
        name = _number(DEFAULT_POOL, number)
        services[name] = _build_worker(environment, name, worker, folder, "--limit", "1")
    return services


def _number(role: str, number: int) -> str:
    """Return the name of a worker: `gpu`, `gpu-2`, `gpu-3`, …"""
    return f"{role}-{number + 1}" if number else role


def _build_worker(
    environment: Mapping[str, str], name: str, worker: GpuWorker, folder: Path, *limit: str
) -> Service:
    """Return a process worker of a pool; it starts each flow run as a process in `folder`."""
    pool = InstallationNames(environment[INSTALLATION_VARIABLE]).name_pool(worker.pool)
    return Service(
        build_worker_command(pool, "--name", name, *limit),
        is_ready=lambda: name in list_workers(environment, pool),
        variables=worker.variables,
        folder=folder,
        is_worker=True,
    )


def create_pool(environment: Mapping[str, str], name: str) -> None:
    """Create a pool of process workers unless it exists; two workers that create it themselves would race."""
    pools, authorization = f"{environment[URL_VARIABLE]}/work_pools/", authorize(environment)
    if not fetch_local(f"{pools}{name}", authorization=authorization).is_success:
        pool = {"name": name, "type": "process"}
        fetch_local(pools, pool, authorization)


def write_configuration(path: Path, socket_file: Path, services: Mapping[str, Service], logs: Path) -> None:
    """Write the configuration of `supervisord`, which only its owner can read."""
    user = "user=root" if os.geteuid() == 0 else ""
    head = HEAD.format(logs=logs, path=path, socket_file=socket_file, user=user)
    workers = [name for name, service in services.items() if service.is_worker]
    group = GROUP.format(",".join(workers)) if workers else ""
    programs = (
        PROGRAM.format(
            name=name,
            # A killed supervisord must not leave its services behind.
            command=shlex.join(end_with_parent(service.command, service.stop_signal)),
            variables=",".join(f'{key}="{value}"' for key, value in service.variables.items()),
            user=f"user={service.user}" if service.user else "",
            priority=number,
            service=service,
            log=logs / f"{name}.log",
        )
        for number, (name, service) in enumerate(services.items())
    )
    path.parent.mkdir(parents=True, exist_ok=True)
    path.unlink(missing_ok=True)
    with os.fdopen(os.open(path, os.O_CREAT | os.O_EXCL | os.O_WRONLY, 0o600), "w") as file:
        file.write("".join([head, *programs, group]).replace("%", "%%"))
