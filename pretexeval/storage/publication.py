"""Synchronisation for the publisher: it needs everything that is complete on any host, and runs alone."""

import contextlib
import os
import shutil
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from filelock import FileLock, Timeout

from pretexeval.storage.bucket import Bucket
from pretexeval.storage.files import write_bytes
from pretexeval.storage.layout import (
    ALL_EVALUATIONS,
    CHECKS_FOLDER,
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    LOCKS_FOLDER,
    MANIFEST,
    MODEL,
    PAGES_FOLDER,
    QUESTION_EVALUATIONS_FOLDER,
    REMOVED_FOLDER,
    RESPONSES_FOLDER,
    REVIEWS_FOLDER,
    RUN,
    UNSURE_EVALUATIONS_FOLDER,
    WAREHOUSE,
    WITHDRAWALS_FOLDER,
    diversity_file,
    diversity_record,
    edition_folder,
    guesses_file,
    guesses_record,
    manifest_file,
    removed_folder,
)
from pretexeval.storage.store import Store, transfer_all


def list_pieces(edition_id: str) -> list[str]:
    """Return the files and folders of an edition, its own folder first. They need not exist.

    Stored answers, reviews, and evaluations of anchors are not among them.
    """
    folders = (
        EVALUATIONS_FOLDER,
        QUESTION_EVALUATIONS_FOLDER,
        UNSURE_EVALUATIONS_FOLDER,
        FAILURES_FOLDER,
        CHECKS_FOLDER,
        PAGES_FOLDER,
    )
    return [
        edition_folder(edition_id),
        *(f"{folder}/{edition_id}" for folder in folders),
        diversity_file(edition_id),
        diversity_record(edition_id),
        guesses_file(edition_id),
        guesses_record(edition_id),
    ]


def is_evaluated_now(root: Path, edition_id: str) -> bool:
    """Return whether a process of this host evaluates a model on the edition."""
    for path in (root / LOCKS_FOLDER).glob(f"{edition_id}.*.lock"):
        try:
            with FileLock(path, timeout=0):
                continue
        except Timeout:
            return True
    return False


def remove_edition(store: Store, edition_id: str) -> None:
    """Remove an edition with its evaluations, pages and measurements, here and in the bucket."""
    if (bucket := store.bucket) is not None:
        bucket.send(removed_folder(edition_id), b"")
        bucket.remove(manifest_file(edition_id))
        for piece in list_pieces(edition_id):
            transfer_all(bucket.remove, sorted(bucket.list_objects(piece)))
            bucket.remove(piece)
    remove_here(store.root, edition_id)


def remove_here(root: Path, edition_id: str) -> None:
    """Remove an edition from this host."""
    aside = root / removed_folder(edition_id)
    shutil.rmtree(aside, ignore_errors=True)
    for piece in list_pieces(edition_id):
        if (root / piece).exists():
            (aside / piece).parent.mkdir(parents=True, exist_ok=True)
            os.replace(root / piece, aside / piece)
    shutil.rmtree(aside, ignore_errors=True)


def finish_removals(store: Store) -> None:
    """Finish the removals whose process was ended. An edition that was built again after that stays."""
    for aside in sorted((store.root / REMOVED_FOLDER).glob("*")):
        if (store.root / edition_folder(aside.name)).exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            remove_edition(store, aside.name)


@contextlib.contextmanager
def hold_publication(store: Store) -> Iterator[None]:
    """Hold the lease for publishing; synchronise before the block, and send the results after it.

    Raises:
        InputError: the storage cannot be reached, or does not support conditional writes.
    """
    with store.hold_lease("publish"):
        sync_everything(store)
        yield
        if store.bucket is not None:
            pages = (store.root / PAGES_FOLDER).rglob("*.html")
            transfer_all(store.send, [WAREHOUSE, *(_relative_path(store, page) for page in pages)])


def sync_everything(store: Store) -> None:
    """Send and fetch all complete editions and evaluations, answers, reviews and withdrawals; fetch failures.

    Editions that another host has removed are removed here.
    """
    if store.bucket is None:
        return
    for path in store.bucket.list_objects(REMOVED_FOLDER):
        remove_here(store.root, Path(path).name)
    for folder in _list_folders(store, store.bucket, EDITIONS_FOLDER, MANIFEST):
        store.push_edition(Path(folder).name)
    for folder in _list_folders(store, store.bucket, RESPONSES_FOLDER, MODEL):
        store.sync_responses(Path(folder).name)
    for kind in ALL_EVALUATIONS:
        for folder in _list_folders(store, store.bucket, kind, RUN):
            store.pull_evaluation_files(folder)
            store.push_evaluation_files(folder)
    _fetch_failures(store, store.bucket)
    _sync_newest(store, store.bucket, REVIEWS_FOLDER, "*/*.parquet")
    _sync_newest(store, store.bucket, WITHDRAWALS_FOLDER, "*.json")


def _fetch_failures(store: Store, bucket: Bucket) -> None:
    """Replace the records of failures by those in the bucket: another host may have removed some."""
    remote = bucket.list_objects(FAILURES_FOLDER)
    for path in (store.root / FAILURES_FOLDER).rglob("*.json"):
        if _relative_path(store, path) not in remote:
            path.unlink()
    transfer_all(store.fetch, sorted(remote))


def _sync_newest(store: Store, bucket: Bucket, folder: str, pattern: str) -> None:
    """Send and fetch what people say of editions. Of two different files, the later one replaces the other.

    Sheets and keys of a review stay on the host that made them.
    """
    local = {_relative_path(store, path): path for path in (store.root / folder).glob(pattern)}
    remote = bucket.list_objects(folder)
    for name in sorted(local | remote):
        path = store.root / name
        content = bucket.read(name) if name in remote else None
        if name in local and path.read_bytes() == content:
            continue
        written_at = datetime.fromtimestamp(path.stat().st_mtime, UTC) if name in local else None
        if written_at and (content is None or written_at > remote[name].modified_at):
            store.send(name)
        elif content is not None:
            write_bytes(path, content)


def _list_folders(store: Store, bucket: Bucket, kind: str, record: str) -> list[str]:
    """Return the folders that hold such a record, on this host or in the bucket."""
    local = (_relative_path(store, path) for path in (store.root / kind).rglob(record))
    remote = (path for path in bucket.list_objects(kind) if path.endswith(f"/{record}"))
    return sorted({path.rpartition("/")[0] for path in (*local, *remote)})


def _relative_path(store: Store, path: Path) -> str:
    return path.relative_to(store.root).as_posix()
