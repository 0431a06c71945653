"""Checks of the models' HTTP endpoints: each is asked for its list of models, and no model is asked."""

from dataclasses import replace
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.endpoint_address import read_api_key, render_safe_address
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.http_client import HttpReply, fetch
from primitives.secrets import hide_value

MAX_MODELS_SHOWN = 5


def check_endpoint(config: EngineConfig, key: str | None = None) -> Finding:
    """Check that the endpoint answers, accepts the key and lists the model.

    Args:
        key: the key from a Secret block; without one, the key is read from the environment.
    """
    name = f"model {config.name}"
    try:
        shown, key = render_safe_address(config).rstrip("/"), key or read_api_key(config)
    except InputError as error:
        return Finding(name, "failing", str(error))
    address = urlsplit((config.base_url or "").rstrip("/"))
    listing = address._replace(path=f"{address.path}/models").geturl()
    reply = fetch(listing, key and f"Bearer {key}")
    finding = _judge(config, reply, shown)
    # The reply may contain anything, even the key.
    return replace(finding, found=hide_value(finding.found, key))


def _judge(config: EngineConfig, reply: HttpReply, address: str) -> Finding:
    name = f"model {config.name}"
    if reply.status is None:
        remedy = "start the server, and check base_url (it usually ends in /v1)"
        return Finding(name, "failing", f"{address} does not answer ({reply.error})", remedy)
    if reply.status in (401, 403):
        remedy = "check the key, in the variable that api_key_env names or in its Secret block"
        if config.api_key_env is None:
            remedy = "set api_key_env to the name of the variable that holds the key"
        return Finding(name, "failing", f"{address} refuses the key (HTTP {reply.status})", remedy)
    if reply.status in (404, 405):
        remedy = "check base_url (it usually ends in /v1); some gateways list no models"
        return Finding(name, "warning", f"{address} answers, but lists no models", remedy)
    if reply.status != 200:
        remedy = "see the server's log"
        return Finding(name, "failing", f"{address} answers with an error (HTTP {reply.status})", remedy)
    return _find_model(config, reply.read_json(), address)


def _find_model(config: EngineConfig, body: object, address: str) -> Finding:
    name = f"model {config.name}"
    rows = body.get("data") if isinstance(body, dict) else None
    names = [str(row.get("id")) for row in rows if isinstance(row, dict)] if isinstance(rows, list) else []
    if config.model in names:
        return Finding(name, "ok", f"{address} serves {config.model}")
    shown = ", ".join(names[:MAX_MODELS_SHOWN]) + (", …" if len(names) > MAX_MODELS_SHOWN else "")
    # This is only a warning, because some servers accept more names for a model than they list.
    found = f"{address} does not list {config.model}; it lists {shown or 'none'}"
    return Finding(name, "warning", found, "set model to one of the server's names")
