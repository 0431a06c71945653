"""Removal of editions, here and in the shared bucket, so that a crash at any moment leaves nothing half.

What belongs to an edition is renamed into `removed/<edition>/`, its own folder first, and deleted there. If a
process is killed, the next removal finishes the rest. In the bucket, the record goes first, and the object
`removed/<edition>` tells other hosts to remove their copies instead of sending them again.
"""

import os
import shutil
from collections import Counter
from collections.abc import Iterator, Sequence
from pathlib import Path

from filelock import FileLock, Timeout

from storage.layout import (
    CHECKS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    LOCKS_FOLDER,
    PAGES_FOLDER,
    QUESTION_EVALUATIONS_FOLDER,
    REMOVED_FOLDER,
    diversity_file,
    diversity_record,
    edition_folder,
    freshness_record,
    guesses_file,
    guesses_record,
    manifest_file,
    removed_folder,
    writer_tokens_record,
)
from storage.mirror import Mirror
from storage.transfers import transfer_all


def list_pieces(edition_id: str) -> list[str]:
    """Return the files and folders of an edition, its own folder first. They need not exist.

    Answers and replies of models are not among them, nor are reviews.
    """
    folders = (
        EVALUATIONS_FOLDER,
        QUESTION_EVALUATIONS_FOLDER,
        FAILURES_FOLDER,
        CHECKS_FOLDER,
        PAGES_FOLDER,
    )
    files = (
        diversity_file,
        diversity_record,
        guesses_file,
        guesses_record,
        writer_tokens_record,
        freshness_record,
    )
    return [
        edition_folder(edition_id),
        *(f"{folder}/{edition_id}" for folder in folders),
        *(name(edition_id) for name in files),
    ]


def measure_freed(root: Path, edition_ids: Sequence[str]) -> list[int]:
    """Return how many bytes become free with each edition, if they are removed in this order.

    A file that editions share by hard links becomes free with the last of them.
    """
    n_removed: Counter[tuple[int, int]] = Counter()
    freed = []
    for edition_id in edition_ids:
        n_bytes = 0
        for path in _list_files(root, edition_id):
            status = path.stat()
            file = (status.st_dev, status.st_ino)
            n_removed[file] += 1
            if n_removed[file] == status.st_nlink:
                n_bytes += status.st_size
        freed.append(n_bytes)
    return freed


def _list_files(root: Path, edition_id: str) -> Iterator[Path]:
    for piece in list_pieces(edition_id):
        path = root / piece
        yield from [path] if path.is_file() else (each for each in path.rglob("*") if each.is_file())


def is_evaluated_now(root: Path, edition_id: str) -> bool:
    """Return whether a process of this host evaluates a model on the edition."""
    for path in (root / LOCKS_FOLDER).glob(f"{edition_id}.*.lock"):
        try:
            with FileLock(path, timeout=0):
                continue
        except Timeout:
            return True
    return False


def remove_edition(mirror: Mirror, edition_id: str) -> None:
    """Remove an edition with its evaluations, pages and measurements, here and in the bucket."""
    if (bucket := mirror.bucket) is not None:
        bucket.send(removed_folder(edition_id), b"")
        bucket.remove(manifest_file(edition_id))
        for piece in list_pieces(edition_id):
            transfer_all(bucket.remove, sorted(bucket.list_objects(piece)))
            bucket.remove(piece)
    remove_here(mirror.root, edition_id)


def remove_here(root: Path, edition_id: str) -> None:
    """Remove an edition from this host."""
    aside = root / removed_folder(edition_id)
    shutil.rmtree(aside, ignore_errors=True)
    for piece in list_pieces(edition_id):
        if (root / piece).exists():
            (aside / piece).parent.mkdir(parents=True, exist_ok=True)
            os.replace(root / piece, aside / piece)
    shutil.rmtree(aside, ignore_errors=True)


def finish_removals(mirror: Mirror) -> None:
    """Finish removals that ended with their process. What was built again since then stays."""
    for aside in sorted((mirror.root / REMOVED_FOLDER).glob("*")):
        if (mirror.root / edition_folder(aside.name)).exists():
            shutil.rmtree(aside, ignore_errors=True)
        else:
            remove_edition(mirror, aside.name)
