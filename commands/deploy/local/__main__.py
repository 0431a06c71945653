"""Run the services of docker-compose.yml without containers: ``python -m commands.deploy.local --root data``.

The command runs until Ctrl-C and restarts services that end.
"""

import argparse
import signal
import sys

from commands.arguments import add_root, read_path
from commands.deploy.cards import HELP, list_default_workers, read_gpu_worker
from commands.deploy.local.installation import start_installation
from commands.deploy.local.services import Ports
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import bypass_proxies


def main() -> int:
    """Run the services until a signal, and return the exit status."""
    options = _parse_options()
    # Handle SIGTERM like Ctrl-C, so that the services end in order.
    signal.signal(signal.SIGTERM, signal.default_int_handler)
    for warning in bypass_proxies():
        print(f"commands.deploy.local: {warning}", file=sys.stderr)
    try:
        with start_installation(
            options.root,
            name=options.installation,
            n_cpu_workers=options.cpu_workers,
            gpu_workers=list_default_workers() if options.gpus is None else list(filter(None, options.gpus)),
            ports=Ports(options.port, options.report_port),
            database=options.database,
        ) as installation:
            print(
                f"export PREFECT_API_URL={installation.api_url}\n"
                f"report pages: {installation.report_url}\n"
                f"address and password for other shells: source {installation.client_settings}",
                flush=True,
            )
            installation.supervisor.wait()
            print("commands.deploy.local: supervisord has ended", file=sys.stderr)
            return 1
    except InputError as error:
        print(f"commands.deploy.local: {error}", file=sys.stderr)
        return 2
    except KeyboardInterrupt:
        return 0


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m commands.deploy.local", description=__doc__)
    add_root(parser)
    parser.add_argument(
        "--installation",
        metavar="NAME",
        help="the name of this installation, after which its pools are named (default: that of the variable "
        "PRETEXEVAL_INSTALLATION, or else pretexeval)",
    )
    parser.add_argument("--database", type=read_path, help="PostgreSQL's folder (default: ROOT/postgres)")
    parser.add_argument("--cpu-workers", type=int, default=1, help="workers of the pool cpu (default: 1)")
    parser.add_argument(
        "--gpus",
        type=lambda text: None if text == "none" else read_gpu_worker(text),
        action="append",
        metavar="[POOL=]CARDS",
        help=f"{HELP}. none: no worker (default: one for each card of this host, or one without a card)",
    )
    parser.add_argument("--port", type=int, default=4200, help="port of Prefect's server (default: 4200)")
    parser.add_argument("--report-port", type=int, default=8080, help="port of the pages (default: 8080)")
    return parser.parse_args()


if __name__ == "__main__":
    sys.exit(main())
