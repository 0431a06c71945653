"""Synchronisation for the publisher: it needs everything that is complete on any host, and runs alone."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from storage.bucket import Bucket
from storage.files import write_bytes
from storage.layout import (
    ALL_EVALUATIONS,
    EDITIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    PAGES_FOLDER,
    REMOVED_FOLDER,
    RESPONSES_FOLDER,
    REVIEWS_FOLDER,
    RUN,
    WAREHOUSE,
)
from storage.mirror import Mirror
from storage.removal import remove_here
from storage.transfers import transfer_all


@contextlib.contextmanager
def hold_publication(mirror: Mirror) -> Iterator[None]:
    """Hold the lease for publishing; synchronise before the block, and send the results after it.

    Raises:
        InputError: the storage cannot be reached, or does not support conditional writes.
    """
    with mirror.hold_lease("publish"):
        sync_everything(mirror)
        yield
        if mirror.bucket is not None:
            pages = (mirror.root / PAGES_FOLDER).rglob("*.html")
            transfer_all(mirror.send, [WAREHOUSE, *(_relative_path(mirror, page) for page in pages)])


def sync_everything(mirror: Mirror) -> None:
    """Send and fetch all complete editions and evaluations, answers, and grades; fetch failures.

    Editions that another host has removed are removed here.
    """
    if mirror.bucket is None:
        return
    for path in mirror.bucket.list_objects(REMOVED_FOLDER):
        remove_here(mirror.root, Path(path).name)
    for folder in _list_folders(mirror, mirror.bucket, EDITIONS_FOLDER, MANIFEST):
        mirror.push_edition(Path(folder).name)
    for folder in _list_folders(mirror, mirror.bucket, RESPONSES_FOLDER, MODEL):
        mirror.sync_responses(Path(folder).name)
    for kind in ALL_EVALUATIONS:
        for folder in _list_folders(mirror, mirror.bucket, kind, RUN):
            mirror.pull_evaluation_files(folder)
            mirror.push_evaluation_files(folder)
    _fetch_failures(mirror, mirror.bucket)
    _sync_grades(mirror, mirror.bucket)


def _fetch_failures(mirror: Mirror, bucket: Bucket) -> None:
    """Replace the records of failures by those in the bucket: another host may have removed some."""
    remote = bucket.list_objects(FAILURES_FOLDER)
    for path in (mirror.root / FAILURES_FOLDER).rglob("*.json"):
        if _relative_path(mirror, path) not in remote:
            path.unlink()
    transfer_all(mirror.fetch, sorted(remote))


def _sync_grades(mirror: Mirror, bucket: Bucket) -> None:
    """Send and fetch grades. If two hosts have different grades, those imported later win.

    Sheets and keys of a review stay on the host that made them.
    """
    local = {
        _relative_path(mirror, path): path for path in (mirror.root / REVIEWS_FOLDER).glob("*/*.parquet")
    }
    remote = bucket.list_objects(REVIEWS_FOLDER)
    for name in sorted(local | remote):
        path = mirror.root / name
        content = bucket.read(name) if name in remote else None
        if name in local and path.read_bytes() == content:
            continue
        if name in local and (content is None or _read_time(path) > remote[name].modified_at):
            mirror.send(name)
        elif content is not None:
            write_bytes(path, content)


def _read_time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _list_folders(mirror: Mirror, bucket: Bucket, kind: str, record: str) -> list[str]:
    """Return the folders that hold such a record, on this host or in the bucket."""
    local = (_relative_path(mirror, path) for path in (mirror.root / kind).rglob(record))
    remote = (path for path in bucket.list_objects(kind) if path.endswith(f"/{record}"))
    return sorted({path.rpartition("/")[0] for path in (*local, *remote)})


def _relative_path(mirror: Mirror, path: Path) -> str:
    return path.relative_to(mirror.root).as_posix()
