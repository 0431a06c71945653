"""Checks of keys: which exist and where they come from. No key is shown."""

import os
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from urllib.parse import quote

from config.engines import EngineConfig
from deploy.local.client_settings import authorize
from engines.api_keys import explain_missing_key, name_secret_block
from preflight.findings import Finding
from primitives.http_client import fetch
from storage.bucket import SECRET_VARIABLES


@dataclass(frozen=True)
class FoundKey:
    """A key, and where it was found."""

    value: str = field(repr=False)
    where: str


def find_keys(models: Iterable[EngineConfig]) -> dict[str, FoundKey | None]:
    """Return variable -> key for every variable that the models' endpoints name; None for a missing key."""
    names = dict.fromkeys(model.api_key_env for model in models if model.engine == "openai")
    return {name: find_key(name) for name in names if name}


def find_storage_keys(address: str) -> dict[str, FoundKey]:
    """Return variable -> key for those secret variables of a shared storage that are found.

    A missing key is not an error here: a machine with a cloud role needs none of them.
    """
    names = SECRET_VARIABLES[address.partition("://")[0]]
    return {name: key for name in names if (key := find_key(name)) is not None}


def find_key(variable: str) -> FoundKey | None:
    """Return the key as a run would get it: from the environment, else from the server's Secret block.

    The block is read through the server's HTTP API, because importing Prefect takes seconds.
    """
    if value := os.environ.get(variable, "").strip():
        return FoundKey(value, f"in the environment as {variable}")
    address = os.environ.get("PREFECT_API_URL", "").rstrip("/")
    if not address:
        return None
    block = name_secret_block(variable)
    path = f"block_types/slug/secret/block_documents/name/{quote(block)}"
    body = fetch(f"{address}/{path}?include_secrets=true", authorize(os.environ)).read_json()
    data = body.get("data") if isinstance(body, dict) else None
    held = data.get("value") if isinstance(data, dict) else None
    if not isinstance(held, str) or not held.strip():
        return None
    return FoundKey(held.strip(), f"in the Prefect Secret block {block!r}")


def check_keys(keys: Mapping[str, FoundKey | None]) -> list[Finding]:
    """Return a finding per variable; a missing key is failing."""
    return [_check_key(variable, found) for variable, found in keys.items()]


def _check_key(variable: str, found: FoundKey | None) -> Finding:
    if found is not None:
        return Finding(f"key {variable}", "ok", found.where)
    missing, _, remedy = explain_missing_key(variable).partition("; ")
    return Finding(f"key {variable}", "failing", missing, remedy)
