"""What several hosts share: each works in its own folder, and a bucket holds what all of them made.

An edition and an evaluation are there once their record is, which goes last. Answers are files named by
their content, so that the bucket and every host come to hold all of them, whatever failed on the way.
Without `[storage] shared` there is nothing to do here, and hosts may share the folder itself.
"""

import contextlib
from collections.abc import Callable, Iterator, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from pathlib import Path
from typing import TypeVar

from config.tables import StorageConfig
from primitives.errors import InputError
from storage.bucket import Bucket, Object
from storage.files import FileRef, write_aside
from storage.layout import (
    MANIFEST,
    RUN,
    edition_folder,
    evaluation_folder,
    lease_object,
    manifest_file,
    model_file,
    responses_folder,
)
from storage.lease import Lease
from storage.records import parse_record, read_files
from storage.responses import ResponseStore

N_TRANSFERS = 8
Item = TypeVar("Item")
Result = TypeVar("Result")


class Mirror:
    """The folder of this host, and the bucket that it shares with others."""

    def __init__(self, storage: StorageConfig) -> None:
        """Nothing is read or sent yet.

        Raises:
            InputError: if `[storage] shared` names no storage that can be used.
        """
        self.root = storage.root
        self.bucket = Bucket(storage.shared) if storage.shared else None

    def pull_edition(self, edition_id: str) -> None:
        """Bring what is missing or damaged here of an edition that is complete in the bucket.

        What is damaged there is set aside, and sent anew by the next host that has it.

        Raises:
            InputError: if the edition is complete here as well and is another.
        """
        if self.bucket is not None:
            self._bring_edition(self.bucket, edition_id)

    def _bring_edition(self, bucket: Bucket, edition_id: str) -> bool | None:
        """Whether every file of it is whole here then; null if it is not complete in the bucket."""
        folder = edition_folder(edition_id)
        content = bucket.read(manifest_file(edition_id))
        if content is None:
            return None
        path = self.root / manifest_file(edition_id)
        if path.is_file() and path.read_bytes() != content:
            raise InputError(
                f"{path.parent} and {bucket.address}/{folder} differ: "
                "they bear the same name, but other code made them; delete the one that is not wanted"
            )
        missing = [ref for ref in _list_files(folder, content, MANIFEST) if not ref.is_intact(self.root)]
        brought = transfer(self._fetch, missing)
        for ref, is_whole in zip(missing, brought, strict=True):
            if not is_whole:
                bucket.set_aside(ref.path)
        _place(path, content)
        return all(brought)

    def push_edition(self, edition_id: str) -> None:
        """Send what the bucket lacks of an edition that is complete here.

        Raises:
            InputError: if the bucket has another edition of this name.
        """
        if self.bucket is None:
            return
        is_whole = self._bring_edition(self.bucket, edition_id)
        folder = edition_folder(edition_id)
        path = self.root / manifest_file(edition_id)
        if not path.is_file():
            return
        refs, is_there = _list_files(folder, path.read_bytes(), MANIFEST), is_whole is not None
        if is_whole or (not is_there and all(ref.is_intact(self.root) for ref in refs)):
            self._send_unless(self.bucket.list_objects(folder), [ref.path for ref in refs])
            if not is_there and self.bucket.create(manifest_file(edition_id), path.read_bytes()) is None:
                # Another host completed it meanwhile: it has to be the same.
                self.pull_edition(edition_id)

    def pull_evaluation(self, edition_id: str, model_id: str) -> None:
        """Bring what an evaluation needs, and the evaluation itself if it is complete in the bucket."""
        self.pull_edition(edition_id)
        self.sync_responses(model_id)
        self.pull_run(evaluation_folder(edition_id, model_id))

    def push_evaluation(self, edition_id: str, model_id: str) -> None:
        """Send an evaluation that is complete here in the place of the one in the bucket."""
        self.push_run(evaluation_folder(edition_id, model_id))

    def pull_run(self, folder: str) -> None:
        """Bring an evaluation, by its folder; one that is being written anew there is not complete here."""
        if self.bucket is None:
            return
        content = self.bucket.read(f"{folder}/{RUN}")
        path = self.root / folder / RUN
        if content is None:
            return
        refs = _list_files(folder, content, RUN)
        missing = [ref for ref in refs if not ref.is_intact(self.root)]
        if missing or not path.is_file() or path.read_bytes() != content:
            path.unlink(missing_ok=True)
            if all(transfer(self._fetch, missing)):
                _place(path, content)

    def push_run(self, folder: str) -> None:
        """Send an evaluation, by its folder under the root, in the place of the one in the bucket."""
        path = self.root / folder / RUN
        if self.bucket is None or not path.is_file():
            return
        content, there = path.read_bytes(), self.bucket.read(f"{folder}/{RUN}")
        if there == content:
            return
        known = {ref.path: ref.sha256 for ref in _list_files(folder, there, RUN)} if there else {}
        # Until it is whole again, it is passed by.
        self.bucket.remove(f"{folder}/{RUN}")
        refs = _list_files(folder, content, RUN)
        transfer(self.send, [ref.path for ref in refs if known.get(ref.path) != ref.sha256])
        self.bucket.send(f"{folder}/{RUN}", content)

    def sync_responses(self, model_id: str) -> None:
        """Have all answers of a model on both sides; what is damaged in the bucket is set aside."""
        if self.bucket is None:
            return
        store = ResponseStore(self.root, model_id)
        folder = responses_folder(model_id)
        here = [f"{folder}/{path.name}" for path in store.list_files()]
        there = self.bucket.list_objects(folder)
        self._send_unless(there, here)
        parts = [path for path in there if store.is_part(path.removeprefix(f"{folder}/"))]
        missing = [path for path in parts if path not in here]
        for path, is_whole in zip(missing, transfer(self._fetch_responses, missing), strict=True):
            if not is_whole:
                self.bucket.set_aside(path)
        record = model_file(model_id)
        if (self.root / record).is_file():
            if record not in there:
                self.send(record)
        elif record in there:
            self.bucket.fetch(record, self.root / record)

    def send(self, path: str) -> None:
        """Send a file, by its path under the root, in the place of what the bucket has there."""
        if self.bucket is not None:
            self.bucket.send(path, self.root / path)

    def fetch(self, path: str, sha256: str = "") -> bool:
        """Bring a file if the bucket has it and its checksum begins so; return whether it was brought."""
        return self.bucket is not None and self.bucket.fetch(path, self.root / path, sha256)

    @contextlib.contextmanager
    def hold(self, name: str) -> Iterator[Callable[[], None]]:
        """One process at a time among all that share the bucket; gives a check that it still is.

        Raises:
            InputError: if the storage cannot be reached, or does not keep conditional writes.
        """
        if self.bucket is None:
            yield lambda: None
            return
        with Lease(self.bucket, lease_object(name)) as lease:
            yield lease.require

    def _send_unless(self, there: Mapping[str, Object], paths: Sequence[str]) -> None:
        """Send the files that the bucket has not, or not whole."""
        sizes = {path: (self.root / path).stat().st_size for path in paths}
        transfer(self.send, [p for p, n in sizes.items() if p not in there or there[p].n_bytes != n])

    def _fetch(self, ref: FileRef) -> bool:
        """Bring a file if it holds what its record says; return whether it does."""
        return self.fetch(ref.path, ref.sha256)

    def _fetch_responses(self, path: str) -> bool:
        return self.fetch(path, Path(path).stem.removeprefix("part-"))


def _list_files(folder: str, content: bytes, record: str) -> list[FileRef]:
    """The files that a record in the bucket or here lists."""
    try:
        return read_files(parse_record(content), folder)
    except ValueError:
        raise InputError(
            f"{folder}/{record}: cannot be read; delete it here and in the shared storage, and run again"
        ) from None


def transfer(transfer: Callable[[Item], Result], items: Sequence[Item]) -> list[Result]:
    """Several at once; the first error ends it."""
    with ThreadPoolExecutor(N_TRANSFERS) as pool:
        return list(pool.map(transfer, items))


def _place(path: Path, content: bytes) -> None:
    if path.is_file() and path.read_bytes() == content:
        return
    with write_aside(path) as aside:
        aside.write_bytes(content)
