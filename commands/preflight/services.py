"""Checks of the services of a run: keys, endpoints, the hub, Prefect's server and the shared storage."""

import base64
import os
import secrets
from collections.abc import Collection, Iterator, Mapping
from datetime import timedelta
from fnmatch import fnmatch
from importlib.metadata import version
from pathlib import Path
from urllib.parse import urlsplit

from commands.preflight.findings import Finding, show_size
from pretexeval.config.engines import EngineConfig
from pretexeval.config.file import Config
from pretexeval.engines.endpoint_client import read_api_key, render_safe_address
from pretexeval.engines.identity import HUB_KEY, WEIGHT_PATTERNS
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.http_client import fetch
from pretexeval.primitives.secrets import explain_missing_key, name_secret_block
from pretexeval.storage.bucket import SECRET_VARIABLES, Bucket
from pretexeval.storage.disk import MIN_FREE_BYTES, measure_free_space
from pretexeval.storage.lease import Lease

MAX_MODELS_SHOWN = 5
# Prefect's own client waits as long. A server that stores the states of many tasks on a busy machine was
# seen to take more than 5 s for a health check.
SERVER_TIMEOUT_S = 60.0
HUB_TIMEOUT_S = 10.0
# A run retries for minutes; a user of the doctor waits for its answer.
PATIENCE = timedelta(seconds=10)


def check_keys(needed: Collection[str], others: Collection[str], *, has_server: bool) -> Iterator[Finding]:
    """Set the variables of keys as a run does, from Secret blocks if need be, and yield where each key is.

    Args:
        others: keys that may be missing.
        has_server: whether there is a server that may have Secret blocks.

    Raises:
        InputError: the server refuses a Secret block.
    """
    wanted = list(dict.fromkeys([*needed, *others]))
    given = [name for name in wanted if _has_value(name)]
    if has_server and len(given) < len(wanted):
        # Importing Prefect takes seconds.
        from flows.support.keys import provide_variables

        provide_variables(wanted)
    for name in wanted:
        if name in given:
            yield Finding(f"key {name}", "ok", f"in the environment as {name}")
        elif _has_value(name):
            yield Finding(f"key {name}", "ok", f"in the Prefect Secret block {name_secret_block(name)!r}")
        elif name in needed:
            missing, _, remedy = explain_missing_key(name).partition("; ")
            yield Finding(f"key {name}", "failing", missing, remedy)


def _has_value(variable: str) -> bool:
    return bool(os.environ.get(variable, "").strip())


