"""A small HTTP client for health checks, and the proxies that the environment names.

The client uses the standard library only, reads JSON, and shows no secret in any error. A proxy is never used
for the servers of this machine.
"""

import base64
import http.client
import importlib.util
import json
import os
import urllib.error
import urllib.request
from collections.abc import Mapping
from dataclasses import dataclass
from urllib.parse import unquote, urlsplit

TIMEOUT_S = 5.0
MAX_BYTES = 4_000_000
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")
_SCHEMES = ("http", "https")
_SOCKS_SCHEMES = ("socks5", "socks5h")


@dataclass(frozen=True)
class HttpReply:
    """A server's reply: the HTTP status and the content, or the reason why there is no reply."""

    status: int | None
    content: bytes = b""
    """The first MAX_BYTES of a successful reply; empty for an error status."""
    error: str = ""

    @property
    def is_success(self) -> bool:
        """Return whether the status is 200 to 299."""
        return self.status is not None and 200 <= self.status < 300

    def read_json(self) -> object:
        """Return the content as JSON; None if it is not JSON."""
        try:
            return json.loads(self.content)
        except ValueError:
            return None


def fetch(
    address: str, authorization: str | None = None, data: object = None, timeout_s: float | None = None
) -> HttpReply:
    """Send GET, or POST with `data` as JSON, and return the reply; a failure is a reply, not an exception.

    User and password in the address take precedence over `authorization`, as in the clients that will use
    the address later.

    Args:
        authorization: the value of the header; it is not sent on to the target of a redirect.
        timeout_s: how long the server may be silent; None means TIMEOUT_S.
    """
    return _send(address, authorization, data, timeout_s or TIMEOUT_S)


def fetch_local(address: str, data: object = None, authorization: str | None = None) -> HttpReply:
    """Do the same for a server on this machine's loopback, past any proxy that the environment names."""
    return _send(address, authorization, data, TIMEOUT_S, urllib.request.ProxyHandler({}))


def _send(
    address: str,
    authorization: str | None,
    data: object,
    timeout_s: float,
    *handlers: urllib.request.BaseHandler,
) -> HttpReply:
    try:
        request = _build_request(address, authorization, data)
        with urllib.request.build_opener(*handlers).open(request, timeout=timeout_s) as response:
            return HttpReply(response.status, response.read(MAX_BYTES))
    except urllib.error.HTTPError as error:
        error.close()
        return HttpReply(error.code)
    except urllib.error.URLError as error:
        return HttpReply(None, error=_describe(error.reason, timeout_s))
    except (OSError, ValueError, http.client.HTTPException) as error:
        return HttpReply(None, error=_describe(error, timeout_s))


def _build_request(address: str, authorization: str | None, data: object) -> urllib.request.Request:
    parts = urlsplit(address)
    if parts.username is not None:
        pair = f"{unquote(parts.username)}:{unquote(parts.password or '')}"
        authorization = f"Basic {base64.b64encode(pair.encode()).decode()}"
        address = parts._replace(netloc=parts.netloc.rpartition("@")[2]).geturl()
    content = None if data is None else json.dumps(data).encode()
    request = urllib.request.Request(address, content, {"Content-Type": "application/json"})
    if authorization:
        request.add_unredirected_header("Authorization", authorization)
    return request


def _describe(reason: object, timeout_s: float) -> str:
    """Return the operating system's words, or the name of the exception.

    The exception's own text may hold a secret from the address or from the server.
    """
    if isinstance(reason, TimeoutError):
        return f"no answer within {timeout_s:g} s"
    if isinstance(reason, str):
        return "not an HTTP address"
    return (isinstance(reason, OSError) and reason.strerror) or type(reason).__name__


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
