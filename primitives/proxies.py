"""Proxies that the environment names. They are never used for the servers of this machine."""

import importlib.util
import os
from collections.abc import Mapping
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
        os.environ.update(list_bypassed(os.environ))
    return warnings


def list_bypassed(environment: Mapping[str, str]) -> dict[str, str]:
    """Return the variables that list the hosts without a proxy: those of the environment, and loopback."""
    # Clients read one or the other.
    names = ("no_proxy", "NO_PROXY")
    hosts = {host.strip() for name in names for host in environment.get(name, "").split(",")}
    # All hosts: some clients understand this sign only if it stands alone.
    listed = "*" if "*" in hosts else ",".join([*sorted(hosts - {"", *LOOPBACK}), *LOOPBACK])
    return dict.fromkeys(names, listed)


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
