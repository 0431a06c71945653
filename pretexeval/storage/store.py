"""Exchange of files between the data folder of this host and a bucket that several hosts share.

A record (manifest.json, run.json) is always sent last, so an edition or an evaluation in the bucket is
complete as soon as its record exists. Files of answers are named by their content, so hosts only ever add
files, and after any failure the next run sends what the bucket lacks.
Without `[storage] shared` nothing is exchanged; hosts may then share the data folder itself.
"""

import contextlib
import logging
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import Any, TypeVar

from pretexeval.config.tables import StorageConfig
from pretexeval.primitives.errors import InputError
from pretexeval.storage.bucket import Bucket, StoredObject
from pretexeval.storage.files import FileRef, write_bytes
from pretexeval.storage.layout import (
    MANIFEST,
    RUN,
    edition_folder,
    lease_object,
    manifest_file,
    model_file,
    removed_folder,
    responses_folder,
)
from pretexeval.storage.lease import Lease
from pretexeval.storage.records import (
    OtherVersion,
    find_manifest,
    find_record,
    parse_listed_files,
    parse_record,
    write_record,
)
from pretexeval.storage.responses import ResponseStore

logger = logging.getLogger(__name__)


N_AT_ONCE = 8
Item = TypeVar("Item")
Result = TypeVar("Result")


