"""Prefect's server behind a password, for its own addresses only: ``python -m commands.deploy.server``.

The server that `prefect server start` starts answers every page that a browser on this machine shows, also
with the keys in Secret blocks. This one asks for a password (PREFECT_SERVER_API_AUTH_STRING), sends CORS
headers to its own addresses only, and refuses requests with a foreign Host header. A page sends such a header
if its name was made to point to this machine (DNS rebinding).

The module imports no other module of the project, so that it can be started by its path with ``python -P``,
whatever the working directory contains.
"""

import argparse
import gc
import os
import sys
from urllib.parse import urlsplit

PASSWORD_VARIABLE = "PREFECT_SERVER_API_AUTH_STRING"
ORIGINS_VARIABLE = "PREFECT_SERVER_API_CORS_ALLOWED_ORIGINS"
LOOPBACK = ("127.0.0.1", "localhost")


def main() -> int:
    """Run the server until a signal, and return the exit status."""
    options = _parse_options()
    if not os.environ.get(PASSWORD_VARIABLE, "").strip():
        print(
            f"commands.deploy.server: {PASSWORD_VARIABLE} is not set: choose USER:PASSWORD", file=sys.stderr
        )
        return 2
    addresses = [*(f"http://{name}:{options.port}" for name in LOOPBACK), *options.address]
    # Prefect reads its settings when it is imported.
    os.environ[ORIGINS_VARIABLE] = ",".join(addresses)
    # The UI calls the API under the address that the browser shows, so that every address and tunnel works.
    os.environ["PREFECT_UI_API_URL"] = "/api"
    _serve(options, [urlsplit(address).hostname or "" for address in addresses])
    return 0


def _serve(options: argparse.Namespace, hosts: list[str]) -> None:
    # Prefect creates a million objects that live as long as the server. The garbage collector would scan them
    # again and again.
    gc.disable()
    import uvicorn
    from prefect.server.api.server import create_app
    from prefect.server.events.models import automations
    from prefect.settings import get_current_settings
    from prefect.utilities.asyncutils import create_task
    from starlette.middleware.trustedhost import TrustedHostMiddleware

    # With SQLite, Prefect 3.7 blocks its event loop after a change of an automation until a lock is free that
    # another task of the same loop may hold: https://github.com/PrefectHQ/prefect/issues/23055. With this,
    # a task waits for the lock instead.
    automations.run_coro_as_sync = create_task  # type: ignore[attr-defined, assignment]
    settings = get_current_settings().server
    # The check is around Prefect's application and not in it: Prefect's own services call the application in
    # memory, under another host name.
    app = TrustedHostMiddleware(create_app(final=True), allowed_hosts=hosts, www_redirect=False)
    gc.freeze()
    gc.enable()
    uvicorn.run(
        app,
        host=options.host,
        port=options.port,
        log_level=options.log_level,
        timeout_keep_alive=settings.api.keepalive_timeout,
        ws_ping_interval=settings.api.websocket_ping_interval,
        ws_ping_timeout=settings.api.websocket_ping_timeout,
        lifespan="on",
    )


def _parse_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(prog="python -m commands.deploy.server", description=__doc__)
    parser.add_argument("--host", default=LOOPBACK[0], help="the address to listen on (default: 127.0.0.1)")
    parser.add_argument("--port", type=int, default=4200, help="the port to listen on (default: 4200)")
    # Not debug: then uvicorn logs the first message of every WebSocket, which is the password.
    levels = ("critical", "error", "warning", "info")
    parser.add_argument("--log-level", default="warning", choices=levels, help="default: warning")
    parser.add_argument(
        "--address",
        type=_read_origin,
        action="append",
        default=[],
        metavar="URL",
        help="another address under which browsers or workers reach the server (repeat for several)",
    )
    return parser.parse_args()


def _read_origin(text: str) -> str:
    """Return scheme, host and port of the address, as a browser writes them in the header Origin."""
    parts = urlsplit(text.strip())
    is_http = parts.scheme in ("http", "https") and parts.hostname
    if not is_http or {"*", ","} & set(parts.netloc):
        raise argparse.ArgumentTypeError(f"{text!r}: give an address such as http://first-host:4200")
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2].lower()}"


if __name__ == "__main__":
    sys.exit(main())
