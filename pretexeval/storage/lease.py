"""A lease: a lock that one process on any host holds, kept as an object in the shared bucket.

The holder rewrites the object several times per term. A process that was killed stops rewriting it, and a
waiting process takes the lease over after it has seen the object unchanged for a whole term. Each process
measures that time with its own clock, so no clocks of different hosts are compared. Every write is
conditional on the state that was read before it, so if two processes write at once, only one succeeds.
"""

from __future__ import annotations

import json
import logging
import os
import secrets
import socket
import threading
import time
from typing import TYPE_CHECKING, Any

from pretexeval.primitives.errors import InputError
from pretexeval.storage.bucket import Bucket

if TYPE_CHECKING:
    from obstore import UpdateVersion as Tag

logger = logging.getLogger(__name__)

TERM_S = 60.0
# How often the holder renews the lease within a term.
N_RENEWALS = 4
POLL_S = 1.0


class Lease:
    """A lease on a path in a bucket; `with Lease(bucket, "locks/name.json"):` waits until it is free."""

    def __init__(self, bucket: Bucket, path: str, term_s: float = TERM_S) -> None:
        """Prepare the lease without writing anything."""
        self._bucket = bucket
        self._path = path
        self._term_s = term_s
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._tag: Tag = {}
        self._renewed_at = 0.0
        self._is_lost = False
        self._is_released = threading.Event()
        self._renewal: threading.Thread | None = None

    def __enter__(self) -> Lease:
        """Acquire the lease, blocking until it is free, and start to renew it in a thread.

        Raises:
            InputError: the storage cannot be reached, or does not support conditional writes.
        """
        while not self._acquire():
            time.sleep(POLL_S)
        self._require_conditional_writes()
        self._renewed_at = time.monotonic()
        self._renewal = threading.Thread(
            target=self._renew_until_released, daemon=True, name=f"lease {self._path}"
        )
        self._renewal.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Release the lease, so that the next process does not have to wait for the end of the term."""
        self._is_released.set()
        assert self._renewal is not None
        self._renewal.join()
        if self._is_lost:
            return
        try:
            self._bucket.replace(self._path, _render_record(None), self._tag)
        except InputError:
            # The lease expires by itself. If the block failed, its own error is the one to report.
            if error is None:
                raise

    def require_held(self) -> None:
        """Check that this process still holds the lease.

        Raises:
            InputError: the lease was not renewed for a whole term, so another process may hold it by now.
        """
        if self._is_lost or time.monotonic() > self._renewed_at + self._term_s:
            raise InputError(
                f"{self._bucket.address}/{self._path}: the lease was lost, because the storage could not be "
                f"reached for {self._term_s:g} s or this process was stopped for so long; the answers so far "
                "are kept: run again"
            )

    def _acquire(self) -> bool:
        """Wait until the lease is free and try to take it; return whether this process holds it now."""
        if tag := self._bucket.create(self._path, _render_record(self._holder)):
            self._tag = tag
            return True
        seen: Tag | None = None
        since = time.monotonic()
        while stored := self._bucket.read_with_tag(self._path):
            content, tag = stored
            holder = _read_holder(content)
            if holder == self._holder:
                self._tag = tag
                return True
            if seen is None and holder is not None:
                logger.warning("%s is held by %s: waiting until it is released", self._path, holder)
            if tag != seen:
                seen, since = tag, time.monotonic()
            if holder is None or time.monotonic() > since + self._term_s:
                self._tag = self._bucket.replace(self._path, _render_record(self._holder), tag) or {}
                return bool(self._tag)
            time.sleep(POLL_S)
        return False

    def _require_conditional_writes(self) -> None:
        """Raise an InputError if the storage lets `create` overwrite the object that exists already."""
        if self._bucket.create(self._path, _render_record(self._holder)) is not None:
            raise InputError(
                f"[storage] shared {self._bucket.address}: this storage does not support conditional writes "
                "(If-None-Match). Without them, two hosts could ask a model the same prompts; use a storage "
                "that supports them"
            )

    def _renew_until_released(self) -> None:
        while not self._is_released.wait(self._term_s / N_RENEWALS):
            started = time.monotonic()
            try:
                self._is_lost = not self._renew()
            except InputError:
                # The storage cannot be reached. `require_held` fails once a whole term has passed.
                continue
            if self._is_lost:
                return
            self._renewed_at = started

    def _renew(self) -> bool:
        """Rewrite the object; return whether this process still holds the lease."""
        if tag := self._bucket.replace(self._path, _render_record(self._holder), self._tag):
            self._tag = tag
            return True
        # The storage also refuses a retry of a write that succeeded but whose response was lost.
        stored = self._bucket.read_with_tag(self._path)
        if stored is None or _read_holder(stored[0]) != self._holder:
            return False
        self._tag = stored[1]
        return True


def _render_record(holder: str | None) -> bytes:
    """Return the content of the object; two calls never return the same bytes, so that the tag changes."""
    return json.dumps({"holder": holder, "write": secrets.token_hex(8)}).encode()


def _read_holder(content: bytes) -> str | None:
    """Return the holder that the object names; None if it was released or the content is damaged."""
    try:
        record: dict[str, Any] = json.loads(content)
        return str(record["holder"]) if record["holder"] else None
    except (ValueError, KeyError, TypeError):
        return None
