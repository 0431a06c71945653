"""Requests to an endpoint by HTTP. Nothing that comes back is trusted: neither its time, size nor form.

A reply has a deadline for the whole of it and a limit for its size, also after decompression. Redirects are
not followed, because the key and the prompts would go to another address. Each request has a connection of
its own: on a connection that is kept, a second reply would be read as the answer to the next prompt.
"""

from __future__ import annotations

import asyncio
import json
import os
import re
import resource
import ssl
import zlib
from collections.abc import Mapping
from dataclasses import dataclass
from ipaddress import ip_address
from itertools import cycle
from typing import TYPE_CHECKING, Any
from urllib.parse import urlsplit

from pretexeval.config.engines import EngineConfig
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.secrets import explain_missing_key, is_sendable

if TYPE_CHECKING:
    import httpx


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
        is_usable = parts.scheme in ("http", "https") and bool(parts.hostname) and parts.port != 0
    except ValueError:
        is_usable = False
    if not is_usable:
        raise InputError(
            f"model {config.name!r}: base_url is not an address such as http://127.0.0.1:8000/v1"
        )
    return f"{parts.scheme}://{parts.netloc.rpartition('@')[2]}{parts.path}"


# The text of an error is cut to a few hundred characters, so its end need not be read.
MAX_ERROR_BYTES = 64_000
END_OF_STREAM = re.compile(rb"[\r\n]data: ?\[DONE\]\s*\Z")
# A client looks through all its open connections at each request: with 2,048 in one client, a request took
# 3.0 ms of processor time, and 1.7 ms with so many in each.
N_CONNECTIONS = 64
# With this value, zlib decompresses both gzip and deflate.
_ANY_FORMAT = 32 + zlib.MAX_WBITS


@dataclass(frozen=True)
class RawResponse:
    """A complete reply, or the first MAX_ERROR_BYTES of one that reports an error."""

    status: int
    headers: Mapping[str, str]
    content: bytes

    @property
    def is_success(self) -> bool:
        """Return whether the status is 200 to 299."""
        return 200 <= self.status < 300


class NoConnectionError(Exception):
    """The endpoint cannot be reached, or the connection ended before the first byte of a reply."""


class NoReplyInTimeError(Exception):
    """No byte of a reply came within the time limit."""


class BrokenReplyError(Exception):
    """A reply began and is not usable: too slow, too large, cut off or invalid. The prompt may be paid."""


@dataclass
class Exchange:
    """Progress of a request and its reply on their connection."""

    is_sent: bool = False
    has_begun: bool = False
    """True after the first byte of the reply has arrived."""

    async def watch(self, event: str, info: Mapping[str, Any]) -> None:
        """Note an event of the connection (the extension `trace` of httpcore)."""
        if event.endswith(("connect_tcp.complete", "start_tls.complete")):
            # What was exchanged with a proxy belongs to the connection, and not to the request.
            self.is_sent = self.has_begun = False
            self._watch_reads(info["return_value"])
        self.is_sent |= event == "http11.send_request_body.complete"

    def _watch_reads(self, stream: Any) -> None:  # noqa: ANN401 - AsyncNetworkStream of httpcore
        read = stream.read

        async def read_and_note(*arguments: Any, **options: Any) -> bytes:  # noqa: ANN401
            content: bytes = await read(*arguments, **options)
            self.has_begun |= bool(content)
            return content

        stream.read = read_and_note


