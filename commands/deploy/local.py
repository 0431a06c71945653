"""Run an installation on this machine: ``python -m commands.deploy.local --root data``.

The services are in `supervisord.conf`: Prefect's server, the web server of the pages, and the workers. The
command runs until Ctrl-C. The data folder gets a file with the address and the password of the server, which
only its owner can read; `source` loads it into a shell.
"""

import argparse
import os
import secrets
import shlex
import sys
from pathlib import Path

from commands.arguments import add_root
from pretexeval.config.engines import DEFAULT_POOL
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import bypass_proxies
from pretexeval.primitives.process import ALLOCATOR_VARIABLES
from pretexeval.storage.layout import CLIENT_SETTINGS, LOGS_FOLDER, PAGES_FOLDER, PREFECT_FOLDER

CONFIGURATION = Path(__file__).with_name("supervisord.conf")
PASSWORD_VARIABLE = "PREFECT_API_AUTH_STRING"
SERVER_PASSWORD_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
# For workers, also on other hosts.
CLIENT_DEFAULTS = {
    # By default a run starts 9-16 s after it is scheduled; this setting halves the delay.
    "PREFECT_WORKER_QUERY_SECONDS": "2",
    # The server answers 500 while its database restarts. Clients retry; without this setting, a worker that
    # was starting a run at that moment ended.
    "PREFECT_CLIENT_RETRY_EXTRA_CODES": "500",
    # Show these loggers in the UI as well: they say what a run is waiting for (an endpoint, another host).
    "PREFECT_LOGGING_EXTRA_LOGGERS": "pretexeval,tasks",
}
# By default Prefect's server keeps runs for ever. With this setting it removes them, their logs and their
# artifacts after 90 days.
KEEP_RUNS = {"PREFECT_SERVER_SERVICES_DB_VACUUM_ENABLED": "events,flow_runs"}
SERVER_DEFAULTS = {
    # The database of the system's PostgreSQL that belongs to this user. With two workers, SQLite returned
    # about 440 "database is locked" errors in three minutes, and PostgreSQL none.
    "PREFECT_SERVER_DATABASE_CONNECTION_URL": "postgresql+asyncpg:///prefect?host=/var/run/postgresql",
    # The UI calls the API under the address that the browser shows, so that every address and tunnel works.
    "PREFECT_UI_API_URL": "/api",
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
    "PREFECT_SERVER_ANALYTICS_ENABLED": "false",
    "DO_NOT_TRACK": "1",
}


def create_password() -> str:
    """Return a new password in Prefect's form, user and password."""
    return f"pretexeval:{secrets.token_hex(24)}"


def provide_client_settings(root: Path, port: int, report_port: int) -> dict[str, str]:
    """Write the file of the variables for commands and workers, and return them.

    The password is that of the environment, or of the file, or else a new one.
    """
    path, password = root / CLIENT_SETTINGS, os.environ.get(SERVER_PASSWORD_VARIABLE, "").strip()
    if not (password.isascii() and password.isprintable()):
        raise InputError(f"{SERVER_PASSWORD_VARIABLE}: use only printable ASCII characters")
    if not password and path.exists():
        words = shlex.split(path.read_text(encoding="utf-8"), comments=True)
        password = dict(word.split("=", 1) for word in words if "=" in word).get(PASSWORD_VARIABLE, "")
    settings = CLIENT_DEFAULTS | {
        "PREFECT_API_URL": f"http://127.0.0.1:{port}/api",
        PASSWORD_VARIABLE: password or create_password(),
        # Somebody may have put a proxy with another address in front of the web server.
        "PRETEXEVAL_BASE_URL": os.environ.get("PRETEXEVAL_BASE_URL", f"http://127.0.0.1:{report_port}"),
        "PRETEXEVAL_SERVED_ROOT": str(root),
    }
    lines = [f"export {name}={shlex.quote(value)}\n" for name, value in settings.items()]
    with os.fdopen(os.open(path, os.O_CREAT | os.O_TRUNC | os.O_WRONLY, 0o600), "w") as file:
        file.write("".join(lines))
    return settings


def main() -> None:
    """Replace this process by `supervisord`."""
    options = _parse_options()
    root: Path = options.root.absolute()
    for warning in bypass_proxies():
        print(f"commands.deploy.local: {warning}", file=sys.stderr)
    try:
        for folder in (PREFECT_FOLDER, LOGS_FOLDER, PAGES_FOLDER):
            (root / folder).mkdir(parents=True, exist_ok=True)
        settings = provide_client_settings(root, options.port, options.report_port)
    except InputError as error:
        print(f"commands.deploy.local: {error}", file=sys.stderr)
        sys.exit(2)
    pools = options.pool or [DEFAULT_POOL]
    own = {
        SERVER_PASSWORD_VARIABLE: settings[PASSWORD_VARIABLE],
        "PREFECT_HOME": str(root / PREFECT_FOLDER),
        "SERVER_PORT": str(options.port),
        "REPORT_PORT": str(options.report_port),
        "N_CPU_WORKERS": str(options.cpu_workers),
        "GPU_POOLS": " ".join(pools),
        "N_GPU_WORKERS": str(len(pools)),
        # A service that may not keep what Python compiles would compile it again at every start.
        "PYTHONDONTWRITEBYTECODE": "",
        "PATH": f"{Path(sys.executable).parent}:{os.environ['PATH']}",
    }
    print(
        f"Prefect: http://127.0.0.1:{options.port}\npages: {settings['PRETEXEVAL_BASE_URL']}\n"
        f"address and password for other shells: source {shlex.quote(str(root / CLIENT_SETTINGS))}",
        flush=True,
    )
    command = [sys.executable, "-m", "supervisor.supervisord", "-c", str(CONFIGURATION)]
    environment = SERVER_DEFAULTS | ALLOCATOR_VARIABLES | os.environ | settings | own
    os.execve(sys.executable, command, environment)


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m commands.deploy.local", description=__doc__)
    add_root(parser)
    parser.add_argument("--cpu-workers", type=int, default=1, help="workers of the pool cpu (default: 1)")
    parser.add_argument(
        "--pool",
        action="append",
        help="a work pool of models in vLLM that this host serves; repeat the option for others. Each has a "
        f"worker, and its runs take the cards that their models need (default: {DEFAULT_POOL})",
    )
    parser.add_argument("--port", type=int, default=4200, help="port of Prefect's server (default: 4200)")
    parser.add_argument("--report-port", type=int, default=8080, help="port of the pages (default: 8080)")
    return parser.parse_args()


if __name__ == "__main__":
    main()
