"""Checks of the Prefect server and its work pools, through its HTTP API."""

import base64
import os
from importlib.metadata import version
from urllib.parse import urlsplit

from preflight.findings import Finding
from primitives.http_client import HttpReply, fetch

POOLS = ("cpu", "gpu")
DEPLOY = "pretexeval deploy CONFIG"


def check_server(n_gpus: int) -> list[Finding]:
    """The server named in the environment, its version, and a check per work pool."""
    address = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not address:
        return [Finding("Prefect", "ok", "no server (PREFECT_API_URL is not set): flows run in process")]
    shown = _show(address)
    answer = fetch(f"{address}/health", authorize())
    if answer.status != 200:
        return [_explain(shown, answer)]
    theirs, ours = fetch(f"{address}/admin/version", authorize()).read_json(), version("prefect")
    found = f"{shown} answers, version {theirs or 'not told'}"
    server = Finding("Prefect", "ok", found)
    if theirs != ours:
        server = Finding("Prefect", "warning", found, f"run the server in the version of this side, {ours}")
    return [server, *_check_pools(fetch(f"{address}/work_pools/filter", authorize(), {}), n_gpus)]


def _show(address: str) -> str:
    """The address without user and password."""
    parts = urlsplit(address)
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def authorize() -> str | None:
    """The header that the server asks for; null where none is set."""
    if key := os.environ.get("PREFECT_API_KEY"):
        return f"Bearer {key}"
    if pair := os.environ.get("PREFECT_API_AUTH_STRING"):
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None


def _explain(shown: str, answer: HttpReply) -> Finding:
    if answer.status in (401, 403):
        remedy = "set PREFECT_API_AUTH_STRING (or PREFECT_API_KEY)"
        return Finding("Prefect", "failing", f"{shown} refuses us (HTTP {answer.status})", remedy)
    reason = answer.error or f"HTTP {answer.status}"
    remedy = "start it (`prefect server start`), mend PREFECT_API_URL (it ends in /api), or unset it"
    return Finding("Prefect", "failing", f"{shown} does not answer ({reason})", remedy)


def _check_pools(answer: HttpReply, n_gpus: int) -> list[Finding]:
    pools = answer.read_json()
    if answer.status != 200 or not isinstance(pools, list):
        reason = answer.error or f"HTTP {answer.status}"
        return [Finding("work pools", "warning", f"the server does not tell them ({reason})", "see its log")]
    there = {str(pool.get("name")): pool for pool in pools if isinstance(pool, dict)}
    return [_check_pool(name, there.get(name), n_gpus) for name in POOLS]


def _check_pool(name: str, pool: dict[str, object] | None, n_gpus: int) -> Finding:
    """Only schedules and deployments need a pool: what is wrong with one stops no `pretexeval run`."""
    title = f"pool {name}"
    if pool is None:
        return Finding(title, "warning", "not there: scheduled runs cannot start", DEPLOY)
    limit = pool.get("concurrency_limit")
    found = f"{pool.get('type')}, " + ("no limit" if limit is None else f"{limit} at once")
    if pool.get("is_paused"):
        return Finding(title, "warning", f"{found}, paused", f"prefect work-pool resume {name}")
    if pool.get("status") == "NOT_READY":
        return Finding(title, "warning", f"{found}, no worker", f"prefect worker start --pool {name}")
    most = max(n_gpus, 1)
    if name == "gpu" and (not isinstance(limit, int) or limit > most):
        remedy = f"prefect work-pool set-concurrency-limit gpu {most} (per host with so many GPUs)"
        return Finding(title, "warning", f"{found}, and {most} model fits here", remedy)
    return Finding(title, "ok", found)