def transfer_all(transfer: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Transfer the items, several at once, and return the results in order; raise the first error."""
    with ThreadPoolExecutor(N_AT_ONCE) as pool:
        return list(pool.map(transfer, items))


OTHER = (
    "%s was written by another version of pretexeval: it stays, and is not used here; use one version on all "
    "hosts (`pretexeval run CONFIG` asks no stored prompt twice)"
)
RENAMED = "%s is damaged (%s) and was renamed to %s; the next host that has the intact record sends it again"


class Store:
    """The data folder of this host, with the bucket that it shares with other hosts if there is one."""

    def __init__(self, storage: StorageConfig) -> None:
        """Prepare the client of the bucket without reading or sending anything.

        Raises:
            InputError: `[storage] shared` names no supported storage.
        """
        self.root = storage.root
        self.bucket = Bucket(storage.shared) if storage.shared else None

    def open_responses(self, model_id: str) -> ResponseStore:
        """Return the responses of a model. Every response that is appended is sent as well."""
        return ResponseStore(self.root, model_id, self.send)

    def write_record(self, path: str, record: Mapping[str, Any]) -> None:
        """Write a record and send it.

        Args:
            path: its path under the root.
        """
        write_record(self.root / path, record)
        self.send(path)

    def pull_edition(self, edition_id: str) -> bool | None:
        """Fetch the files of an edition that are missing or damaged here, if the bucket has all of it.

        Return whether all files are intact here after that; None if the bucket has no complete edition. A
        damaged object in the bucket is renamed; the next host that has the intact file sends it again.

        Raises:
            InputError: the edition is complete on both sides, with different content.
        """
        folder = edition_folder(edition_id)
        content = self._read_sound(folder, MANIFEST, edition_id=edition_id)
        if self.bucket is None or content is None:
            return None
        path = self.root / manifest_file(edition_id)
        if find_manifest(self.root, edition_id) is not None and path.read_bytes() != content:
            raise InputError(
                f"{path.parent} and {self.bucket.address}/{folder} differ: they have the same name, but "
                "different code made them; delete the one that you do not want"
            )
        refs = parse_listed_files(folder, content, MANIFEST)
        missing = [ref for ref in refs if not ref.is_intact(self.root)]
        fetched = transfer_all(self._fetch_file, missing)
        for ref, is_fetched in zip(missing, fetched, strict=True):
            if not is_fetched:
                self.bucket.rename_damaged(ref.path)
        _write_if_changed(path, content)
        return all(fetched)

    def push_edition(self, edition_id: str) -> None:
        """Send the files that the bucket lacks, if the edition is complete here.

        An edition of an older version of this program is replaced; one of a newer version stays.

        Raises:
            InputError: the bucket has an edition of this name with different content.
        """
        if self.bucket is None:
            return
        # An edition that is built again is no longer removed.
        self.bucket.remove(removed_folder(edition_id))
        is_whole = self.pull_edition(edition_id)
        folder = edition_folder(edition_id)
        path = self.root / manifest_file(edition_id)
        if find_manifest(self.root, edition_id) is None:
            return
        refs, is_in_bucket = parse_listed_files(folder, path.read_bytes(), MANIFEST), is_whole is not None
        other = None if is_in_bucket else _find_other_version(self.bucket, manifest_file(edition_id))
        if other is not None and other.is_newer:
            return
        if is_whole or (not is_in_bucket and all(ref.is_intact(self.root) for ref in refs)):
            if other is not None:
                # Readers skip a folder without a record, so they never see a mixture of old and new files.
                self.bucket.remove(manifest_file(edition_id))
            present = {} if other is not None else self.bucket.list_objects(folder)
            self._send_missing(present, [ref.path for ref in refs])
            if not is_in_bucket and self.bucket.create(manifest_file(edition_id), path.read_bytes()) is None:
                # Another host has completed the edition meanwhile. Check that it is the same.
                self.pull_edition(edition_id)

    def pull_answers(self, edition_id: str, model_id: str, folder: str) -> None:
        """Fetch the edition, the model's answers, and the evaluation of a folder if it is complete."""
        self.pull_edition(edition_id)
        self.sync_responses(model_id)
        self.pull_evaluation_files(folder)

    def pull_evaluation_files(self, folder: str) -> None:
        """Fetch the files of an evaluation by its folder, if it is complete in the bucket.

        If another host is just replacing it, some files do not match the record yet. The evaluation here is
        then without its record, so readers skip it.
        """
        path, content = self.root / folder / RUN, self._read_sound(folder, RUN)
        if content is None:
            return
        refs = parse_listed_files(folder, content, RUN)
        missing = [ref for ref in refs if not ref.is_intact(self.root)]
        if missing or not path.is_file() or path.read_bytes() != content:
            path.unlink(missing_ok=True)
            if all(transfer_all(self._fetch_file, missing)):
                _write_if_changed(path, content)

    def push_evaluation_files(self, folder: str) -> None:
        """Send the files of an evaluation by its folder, if it is complete here and not the same there.

        An evaluation of a newer version of this program stays.
        """
        path = self.root / folder / RUN
        if self.bucket is None or find_record(path, "it is written or fetched again") is None:
            return
        content, sent_before = path.read_bytes(), self._read_sound(folder, RUN)
        other = _find_other_version(self.bucket, f"{folder}/{RUN}") if sent_before is None else None
        if sent_before == content or (other is not None and other.is_newer):
            return
        old_refs = parse_listed_files(folder, sent_before, RUN) if sent_before else []
        old_checksums = {ref.path: ref.sha256 for ref in old_refs}
        # Readers skip a folder without a record, so they never see a mixture of old and new files.
        self.bucket.remove(f"{folder}/{RUN}")
        refs = parse_listed_files(folder, content, RUN)
        transfer_all(self.send, [ref.path for ref in refs if old_checksums.get(ref.path) != ref.sha256])
        self.bucket.send(f"{folder}/{RUN}", content)

    def sync_responses(self, model_id: str) -> None:
        """Send and fetch a model's answers until both sides have all; rename damaged ones in the bucket."""
        if self.bucket is None:
            return
        folder = responses_folder(model_id)
        local = [f"{folder}/{path.name}" for path in ResponseStore(self.root, model_id).list_files()]
        remote = self.bucket.list_objects(folder)
        self._send_missing(remote, local)
        checksums = {path: ResponseStore.read_checksum(path.removeprefix(f"{folder}/")) for path in remote}
        missing = [(path, sha256) for path, sha256 in checksums.items() if sha256 and path not in local]
        fetched = transfer_all(lambda part: self.fetch(*part), missing)
        for (path, _), is_fetched in zip(missing, fetched, strict=True):
            if not is_fetched:
                self.bucket.rename_damaged(path)
        record = model_file(model_id)
        if self._has_model_record(record, model_id):
            if record not in remote:
                self.send(record)
        elif record in remote:
            self.bucket.fetch(record, self.root / record)
            if not self._has_model_record(record, model_id):
                self.bucket.rename_damaged(record)

    def _has_model_record(self, path: str, model_id: str) -> bool:
        """Return whether the record of a model is intact here; set a damaged one aside."""
        return find_record(self.root / path, "it is written or fetched again", model_id=model_id) is not None

    def send(self, path: str) -> None:
        """Send a file, by its path under the root, replacing the object in the bucket."""
        if self.bucket is not None:
            self.bucket.send(path, self.root / path)

    def remove(self, path: str) -> None:
        """Remove a file here and in the bucket, by its path under the root. It need not exist."""
        (self.root / path).unlink(missing_ok=True)
        if self.bucket is not None:
            self.bucket.remove(path)

    def fetch(self, path: str, sha256: str = "") -> bool:
        """Fetch a file, by its path under the root; return whether the bucket has it with this checksum.

        Args:
            sha256: the checksum of the file, or the first digits of it.
        """
        return self.bucket is not None and self.bucket.fetch(path, self.root / path, sha256)

    @contextlib.contextmanager
    def hold_lease(self, name: str) -> Iterator[Callable[[], None]]:
        """Hold a lease, which one process of all hosts holds at a time; yield a check that it is still held.

        Raises:
            InputError: the storage cannot be reached, or does not support conditional writes.
        """
        if self.bucket is None:
            yield lambda: None
            return
        with Lease(self.bucket, lease_object(name)) as lease:
            yield lease.require_held

    def _read_sound(self, folder: str, name: str, **expected: object) -> bytes | None:
        """Return the bytes of a record in the bucket; None if it is missing, damaged or of another version.

        A record of another version stays. A damaged one is renamed and named; the next host that has the
        intact record sends it again.

        Args:
            expected: values that the record must have.
        """
        if self.bucket is None or (content := self.bucket.read(f"{folder}/{name}")) is None:
            return None
        address = f"{self.bucket.address}/{folder}/{name}"
        try:
            parse_record(content, **expected)
        except OtherVersion:
            logger.warning(OTHER, address)
            return None
        except (ValueError, RecursionError) as error:
            logger.warning(RENAMED, address, error, f"{name}.damaged")
            self.bucket.rename_damaged(f"{folder}/{name}")
            return None
        return content

    def _send_missing(self, remote: Mapping[str, StoredObject], paths: Sequence[str]) -> None:
        """Send the files that the bucket lacks or has with another size."""
        sizes = {path: (self.root / path).stat().st_size for path in paths}
        transfer_all(self.send, [p for p, n in sizes.items() if p not in remote or remote[p].n_bytes != n])

    def _fetch_file(self, ref: FileRef) -> bool:
        return self.fetch(ref.path, ref.sha256)


def _write_if_changed(path: Path, content: bytes) -> None:
    if not path.is_file() or path.read_bytes() != content:
        write_bytes(path, content)


def _find_other_version(bucket: Bucket, path: str) -> OtherVersion | None:
    """Return the error of a record in the bucket that another version of this program wrote."""
    try:
        parse_record(bucket.read(path) or b"")
    except OtherVersion as error:
        return error
    except (ValueError, RecursionError):
        return None
    return None
