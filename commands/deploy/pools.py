"""Work pools of an installation, of processes or of containers (configured in commands/deploy/pools.toml)."""

import os
import re
from collections.abc import Sequence
from copy import deepcopy
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from prefect.client.orchestration import SyncPrefectClient
from prefect.client.schemas.actions import WorkPoolCreate, WorkPoolUpdate
from prefect.exceptions import ObjectNotFound

from commands.deploy.owned import Change
from pretexeval.config.installation_names import (
    BASE_URL_VARIABLE,
    CPU_POOL,
    DEFAULT_POOL,
    SERVED_ROOT_VARIABLE,
    find_base_url,
)
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import parse_toml

SECRET = re.compile(r"PASSWORD|SECRET|TOKEN|KEY|AUTH_STRING")

Table = dict[str, Any]


@dataclass(frozen=True)
class PoolPlan:
    """The type of all pools, and the settings of their runs."""

    pool_type: str
    home: Path
    """The folder in which runs find the project, `configs/`, and a relative `[storage] root`."""
    tables: Table
    """Role of the pool (`cpu`, `gpu`, …) -> changes to its base job template; empty for processes."""


def plan_pools(pool_type: str, file: Path, others: Sequence[str] = ()) -> PoolPlan:
    """Return the plan of the pools, read from the file; process pools need no file and run in this folder.

    Args:
        others: the roles of pools besides `cpu` and `gpu`. They have the settings of `gpu`, and their own.

    Raises:
        InputError: if the file has no table for the type, or contains a secret.
    """
    if pool_type == "process":
        return PoolPlan(pool_type, Path.cwd(), {})
    table = parse_toml(file)
    if pool_type not in table or "home" not in table:
        raise InputError(f"{file}: the file needs `home` and a table [{pool_type}]")
    of_type = table[pool_type]
    common = of_type.get("all", {})
    tables = {name: merge_tables(common, of_type.get(name, {})) for name in (CPU_POOL, DEFAULT_POOL)}
    for name in others:
        tables[name] = merge_tables(tables[DEFAULT_POOL], _ask_for_cards(pool_type, name))
        tables[name] = merge_tables(tables[name], of_type.get(name, {}))
    for name, each in tables.items():
        _require_no_secret(f"{file} [{pool_type}.{name}.variables.env]", each)
        tables[name] = _link_to_web_server(each)
    return PoolPlan(pool_type, Path(table["home"]), tables)


def _ask_for_cards(pool_type: str, pool: str) -> Table:
    """Return what a run of the pool `gpu-N` asks Kubernetes for: N cards."""
    found = re.fullmatch(rf"{DEFAULT_POOL}-(\d+)", pool)
    if pool_type != "kubernetes" or found is None:
        return {}
    return {"container": {"resources": {"limits": {"nvidia.com/gpu": int(found[1])}}}}


def _link_to_web_server(table: Table) -> Table:
    """Add the web server's address of this environment, unless it serves another folder than the runs use."""
    served = table.get("variables", {}).get("env", {}).get(SERVED_ROOT_VARIABLE)
    base_url = find_base_url(Path(served or os.environ.get(SERVED_ROOT_VARIABLE, "")))
    return merge_tables(table, {"variables": {"env": {BASE_URL_VARIABLE: base_url}}}) if base_url else table


def _require_no_secret(where: str, table: Table) -> None:
    """Refuse secrets: everybody who can read the pool can read its variables, in the UI and in the API."""
    names = table.get("variables", {}).get("env", {})
    if found := sorted(name for name in names if SECRET.search(name)):
        raise InputError(
            f"{where}: {found[0]} looks like a secret, and job variables can be read by everybody who "
            "sees the pool; keep it in a Prefect secret block or, for Kubernetes, in a secret"
        )


