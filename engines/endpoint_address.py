"""The address and the key of an endpoint, checked before anything is sent."""

import os
from urllib.parse import urlsplit

from config.engines import EngineConfig
from engines.api_keys import explain_missing_key, is_sendable
from primitives.errors import InputError


def read_api_key(config: EngineConfig) -> str | None:
    """Return the key from the environment, or None if the configuration names no variable.

    The flows copy keys of Secret blocks into the environment.

    Raises:
        InputError: the variable is not set, or an HTTP header cannot hold its value.
    """
    if config.api_key_env is None:
        return None
    key = os.environ.get(config.api_key_env, "").strip()
    if not key:
        missing = explain_missing_key(config.api_key_env)
        raise InputError(
            f"model {config.name!r}: {missing}; leave api_key_env out if the endpoint needs no key"
        )
    if not is_sendable(key):
        raise InputError(
            f"model {config.name!r}: the value of {config.api_key_env} is not a valid key: it contains a "
            "space, a line break or a non-ASCII character; set the variable again"
        )
    return key


def render_safe_address(config: EngineConfig) -> str:
    """Return the endpoint's address without user, password and query, which may be secrets.

    Raises:
        InputError: it is not an HTTP address.
    """
    try:
        parts = urlsplit(config.base_url or "")
        host, is_web = parts.hostname, parts.scheme in ("http", "https")
        parts.port  # noqa: B018 (raises ValueError if it is not a number)
    except ValueError:
        host, is_web = None, False
    if not host or not is_web:
        raise InputError(
            f"model {config.name!r}: base_url is not an address such as http://127.0.0.1:8000/v1"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"
