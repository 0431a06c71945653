"""Proxies that the environment names. They are never used for the servers of this machine."""

import importlib.util
import os
from urllib.parse import urlsplit

LOOPBACK = ("127.0.0.1", "localhost", "::1")
_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https")
_SOCKS_SCHEMES = ("socks5", "socks5h")


def bypass_proxies() -> list[str]:
    """Make this process, and those that it starts, reach loopback without a proxy; return warnings.

    A proxy that the HTTP clients cannot use is removed, with a warning: they would refuse to send anything at
    all, even to this machine.
    """
    variables = [name for name in os.environ if name.lower() in _VARIABLES and os.environ[name]]
    warnings = [warning for name in variables if (warning := _remove_unusable(name))]
    if variables:
        around = {part for name in ("no_proxy", "NO_PROXY") for part in os.environ.get(name, "").split(",")}
        listed = ",".join([*sorted({part.strip() for part in around} - {"", *LOOPBACK}), *LOOPBACK])
        # Clients read one or the other.
        os.environ["no_proxy"] = os.environ["NO_PROXY"] = listed
    return warnings


def _remove_unusable(name: str) -> str | None:
    """Remove the variable if its proxy cannot be used, and return why; the address may hold a password."""
    value = os.environ[name]
    try:
        address = urlsplit(value if "://" in value else f"http://{value}")
        scheme = "" if address.port == 0 else address.scheme
    except ValueError:
        scheme = ""
    if scheme in _SCHEMES:
        return None
    if scheme in _SOCKS_SCHEMES and importlib.util.find_spec("socksio") is not None:
        return None
    del os.environ[name]
    reason = "SOCKS needs the package socksio" if scheme.startswith("socks") else "it is not an address"
    return f"the proxy in {name} is not used ({reason}); remote servers are asked without it"