def merge_tables(below: Table, above: Table) -> Table:
    """Return both merged, table by table; a value of ``above`` replaces one of ``below``."""
    merged = deepcopy(below)
    for name, value in above.items():
        kept = merged.get(name)
        are_tables = isinstance(kept, dict) and isinstance(value, dict)
        merged[name] = merge_tables(kept or {}, value) if are_tables else deepcopy(value)
    return merged


def build_template(offered: Table, pool_type: str, table: Table) -> Table:
    """Return the base job template that the server offers for the type, with the changes of the table.

    Raises:
        InputError: if the table sets a variable that the template does not have.
    """
    template = deepcopy(offered)
    variables, job = template["variables"]["properties"], template["job_configuration"]
    for name, value in table.get("variables", {}).items():
        if name not in variables:
            raise InputError(
                f"a pool of type {pool_type} has no variable {name!r}; it has {', '.join(variables)}"
            )
        variables[name]["default"] = value
    if pool_type == "docker":
        job["container_create_kwargs"] = table.get("container", {})
    else:
        pod = job["job_manifest"]["spec"]["template"]["spec"]
        container = merge_tables(pod["containers"][0], table.get("container", {}))
        pod |= merge_tables(pod, table.get("pod", {})) | {"containers": [container]}
    return template


def provide_pool(
    client: SyncPrefectClient, name: str, role: str, plan: PoolPlan, limit: int | None, *, is_updated: bool
) -> Change:
    """Create the pool; change one that exists only if this is asked for, and return what was done.

    Args:
        role: `cpu`, `gpu`, or the pool of a model.
        limit: how many runs it starts at once; None for an existing pool's own limit. A new pool of
            containers for models then starts one. Any other starts any number: each worker takes one.
        is_updated: whether an existing pool gets this limit and, for containers, the settings of the plan.

    Raises:
        InputError: if the pool exists with another type.
    """
    template: Table = {}
    if plan.pool_type != "process":
        template = build_template(_fetch_template(client, plan.pool_type), plan.pool_type, plan.tables[role])
    what = f"pool {name}"
    try:
        there = client.read_work_pool(name)
    except ObjectNotFound:
        is_limited = plan.pool_type != "process" and role != CPU_POOL
        limit = 1 if limit is None and is_limited else limit
        pool = WorkPoolCreate(
            name=name, type=plan.pool_type, base_job_template=template, concurrency_limit=limit
        )
        client.create_work_pool(pool)
        return Change("created", what, _describe(plan.pool_type, limit))
    if there.type != plan.pool_type:
        raise InputError(
            f"the pool {name!r} is of type {there.type}, and the type of a pool cannot change: if the pool "
            f"belongs to this installation, run `prefect work-pool delete {name}`, then deploy again; if it "
            "does not, give this installation another name (--installation NAME)"
        )
    wanted = WorkPoolUpdate(
        concurrency_limit=there.concurrency_limit if limit is None else limit,
        base_job_template=template or there.base_job_template,
    )
    before, after = (_describe(there.type, each.concurrency_limit) for each in (there, wanted))
    has_same_template = wanted.base_job_template == there.base_job_template
    if before == after and has_same_template:
        return Change("unchanged", what, before)
    difference = after if has_same_template else f"{after}, with other settings of runs"
    if not is_updated:
        return Change("left", what, f"{before}; asked for: {difference}; --update-pools changes it")
    client.update_work_pool(name, wanted)
    return Change("changed", what, f"{before} before, now {difference}")


def _describe(pool_type: str, limit: int | None) -> str:
    return f"{pool_type}, " + ("no limit" if limit is None else f"{limit} at once")


def _fetch_template(client: SyncPrefectClient, pool_type: str) -> Table:
    """Return the base job template that the server offers for pools of this type."""
    for package in client.read_worker_metadata().values():
        if pool_type in package:
            return dict(package[pool_type]["default_base_job_configuration"])
    raise InputError(f"the server offers no job template for pools of type {pool_type}; upgrade it")
