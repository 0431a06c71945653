"""A lease: one process at a time, on any host, by an object in the bucket that all of them see.

Its holder writes it anew every few seconds. One that was killed stops doing so, and whoever has seen the
object unchanged for the whole term takes it over: no clock is compared with another's. Every write names
the state that it follows, so of two who try at once one gets it.
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

from primitives.errors import InputError
from storage.bucket import Bucket

if TYPE_CHECKING:
    from obstore import UpdateVersion as Tag

logger = logging.getLogger(__name__)

TERM_S = 60.0
# How often the holder writes within a term.
N_RENEWALS = 4
POLL_S = 1.0


class Lease:
    """`with Lease(bucket, "locks/name.json"):` waits for its turn."""

    def __init__(self, bucket: Bucket, path: str, term_s: float = TERM_S) -> None:
        """Nothing is written yet."""
        self._bucket = bucket
        self._path = path
        self._term_s = term_s
        self._holder = f"{socket.gethostname()}:{os.getpid()}:{secrets.token_hex(4)}"
        self._tag: Tag = {}
        self._renewed_at = 0.0
        self._is_lost = False
        self._ends = threading.Event()
        self._renewal: threading.Thread | None = None

    def __enter__(self) -> Lease:
        """Itself, once nobody else holds it.

        Raises:
            InputError: if the storage cannot be reached, or does not keep conditional writes.
        """
        while not self._acquire():
            time.sleep(POLL_S)
        self._require_conditions()
        self._renewed_at = time.monotonic()
        self._renewal = threading.Thread(target=self._renew, daemon=True, name=f"lease {self._path}")
        self._renewal.start()
        return self

    def __exit__(self, kind: object, error: BaseException | None, trace: object) -> None:
        """Give it back, so that the next one need not wait out the term."""
        self._ends.set()
        assert self._renewal is not None
        self._renewal.join()
        if self._is_lost:
            return
        try:
            self._bucket.replace(self._path, _write(None), self._tag)
        except InputError:
            # It ends by itself; what was done under it is done.
            if error is None:
                raise

    def require(self) -> None:
        """Go on only while it is held.

        Raises:
            InputError: if it could not be renewed for a whole term, so that another may hold it by now.
        """
        if self._is_lost or time.monotonic() > self._renewed_at + self._term_s:
            raise InputError(
                f"{self._bucket.address}/{self._path}: the lease was lost: the storage was out of reach "
                f"for {self._term_s:g} s or this process stood still; what was answered is kept: run again"
            )

    def _acquire(self) -> bool:
        """Whether it is ours; looks at what is there for a term before it takes that over."""
        if tag := self._bucket.create(self._path, _write(self._holder)):
            self._tag = tag
            return True
        seen: Tag | None = None
        since = time.monotonic()
        while found := self._bucket.read_tagged(self._path):
            content, tag = found
            holder = _read_holder(content)
            if holder == self._holder:
                self._tag = tag
                return True
            if seen is None and holder is not None:
                logger.warning("%s is held by %s: waiting for it to end", self._path, holder)
            if tag != seen:
                seen, since = tag, time.monotonic()
            if holder is None or time.monotonic() > since + self._term_s:
                self._tag = self._bucket.replace(self._path, _write(self._holder), tag) or {}
                return bool(self._tag)
            time.sleep(POLL_S)
        return False

    def _require_conditions(self) -> None:
        if self._bucket.create(self._path, _write(self._holder)) is not None:
            raise InputError(
                f"[storage] shared {self._bucket.address}: this storage does not keep conditional writes "
                "(If-None-Match), without which two hosts could ask a model the same; use one that does"
            )

    def _renew(self) -> None:
        while not self._ends.wait(self._term_s / N_RENEWALS):
            started = time.monotonic()
            try:
                self._is_lost = not self._write_again()
            except InputError:
                # Out of reach: tried again until the term is over.
                continue
            if self._is_lost:
                return
            self._renewed_at = started

    def _write_again(self) -> bool:
        """Whether it is still ours. A write may be refused because it had gone through, its answer lost."""
        if tag := self._bucket.replace(self._path, _write(self._holder), self._tag):
            self._tag = tag
            return True
        found = self._bucket.read_tagged(self._path)
        if found is None or _read_holder(found[0]) != self._holder:
            return False
        self._tag = found[1]
        return True


def _write(holder: str | None) -> bytes:
    """Never twice the same, so that the tag changes."""
    return json.dumps({"holder": holder, "write": secrets.token_hex(8)}).encode()


def _read_holder(content: bytes) -> str | None:
    try:
        record: dict[str, Any] = json.loads(content)
        return str(record["holder"]) if record["holder"] else None
    except (ValueError, KeyError, TypeError):
        return None
