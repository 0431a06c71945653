"""What a publisher needs of the storage that hosts share: all that is complete, and no other publisher."""

import contextlib
from collections.abc import Iterator
from datetime import UTC, datetime
from pathlib import Path

from storage.bucket import Bucket
from storage.files import write_aside
from storage.layout import EDITIONS, EVALUATIONS, MANIFEST, MODEL, PAGES, RESPONSES, REVIEWS, RUN, WAREHOUSE
from storage.mirror import Mirror, transfer


@contextlib.contextmanager
def hold_publication(mirror: Mirror) -> Iterator[None]:
    """One publisher at a time: everything complete is here when the block begins, and sent at its end.

    Raises:
        InputError: if the storage cannot be reached, or does not keep conditional writes.
    """
    with mirror.hold("publish"):
        sync_all(mirror)
        yield
        if mirror.bucket is not None:
            pages = (mirror.root / PAGES).rglob("*.html")
            transfer(mirror.send, [WAREHOUSE, *(_name(mirror, page) for page in pages)])


def sync_all(mirror: Mirror) -> None:
    """Have everything that is complete on both sides, and the grades of human reviews."""
    if mirror.bucket is None:
        return
    for folder in _list_folders(mirror, mirror.bucket, EDITIONS, MANIFEST):
        mirror.push_edition(Path(folder).name)
    for folder in _list_folders(mirror, mirror.bucket, RESPONSES, MODEL):
        mirror.sync_responses(Path(folder).name)
    for folder in _list_folders(mirror, mirror.bucket, EVALUATIONS, RUN):
        mirror.pull_run(folder)
        mirror.push_run(folder)
    _sync_grades(mirror, mirror.bucket)


def _sync_grades(mirror: Mirror, bucket: Bucket) -> None:
    """Of grades that differ, those imported later stand. Sheets and keys stay where they were made."""
    here = {_name(mirror, path): path for path in (mirror.root / REVIEWS).glob("*/*.parquet")}
    there = bucket.list_objects(REVIEWS)
    for name in sorted(here | there):
        path = mirror.root / name
        content = bucket.read(name) if name in there else None
        if name in here and path.read_bytes() == content:
            continue
        if name in here and (content is None or _read_time(path) > there[name].modified_at):
            mirror.send(name)
        elif content is not None:
            with write_aside(path) as aside:
                aside.write_bytes(content)


def _read_time(path: Path) -> datetime:
    return datetime.fromtimestamp(path.stat().st_mtime, UTC)


def _list_folders(mirror: Mirror, bucket: Bucket, kind: str, record: str) -> list[str]:
    """The folders with that record, here or in the bucket."""
    here = (_name(mirror, path) for path in (mirror.root / kind).rglob(record))
    there = (path for path in bucket.list_objects(kind) if path.endswith(f"/{record}"))
    return sorted({path.rpartition("/")[0] for path in (*here, *there)})


def _name(mirror: Mirror, path: Path) -> str:
    return path.relative_to(mirror.root).as_posix()