def check_endpoint(config: EngineConfig) -> Finding:
    """Check that the endpoint answers, accepts the key and lists the model, which is asked nothing.

    Raises:
        InputError: it does not, or the address or the key cannot be used.
    """
    name, shown = f"model {config.name}", render_safe_address(config).rstrip("/")
    key, address = read_api_key(config), urlsplit((config.base_url or "").rstrip("/"))
    listing = address._replace(path=f"{address.path}/models").geturl()
    reply = fetch(listing, key and f"Bearer {key}")
    if reply.status is None:
        remedy = "start the server, and check base_url (it usually ends in /v1)"
        raise InputError(f"{shown} does not answer ({reply.error}); {remedy}")
    if reply.status in (401, 403):
        remedy = "check the key, in the variable that api_key_env names or in its Secret block"
        if config.api_key_env is None:
            remedy = "set api_key_env to the name of the variable that holds the key"
        raise InputError(f"{shown} refuses the key (HTTP {reply.status}); {remedy}")
    if reply.status in (404, 405):
        remedy = "check base_url (it usually ends in /v1); some gateways list no models"
        return Finding(name, "warning", f"{shown} answers, but lists no models", remedy)
    if reply.status != 200:
        raise InputError(f"{shown} answers with an error (HTTP {reply.status}); see the server's log")
    body = reply.read_json()
    rows = body.get("data") if isinstance(body, dict) else None
    names = [str(row.get("id")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if config.model in names:
        return Finding(name, "ok", f"{shown} serves {config.model}")
    listed = ", ".join(names[:MAX_MODELS_SHOWN]) + (", …" if len(names) > MAX_MODELS_SHOWN else "")
    # This is only a warning, because some servers accept more names for a model than they list.
    found = f"{shown} does not list {config.model}; it lists {listed or 'none'}"
    return Finding(name, "warning", found, "set model to one of the server's names")


def authorize(environment: Mapping[str, str]) -> str | None:
    """Return the Authorization header that the environment sets for the server; None if it sets none."""
    if key := environment.get("PREFECT_API_KEY"):
        return f"Bearer {key}"
    if pair := environment.get("PREFECT_API_AUTH_STRING"):
        return f"Basic {base64.b64encode(pair.encode()).decode()}"
    return None


def require_server() -> object:
    """Return the version of the Prefect server that the environment names.

    Raises:
        InputError: it does not answer, is another service, or does not let this process in.
    """
    address, header = os.environ["PREFECT_API_URL"].rstrip("/"), authorize(os.environ)
    shown, reply = _hide_user(address), fetch(f"{address}/health", header, timeout_s=SERVER_TIMEOUT_S)
    # A server of Prefect answers with this JSON value. The path needs no password, but the next one does.
    if reply.status == 200 and reply.read_json() is not True:
        raise InputError(
            f"PREFECT_API_URL: {shown} is not a Prefect server; correct it (it ends in /api), or unset it"
        )
    if reply.status == 200:
        reply = fetch(f"{address}/admin/version", header, timeout_s=SERVER_TIMEOUT_S)
    if reply.status in (401, 403):
        raise InputError(
            f"PREFECT_API_URL: {shown} refuses access (HTTP {reply.status}); set PREFECT_API_AUTH_STRING (or "
            "PREFECT_API_KEY), or run `source data/prefect/client.env`"
        )
    if reply.status != 200:
        raise InputError(
            f"PREFECT_API_URL: {shown} does not answer ({reply.error or f'HTTP {reply.status}'}); start it "
            "(`prefect server start`), correct the address (it ends in /api), or unset it"
        )
    return reply.read_json()


def _hide_user(address: str) -> str:
    try:
        parts = urlsplit(address)
    except ValueError:
        return "the address"
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


def check_server() -> Finding:
    """Check the Prefect server that the environment names, and its version.

    Raises:
        InputError: as `require_server`.
    """
    if not os.environ.get("PREFECT_API_URL"):
        return Finding("Prefect", "ok", "no server (PREFECT_API_URL is not set): flows run in process")
    theirs, ours = require_server(), version("prefect")
    remedy = "" if theirs == ours else f"run the server in version {ours}, as it is installed here"
    found = f"{_hide_user(os.environ['PREFECT_API_URL'])} answers, version {theirs}"
    return Finding("Prefect", "warning" if remedy else "ok", found, remedy)


def check_workers(config: Config) -> Iterator[Finding]:
    """Yield a warning per work pool of the models that has no worker on the server."""
    for pool, models in config.list_pools().items():
        address = f"{os.environ['PREFECT_API_URL'].rstrip('/')}/work_pools/{pool}/workers/filter"
        rows = fetch(address, authorize(os.environ), {}).read_json()
        if not (isinstance(rows, list) and any(row["status"] == "ONLINE" for row in rows)):
            names = ", ".join(model.name for model in models)
            yield Finding(
                f"pool {pool}",
                "warning",
                f"no worker of this work pool is online, so a deployed run of {names} would wait for one",
                "run `pretexeval deploy` if the pool is new, and start its worker (docs/operations.md)",
            )


def check_room(root: Path) -> Finding:
    """Check that the data folder can be written and that its disk is not full; leave nothing there.

    Raises:
        InputError: it cannot be written.
    """
    n_free = measure_free_space(root, "[storage] root")
    found, is_full = f"{root}: {show_size(n_free)} free", n_free < MIN_FREE_BYTES
    remedy = "make room, or choose another folder" if is_full else ""
    return Finding("storage", "failing" if is_full else "ok", found, remedy)


def check_shared(address: str) -> Finding:
    """Check that objects can be written and read there and that a lease can be held; leave nothing there.

    Raises:
        InputError: they cannot.
    """
    path, bucket = f"locks/doctor-{secrets.token_hex(4)}.json", Bucket(address, PATIENCE)
    try:
        # This request fails before the lease makes several, so an unreachable storage costs one timeout.
        bucket.read(path)
        try:
            with Lease(bucket, path):
                pass
        finally:
            bucket.remove(path)
    except InputError as error:
        names = SECRET_VARIABLES[address.partition("://")[0]]
        if any(map(_has_value, names)):
            raise
        raise InputError(
            f"{error}; no key was found: set {', '.join(names)} (those that the storage needs), or create "
            f"Prefect Secret blocks such as {name_secret_block(names[0])!r}"
        ) from error
    return Finding("shared storage", "ok", f"{address}: readable, writable, keeps conditional writes")


def measure_weights(config: EngineConfig) -> int | None:
    """Return the bytes of the weights that a run downloads from the hub; None if the hub does not answer.

    Raises:
        InputError: the hub has no such model, or does not let this user download it.
    """
    from huggingface_hub import HfApi
    from huggingface_hub.errors import GatedRepoError, RepositoryNotFoundError

    api, model = HfApi(), config.model
    try:
        api.auth_check(model)
        described = api.model_info(
            model, revision=config.revision, timeout=HUB_TIMEOUT_S, files_metadata=True
        )
    except GatedRepoError:
        raise InputError(
            f"{model}: the model is gated: accept its terms at https://huggingface.co/{model} with your "
            f"account, and set {HUB_KEY} to a key of it (or create its Secret block)"
        ) from None
    except RepositoryNotFoundError:
        raise InputError(
            f"{model}: the hub has no such model, or it is private: correct the name, or set {HUB_KEY}"
        ) from None
    except Exception:  # no network
        return None
    sizes = {file.rfilename: file.size or 0 for file in described.siblings or ()}
    for pattern in WEIGHT_PATTERNS:
        if weights := [size for name, size in sizes.items() if fnmatch(name, pattern) and "/" not in name]:
            return sum(weights)
    raise InputError(
        f"{model}: the hub has no weights of it that vLLM loads ({' or '.join(WEIGHT_PATTERNS)})"
    )


def require_cache_room(config: EngineConfig, n_bytes: int) -> None:
    """Check that the disk of the hub's cache has room for the weights.

    Raises:
        InputError: it has not.
    """
    from huggingface_hub import constants

    cache = Path(constants.HF_HUB_CACHE)
    n_free = measure_free_space(cache)
    if n_bytes > n_free:
        raise InputError(
            f"{config.model}: its weights take {show_size(n_bytes)}, and {cache} has {show_size(n_free)} "
            "free; make room, or set HF_HOME to a folder on a larger disk"
        )
