"""A bucket of object storage: S3 and what speaks it, Google Cloud, Azure; the keys come from the environment.

A file is there as a whole or not at all: an upload takes the object's place when it is complete.
"""

from __future__ import annotations

import contextlib
import re
from collections.abc import Callable
from dataclasses import dataclass
from datetime import datetime, timedelta
from pathlib import Path
from typing import TYPE_CHECKING, TypeVar

from primitives.checksums import checksum_file
from primitives.errors import InputError
from storage.files import write_aside

if TYPE_CHECKING:
    from obstore import ObjectMeta, PutResult
    from obstore import UpdateVersion as Tag
    from obstore.store import ObjectStore

Answer = TypeVar("Answer")
# What is secret of what the library takes from the environment.
SECRETS = {
    "s3": ("AWS_ACCESS_KEY_ID", "AWS_SECRET_ACCESS_KEY", "AWS_SESSION_TOKEN"),
    "gs": ("GOOGLE_SERVICE_ACCOUNT_KEY",),
    "az": ("AZURE_STORAGE_ACCOUNT_KEY", "AZURE_CLIENT_SECRET"),
}
# Of one request; a large file goes in parts.
TIMEOUT = timedelta(minutes=5)
# What a restart of the storage takes is bridged; what takes longer is said.
PATIENCE = timedelta(minutes=3)
# More than fit into that.
MAX_RETRIES = 100
CHUNK_BYTES = 8_000_000


@dataclass(frozen=True)
class Object:
    """A file in a bucket."""

    n_bytes: int
    modified_at: datetime
    """By the clock of the storage."""


class Bucket:
    """The objects under an address such as `s3://bucket/prefix`; paths are relative to it."""

    def __init__(self, address: str, patience: timedelta = PATIENCE) -> None:
        """Nothing is sent yet.

        Args:
            patience: how long a request is sent again while the storage does not answer.

        Raises:
            InputError: if the address names no storage that can be used.
        """
        from obstore.exceptions import BaseError
        from obstore.store import from_url

        self.address = address.rstrip("/")
        try:
            self._store: ObjectStore = from_url(
                self.address,
                # Where the environment names a server, it says as well whether that is http.
                client_options={"timeout": TIMEOUT, "allow_http": True},
                retry_config={"max_retries": MAX_RETRIES, "retry_timeout": patience},
            )
        except (BaseError, ValueError) as error:
            raise self._explain(error) from None

    def list_objects(self, folder: str) -> dict[str, Object]:
        """Path -> every object in a folder and the folders in it."""
        import obstore

        def list_all() -> dict[str, Object]:
            found = (each for chunk in obstore.list(self._store, folder) for each in chunk)
            return {each["path"]: Object(each["size"], each["last_modified"]) for each in found}

        return self._try(list_all)

    def read(self, path: str) -> bytes | None:
        """The object's bytes; null if there is none."""
        return found[0] if (found := self.read_tagged(path)) else None

    def read_tagged(self, path: str) -> tuple[bytes, Tag] | None:
        """The object's bytes and the tag that changes with them; null if there is none."""
        import obstore

        def get() -> tuple[bytes, Tag] | None:
            try:
                answer = obstore.get(self._store, path)
            except FileNotFoundError:
                return None
            return bytes(answer.bytes()), _read_tag(answer.meta)

        return self._try(get)

    def fetch(self, path: str, target: Path, sha256: str = "") -> bool:
        """Bring an object to a file if its checksum begins so, or else nothing; whether it did."""
        import obstore

        def get() -> bool:
            try:
                answer = obstore.get(self._store, path)
            except FileNotFoundError:
                return False
            with contextlib.suppress(_WrongBytesError), write_aside(target) as aside:
                with aside.open("wb") as file:
                    file.writelines(bytes(chunk) for chunk in answer.stream(min_chunk_size=CHUNK_BYTES))
                if not checksum_file(aside).startswith(sha256):
                    raise _WrongBytesError
                return True
            return False

        return self._try(get)

    def send(self, path: str, source: Path | bytes) -> None:
        """Put a file, or these bytes, in the place of the object, whole or not at all."""
        import obstore

        self._try(lambda: obstore.put(self._store, path, source))

    def create(self, path: str, content: bytes) -> Tag | None:
        """Put the bytes where there is no object yet; the new tag, or null if there is one."""
        import obstore
        from obstore.exceptions import AlreadyExistsError

        def put() -> Tag | None:
            try:
                return _read_tag(obstore.put(self._store, path, content, mode="create"))
            except AlreadyExistsError:
                return None

        return self._try(put)

    def replace(self, path: str, content: bytes, tag: Tag) -> Tag | None:
        """Put the bytes in the place of the object with this tag; the new tag, or null if it has another."""
        import obstore
        from obstore.exceptions import PreconditionError

        def put() -> Tag | None:
            try:
                return _read_tag(obstore.put(self._store, path, content, mode=tag))
            except (PreconditionError, FileNotFoundError):
                return None

        return self._try(put)

    def set_aside(self, path: str) -> None:
        """Give an object another name, if there is one: `….damaged`, so that a whole one can be sent."""
        import obstore

        def rename() -> None:
            with contextlib.suppress(FileNotFoundError):
                obstore.rename(self._store, path, f"{path}.damaged")

        self._try(rename)

    def remove(self, path: str) -> None:
        """Remove the object, if there is one."""
        import obstore

        def delete() -> None:
            with contextlib.suppress(FileNotFoundError):
                obstore.delete(self._store, path)

        self._try(delete)

    def _try(self, call: Callable[[], Answer]) -> Answer:
        from obstore.exceptions import BaseError

        try:
            return call()
        except (BaseError, FileNotFoundError) as error:
            # FileNotFoundError: of the bucket itself.
            raise self._explain(error) from None

    def _explain(self, error: Exception) -> InputError:
        return InputError(
            f"[storage] shared {self.address}: {show_reason(error)}; check the address and the keys in the "
            "environment (docs/object-storage.md). What was made here is kept, and sent by the "
            "next run"
        )


def _read_tag(meta: ObjectMeta | PutResult) -> Tag:
    """S3 and Azure compare the e_tag, Google Cloud the version."""
    tag: Tag = {}
    # One that it does not know must not be named at all.
    if meta["e_tag"] is not None:
        tag["e_tag"] = meta["e_tag"]
    if meta["version"] is not None:
        tag["version"] = meta["version"]
    return tag


class _WrongBytesError(Exception):
    """What was brought is not what was asked for."""


def show_reason(error: Exception) -> str:
    """What the library says in one line, without the queries of addresses, which may be signatures."""
    text = str(error).split("\n\nDebug source")[0]
    return re.sub(r"\?\S+", "", " ".join(text.split()))[:300]
