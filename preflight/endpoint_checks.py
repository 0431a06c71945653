"""Checks of what is reached over HTTP: the endpoints of models, asked for their list and nothing else."""

import base64
import json
import urllib.error
import urllib.request
from dataclasses import dataclass, replace
from urllib.parse import unquote, urlsplit

from config.engines import EngineConfig
from engines.openai_engine import read_api_key, render_safe_address
from preflight.findings import Finding
from primitives.errors import InputError
from primitives.secrets import hide_value

TIMEOUT_S = 5.0
MAX_BYTES = 4_000_000
N_SHOWN = 5


@dataclass(frozen=True)
class HttpReply:
    """What came back: the HTTP status and the body, or why nothing did."""

    status: int | None
    body: object = None
    error: str = ""


def fetch(address: str, authorization: str | None = None, data: object = None) -> HttpReply:
    """The JSON at an address, or what it answers to JSON posted there. Secrets are in no error.

    User and password in the address come before other authorization, as in the clients that will use it.
    """
    content = None if data is None else json.dumps(data).encode()
    parts = urlsplit(address)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    request = urllib.request.Request(address, content, {"Content-Type": "application/json"})
    if authorization:
        # Not passed on where the server redirects to another.
        request.add_unredirected_header("Authorization", authorization)
    try:
        with urllib.request.urlopen(request, timeout=TIMEOUT_S) as response:
            return HttpReply(response.status, _read_json(response.read(MAX_BYTES)))
    except urllib.error.HTTPError as error:
        error.close()
        return HttpReply(error.code)
    except TimeoutError:
        return HttpReply(None, error=f"no answer within {TIMEOUT_S:g} s")
    except urllib.error.URLError as error:
        is_slow = isinstance(error.reason, TimeoutError)
        return HttpReply(
            None, error=f"no answer within {TIMEOUT_S:g} s" if is_slow else _describe(error.reason)
        )
    except (OSError, ValueError) as error:
        return HttpReply(None, error=_describe(error))


def _describe(reason: object) -> str:
    """The system's words for it; nothing that a server or an address could put a secret into."""
    return (isinstance(reason, OSError) and reason.strerror) or type(reason).__name__


def _read_json(content: bytes) -> object:
    try:
        return json.loads(content)
    except ValueError:
        return None


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
    return _find_model(config, answer.body, address)


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
