"""Checks of the Prefect server and its work pools, through the server's HTTP API."""

import os
from collections.abc import Iterable
from importlib.metadata import version
from urllib.parse import urlsplit

from config.installation_names import find_installation
from deploy.local.client_settings import authorize
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.http_client import HttpReply, fetch

ROLES = ("cpu", "gpu")
DEPLOY = "pretexeval deploy CONFIG"


def check_server(n_gpus: int, pools: Iterable[str] = ()) -> list[Finding]:
    """Check the server that the environment names, its version, and its work pools.

    Args:
        n_gpus: the number of GPUs of this machine.
        pools: the roles of the work pools that models name, which are checked besides the usual two.
    """
    address = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not address:
        return [Finding("Prefect", "ok", "no server (PREFECT_API_URL is not set): flows run in process")]
    shown = _show(address)
    header = authorize(os.environ)
    problem, theirs = _ask_version(address, header)
    if problem is not None:
        return [problem]
    ours = version("prefect")
    found = f"{shown} answers, version {theirs or 'unknown'}"
    server = Finding("Prefect", "ok", found)
    if theirs != ours:
        remedy = f"run the server in version {ours}, as it is installed here"
        server = Finding("Prefect", "warning", found, remedy)
    roles = tuple(dict.fromkeys((*ROLES, *pools)))
    return [server, *_check_pools(fetch(f"{address}/work_pools/filter", header, {}), n_gpus, roles)]


def require_server() -> None:
    """Check that the environment names a Prefect server that lets this process in.

    Raises:
        InputError: it does not, with the reason and the remedy.
    """
    problem, _ = _ask_version(os.environ["PREFECT_API_URL"].rstrip("/"), authorize(os.environ))
    if problem is not None:
        raise InputError(f"PREFECT_API_URL: {problem.found}; {problem.remedy}")


def _ask_version(address: str, header: str | None) -> tuple[Finding | None, object]:
    """Return what is wrong with the server, or None, and its version."""
    reply = fetch(f"{address}/health", header)
    if reply.status != 200:
        return _explain(_show(address), reply), None
    # A server of Prefect answers with this JSON value. The path needs no password, but the next one does.
    if reply.read_json() is not True:
        remedy = "correct PREFECT_API_URL (it ends in /api), or unset it"
        return Finding("Prefect", "failing", f"{_show(address)} is not a Prefect server", remedy), None
    reply = fetch(f"{address}/admin/version", header)
    refused = reply.status in (401, 403)
    return _explain(_show(address), reply) if refused else None, reply.read_json()


def _show(address: str) -> str:
    """Return the address without user and password."""
    try:
        parts = urlsplit(address)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def _explain(shown: str, reply: HttpReply) -> Finding:
    if reply.status in (401, 403):
        remedy = "set PREFECT_API_AUTH_STRING (or PREFECT_API_KEY), or load ROOT/prefect/client.env"
        return Finding("Prefect", "failing", f"{shown} refuses access (HTTP {reply.status})", remedy)
    reason = reply.error or f"HTTP {reply.status}"
    remedy = "start it (`prefect server start`), correct PREFECT_API_URL (it ends in /api), or unset it"
    return Finding("Prefect", "failing", f"{shown} does not answer ({reason})", remedy)


def _check_pools(reply: HttpReply, n_gpus: int, roles: Iterable[str]) -> list[Finding]:
    pools = reply.read_json()
    if reply.status != 200 or not isinstance(pools, list):
        reason = reply.error or f"HTTP {reply.status}"
        found = f"the server does not list its work pools ({reason})"
        return [Finding("work pools", "warning", found, "see the server's log")]
    by_name = {str(pool.get("name")): pool for pool in pools if isinstance(pool, dict)}
    installation = find_installation()
    names = {role: installation.name_pool(role) for role in roles}
    return [_check_pool(role, name, by_name.get(name), n_gpus) for role, name in names.items()]


def _check_pool(role: str, name: str, pool: dict[str, object] | None, n_gpus: int) -> Finding:
    """Check one pool; a problem is only a warning, because `pretexeval run` needs no pool."""
    title = f"pool {name}"
    if pool is None:
        return Finding(title, "warning", "does not exist: scheduled runs cannot start", DEPLOY)
    limit = pool.get("concurrency_limit")
    found = f"{pool.get('type')}, " + ("no limit" if limit is None else f"{limit} at once")
    if pool.get("is_paused"):
        return Finding(title, "warning", f"{found}, paused", f"prefect work-pool resume {name}")
    if pool.get("status") == "NOT_READY":
        return Finding(title, "warning", f"{found}, no worker", f"prefect worker start --pool {name}")
    most = max(n_gpus, 1)
    if role == "gpu" and (not isinstance(limit, int) or limit > most):
        remedy = f"prefect work-pool set-concurrency-limit {name} {most} (for each host with as many GPUs)"
        return Finding(title, "warning", f"{found}, but this machine has room for {most} at once", remedy)
    return Finding(title, "ok", found)