class EndpointClient:
    """Sends requests to one endpoint from one event loop."""

    def __init__(self, base_url: str, key: str | None, timeout_s: float, n_at_once: int) -> None:
        """Prepare the client without sending anything.

        Args:
            n_at_once: the most requests that are open at a time.

        Raises:
            InputError: SSL_CERT_FILE or SSL_CERT_DIR names nothing that can be read.
        """
        import httpx

        self._base_url = base_url.rstrip("/")
        self._timeout_s = timeout_s
        # The deadline of the whole request is measured here, not by the client, which measures single steps.
        options: dict[str, Any] = {
            "headers": {
                "Authorization": f"Bearer {key or 'none'}",
                "Accept-Encoding": "identity",
                "Connection": "close",
            },
            "timeout": None,
            "limits": httpx.Limits(max_connections=None, max_keepalive_connections=0),
            "follow_redirects": False,
            # A proxy of the environment cannot reach this machine's loopback, where authorities hold as well.
            "trust_env": not _is_loopback(base_url),
            "verify": _trust_authorities(),
        }
        n_clients = -(-n_at_once // N_CONNECTIONS)
        self._clients = [httpx.AsyncClient(**options) for _ in range(n_clients)]
        self._turns = cycle(self._clients)
        _allow_files(n_at_once)

    async def post(self, path: str, body: object, max_bytes: int) -> RawResponse:
        """Send the body as JSON, and return the reply. A reply that reports an error need not be complete.

        Raises:
            NoConnectionError, NoReplyInTimeError, BrokenReplyError: see there.
        """
        import httpx

        exchange, head = Exchange(), None
        try:
            async with asyncio.timeout(self._timeout_s):
                request = next(self._turns).stream(
                    "POST",
                    f"{self._base_url}{path}",
                    # With ASCII, a lone surrogate in a prompt can be sent as well.
                    content=json.dumps(body, separators=(",", ":"), allow_nan=False).encode("ascii"),
                    headers={"Content-Type": "application/json"},
                    extensions={"trace": exchange.watch},
                )
                async with request as response:
                    head = RawResponse(response.status_code, response.headers, b"")
                    return await _read_reply(response, max_bytes)
        except (BrokenReplyError, TimeoutError, httpx.HTTPError, httpx.StreamError, OSError) as error:
            if head is not None and not head.is_success:
                return head
            if isinstance(error, BrokenReplyError):
                raise
            is_late, limit = isinstance(error, TimeoutError), f"within {self._timeout_s:g} s"
            if exchange.has_begun:
                what = "the answer was cut off" if head else "the answer is not valid HTTP"
                raise BrokenReplyError(
                    f"no complete answer {limit}" if is_late else f"{what}: {_describe(error)}"
                ) from error
            if is_late and exchange.is_sent:
                raise NoReplyInTimeError(f"no answer {limit}") from error
            # A host that is switched off does not refuse a connection, so connecting to it ends in a timeout.
            raise NoConnectionError(
                f"no connection {limit}" if is_late else f"connection failed: {_describe(error)}"
            ) from error

    async def close(self) -> None:
        """Close the connections."""
        for client in self._clients:
            await client.aclose()


def _allow_files(n_more: int) -> None:
    """Let this process open so many more files, as far as it may: many systems allow 1,024 by default."""
    limit, largest = resource.getrlimit(resource.RLIMIT_NOFILE)
    if limit != resource.RLIM_INFINITY:
        wanted = limit + n_more if largest == resource.RLIM_INFINITY else min(limit + n_more, largest)
        resource.setrlimit(resource.RLIMIT_NOFILE, (wanted, largest))


async def _read_reply(response: httpx.Response, max_bytes: int) -> RawResponse:
    is_success = response.is_success
    limit, content = (max_bytes if is_success else MAX_ERROR_BYTES), bytearray()
    async for part in response.aiter_raw():
        content += part
        # Some servers keep the connection open after the end of a stream.
        if len(content) > limit or END_OF_STREAM.search(content[-32:]):
            break
    decoded = _decompress(bytes(content), response.headers.get("Content-Encoding", ""), limit)
    if is_success and len(decoded) > limit:
        raise BrokenReplyError(f"the answer is larger than {limit:,} bytes")
    return RawResponse(response.status_code, response.headers, decoded[:limit])


def _decompress(content: bytes, encoding: str, limit: int) -> bytes:
    """Return at most one byte more than the limit. An endpoint may compress although it was asked not to."""
    if encoding.strip().lower() in ("", "identity"):
        return content
    try:
        return zlib.decompressobj(_ANY_FORMAT).decompress(content, limit + 1)
    except zlib.error as error:
        raise BrokenReplyError(f"the answer cannot be decompressed ({encoding[:20]}: {error})") from None


def _describe(error: BaseException) -> str:
    return " ".join(str(error).split()) or type(error).__name__


def _trust_authorities() -> ssl.SSLContext:
    """Return the certificate authorities of SSL_CERT_FILE or SSL_CERT_DIR, or else the usual ones."""
    import httpx

    try:
        return httpx.create_ssl_context(trust_env=True)
    except (OSError, ValueError) as error:
        name = next(filter(os.environ.get, ("SSL_CERT_FILE", "SSL_CERT_DIR")), "")
        raise InputError(
            f"the certificate authorities of {name} ({os.environ.get(name)}) cannot be read: {error}"
        ) from error


def _is_loopback(address: str) -> bool:
    host = urlsplit(address).hostname or ""
    try:
        return ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
