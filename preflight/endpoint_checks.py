"""Checks of what is reached over HTTP: the endpoints of models, asked for their list and nothing else."""

from dataclasses import replace
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.openai_engine import read_api_key, render_safe_address
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.http_client import HttpReply, fetch
from primitives.secrets import hide_value

N_SHOWN = 5


def check_endpoint(config: EngineConfig, key: str | None = None) -> Finding:
    """Whether the endpoint answers, takes the key and has the model; nothing is asked of a model.

    Args:
        key: as a block holds it; that of the environment if not given.
    """
    name = f"model {config.name}"
    try:
        shown, key = render_safe_address(config).rstrip("/"), key or read_api_key(config)
    except InputError as error:
        return Finding(name, "failing", str(error))
    address = urlsplit((config.base_url or "").rstrip("/"))
    listing = address._replace(path=f"{address.path}/models").geturl()
    answer = fetch(listing, key and f"Bearer {key}")
    check = _judge(config, answer, shown)
    # A server may say anything, even the key.
    return replace(check, found=hide_value(check.found, key))


def _judge(config: EngineConfig, answer: HttpReply, address: str) -> Finding:
    name = f"model {config.name}"
    if answer.status is None:
        remedy = "start it, and check base_url (it usually ends in /v1)"
        return Finding(name, "failing", f"{address} gives no answer ({answer.error})", remedy)
    if answer.status in (401, 403):
        remedy = "check the key: the variable named in api_key_env, or its block"
        if config.api_key_env is None:
            remedy = "name the variable that holds its key in api_key_env"
        return Finding(name, "failing", f"{address} refuses the key (HTTP {answer.status})", remedy)
    if answer.status in (404, 405):
        remedy = "check base_url (it usually ends in /v1); some gateways list no models"
        return Finding(name, "warning", f"{address} answers, but lists no models", remedy)
    if answer.status != 200:
        return Finding(name, "failing", f"{address} is out of order (HTTP {answer.status})", "see its log")
    return _find_model(config, answer.read_json(), address)


def _find_model(config: EngineConfig, body: object, address: str) -> Finding:
    name = f"model {config.name}"
    rows = body.get("data") if isinstance(body, dict) else None
    names = [str(row.get("id")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if config.model in names:
        return Finding(name, "ok", f"{address} serves {config.model}")
    shown = ", ".join(names[:N_SHOWN]) + (", …" if len(names) > N_SHOWN else "")
    # A warning only: some servers know a model by more names than they list.
    found = f"{address} does not list {config.model}; it lists {shown or 'none'}"
    return Finding(name, "warning", found, "set model to a name that it knows")
