"""A bucket of object storage: S3 and compatible stores, Google Cloud or Azure.

The keys come from the environment. Uploads are atomic: readers see the old object or the whole new one.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Iterator
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING

import obstore
from obstore.exceptions import AlreadyExistsError, BaseError, PreconditionError
from obstore.store import from_url

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import checksum_file
from pretexeval.storage.files import write_atomically

if TYPE_CHECKING:
    from obstore import GetResult, ObjectMeta, PutResult
    from obstore import UpdateVersion as Tag
    from obstore.store import ObjectStore


def explain_error(address: str, error: Exception) -> InputError:
    """Return an InputError that says what failed at this address and what to check."""
    return InputError(
        f"[storage] shared {address}: {render_reason(error)}; check the address and the keys in the "
        "environment (docs/operations.md). Files made on this host are kept, and the next run sends them"
    )


def render_reason(error: Exception) -> str:
    """Return the library's message in one line, without URL queries, because they may hold signatures."""
    text = str(error).split("\n\nDebug source")[0]
    return re.sub(r"\?\S+", "", " ".join(text.split()))[:300]


# URL scheme -> the environment variables with secret values that the storage library reads.
SECRET_VARIABLES = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_CLIENT_SECRET"),
}
# For one request. A large file is sent in parts, with one request per part.
REQUEST_TIMEOUT = timedelta(minutes=5)
# Long enough for a restart of the storage server; a longer outage is an error.
RETRY_TIMEOUT = timedelta(minutes=3)
# This is so large that RETRY_TIMEOUT ends the retries first.
MAX_RETRIES = 100
CHUNK_BYTES = 8_000_000


@dataclass(frozen=True)
class StoredObject:
    """Size and age of an object in the bucket."""

    n_bytes: int
    modified_at: datetime
    """Time of the last change by the clock of the storage."""


class Bucket:
    """The objects under an address such as `s3://bucket/prefix`. Paths are relative to the address.

    Every method retries while the storage does not answer, and raises an InputError when it gives up.
    """

    def __init__(self, address: str, retry_timeout: timedelta = RETRY_TIMEOUT) -> None:
        """Prepare the client without sending anything.

        Args:
            retry_timeout: how long a request is retried while the storage does not answer.

        Raises:
            InputError: the address names no supported storage.
        """
        self.address = address.rstrip("/")
        try:
            self._store: ObjectStore = from_url(
                self.address,
                # `AWS_ENDPOINT_URL` may be plain HTTP, so HTTP is allowed.
                client_options={"timeout": REQUEST_TIMEOUT, "allow_http": True},
                retry_config={"max_retries": MAX_RETRIES, "retry_timeout": retry_timeout},
            )
        except (BaseError, ValueError) as error:
            raise explain_error(self.address, error) from None

    def list_objects(self, folder: str) -> dict[str, StoredObject]:
        """Return path -> object for every object in a folder and its subfolders."""
        with self._explain_errors():
            items = (item for chunk in obstore.list(self._store, folder) for item in chunk)
            return {item["path"]: StoredObject(item["size"], item["last_modified"]) for item in items}

    def read(self, path: str) -> bytes | None:
        """Return the bytes of an object, or None if it does not exist."""
        return stored[0] if (stored := self.read_with_tag(path)) else None

    def read_with_tag(self, path: str) -> tuple[bytes, Tag] | None:
        """Return the bytes of an object and its version tag for `replace`, or None if it does not exist."""
        with self._explain_errors():
            if (answer := self._get(path)) is None:
                return None
            return bytes(answer.bytes()), _read_tag(answer.meta)

    def fetch(self, path: str, target: Path, sha256: str = "") -> bool:
        """Download an object to a file; return whether it exists and has the checksum.

        If it does not, the file stays as it is.

        Args:
            sha256: the checksum of the object, or the first digits of it.
        """
        with self._explain_errors(), contextlib.suppress(_WrongChecksumError):
            if (answer := self._get(path)) is None:
                return False
            with write_atomically(target) as temporary:
                with temporary.open("wb") as file:
                    file.writelines(bytes(chunk) for chunk in answer.stream(min_chunk_size=CHUNK_BYTES))
                if not checksum_file(temporary).startswith(sha256):
                    raise _WrongChecksumError
            return True
        return False

    def send(self, path: str, source: Path | bytes) -> None:
        """Upload a file or bytes, replacing the object atomically."""
        with self._explain_errors():
            obstore.put(self._store, path, source)

    def create(self, path: str, content: bytes) -> Tag | None:
        """Create an object and return its tag. If it exists already, only return None."""
        with self._explain_errors(), contextlib.suppress(AlreadyExistsError):
            return _read_tag(obstore.put(self._store, path, content, mode="create"))
        return None

    def replace(self, path: str, content: bytes, tag: Tag) -> Tag | None:
        """Replace an object and return its new tag. If it has another tag than ``tag``, only return None."""
        with self._explain_errors(), contextlib.suppress(PreconditionError, FileNotFoundError):
            return _read_tag(obstore.put(self._store, path, content, mode=tag))
        return None

    def rename_damaged(self, path: str) -> None:
        """Rename an object to `….damaged`, so that an intact one can be sent. It need not exist."""
        with self._explain_errors(), contextlib.suppress(FileNotFoundError):
            obstore.rename(self._store, path, f"{path}.damaged")

    def remove(self, path: str) -> None:
        """Remove an object. It need not exist."""
        with self._explain_errors(), contextlib.suppress(FileNotFoundError):
            obstore.delete(self._store, path)

    def _get(self, path: str) -> GetResult | None:
        try:
            return obstore.get(self._store, path)
        except FileNotFoundError:
            return None

    @contextlib.contextmanager
    def _explain_errors(self) -> Iterator[None]:
        """Raise errors of the library as an InputError."""
        try:
            yield
        except (BaseError, FileNotFoundError) as error:
            # FileNotFoundError here means that the bucket itself does not exist.
            raise explain_error(self.address, error) from None


def _read_tag(meta: ObjectMeta | PutResult) -> Tag:
    """Return the version tag. S3 and Azure compare the e_tag, Google Cloud compares the version."""
    tag: Tag = {}
    # A field that the storage does not use must be absent, not None.
    if meta["e_tag"] is not None:
        tag["e_tag"] = meta["e_tag"]
    if meta["version"] is not None:
        tag["version"] = meta["version"]
    return tag


class _WrongChecksumError(Exception):
    """The downloaded bytes do not have the expected checksum."""
