"""Requests of health checks, and the proxies that the environment names.

No error of a request shows a secret. A proxy is never used for the servers of this machine.
"""

import importlib.util
import json
import os
from dataclasses import dataclass
from urllib.parse import urlsplit

TIMEOUT_S = 5.0
LOOPBACK = ("127.0.0.1", "localhost", "::1")
_VARIABLES = ("http_proxy", "https_proxy", "all_proxy")


@dataclass(frozen=True)
class HttpReply:
    """A server's reply: the HTTP status and the content, or the reason why there is no reply."""

    status: int | None
    content: bytes = b""
    """The content of a successful reply; empty for an error status."""
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
    address: str,
    authorization: str | None = None,
    data: object = None,
    timeout_s: float = TIMEOUT_S,
    *,
    is_local: bool = False,
) -> HttpReply:
    """Send GET, or POST with `data` as JSON, and return the reply; a failure is a reply, not an exception.

    User and password in the address take precedence over `authorization`, as in the clients that will use
    the address later.

    Args:
        authorization: the value of the header; it is not sent on to the target of a redirect.
        timeout_s: the longest time for which the server may be silent.
        is_local: True for a server on this machine's loopback, which is asked past any proxy.
    """
    # The import takes 0.1 s.
    import httpx

    try:
        reply = httpx.request(
            "GET" if data is None else "POST",
            address,
            json=data,
            headers={"Authorization": authorization} if authorization else {},
            timeout=timeout_s,
            follow_redirects=True,
            trust_env=not is_local,
            # Reading the certificate authorities takes longer than the request.
            verify=not is_local,
        )
    except httpx.TimeoutException:
        return HttpReply(None, error=f"no answer within {timeout_s:g} s")
    except (httpx.InvalidURL, httpx.UnsupportedProtocol):
        return HttpReply(None, error="not an HTTP address")
    except (httpx.HTTPError, OSError, ValueError) as error:
        return HttpReply(None, error=_describe(error))
    return HttpReply(reply.status_code, reply.content if reply.is_success else b"")


def _describe(error: BaseException) -> str:
    """Return the operating system's words, or the name of the exception.

    The exception's own text may hold a secret from the address or from the server.
    """
    cause: BaseException | None = error
    while cause is not None:
        if isinstance(cause, OSError) and cause.strerror:
            return cause.strerror
        cause = cause.__context__
    return type(error).__name__


def bypass_proxies() -> list[str]:
    """Make this process, and those that it starts, reach loopback without a proxy; return warnings.

    A proxy that the HTTP clients cannot use is removed, with a warning: they would refuse to send anything at
    all, even to this machine.
    """
    variables = [name for name in os.environ if name.lower() in _VARIABLES and os.environ[name]]
    warnings = [warning for name in variables if (warning := _remove_unusable(name))]
    if variables:
        # Clients read one or the other.
        names = ("no_proxy", "NO_PROXY")
        hosts = {host.strip() for name in names for host in os.environ.get(name, "").split(",")}
        # The sign for all hosts, which some clients understand only if it stands alone.
        listed = "*" if "*" in hosts else ",".join([*sorted(hosts - {"", *LOOPBACK}), *LOOPBACK])
        os.environ.update(dict.fromkeys(names, listed))
    return warnings


def _remove_unusable(name: str) -> str | None:
    """Remove the variable if its proxy cannot be used, and return why; the address may hold a password."""
    value = os.environ[name]
    try:
        address = urlsplit(value if "://" in value else f"http://{value}")
        scheme = "" if address.port == 0 else address.scheme
    except ValueError:
        scheme = ""
    if scheme in ("http", "https"):
        return None
    if scheme in ("socks5", "socks5h") and importlib.util.find_spec("socksio") is not None:
        return None
    del os.environ[name]
    reason = "SOCKS needs the package socksio" if scheme.startswith("socks") else "it is not an address"
    return f"the proxy in {name} is not used ({reason}); remote servers are asked without it"
