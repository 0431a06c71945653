"""What is measured on the samples of an edition: their diversity, and what names alone give away."""

from collections.abc import Iterable
from datetime import UTC, datetime
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import (
    diversity_file,
    diversity_record,
    freshness_record,
    guesses_file,
    guesses_record,
)
from pretexeval.storage.records import (
    find_record,
    is_file_recorded,
    read_manifest_files,
    require_intact,
    write_record,
)
from schemas.stages import TRIPLETS
from tasks.quality.diversity import write_diversity
from tasks.quality.guesses import write_guesses


def record_freshness_limit(root: Path, edition_id: str, min_new_texts: float | None) -> None:
    """Write the share that the configuration requires; without one, remove the record of an earlier one."""
    path = root / freshness_record(edition_id)
    if min_new_texts is None:
        path.unlink(missing_ok=True)
        return
    known = find_record(path, "it is written again", edition_id=edition_id) or {}
    if known.get("min_new_texts") != min_new_texts:
        when = datetime.now(UTC).isoformat(timespec="seconds")
        write_record(path, {"edition_id": edition_id, "min_new_texts": min_new_texts, "checked_at": when})


def measure_edition(root: Path, edition_id: str) -> list[Path]:
    """Measure what was not measured before, and return the files. An edition without triplets has none.

    Raises:
        InputError: the edition is not complete, or a file of it was lost or changed.
    """
    require_intact(root, edition_id)
    if not read_manifest_files(root, edition_id, TRIPLETS.name):
        return []
    return [write_diversity(root, edition_id), write_guesses(root, edition_id)]


def is_measured(root: Path, edition_id: str) -> bool:
    """Return whether everything was measured that a publication measures, and its files are as recorded."""
    if not read_manifest_files(root, edition_id, TRIPLETS.name):
        return True
    return all(is_file_recorded(root, *files) for files in _list_measured(edition_id))


def repair_measurements(root: Path, edition_ids: Iterable[str]) -> None:
    """Measure editions again whose measured files, or the records of these, were lost or changed."""
    for edition_id in edition_ids:
        kinds = _list_measured(edition_id)
        if any(_has_either(root, *files) and not is_file_recorded(root, *files) for files in kinds):
            try:
                measure_edition(root, edition_id)
            except InputError:
                # Loading the edition reports why it cannot be used.
                continue


def _list_measured(edition_id: str) -> tuple[tuple[str, str], ...]:
    """Return the file and the record of everything that is measured."""
    return (
        (diversity_file(edition_id), diversity_record(edition_id)),
        (guesses_file(edition_id), guesses_record(edition_id)),
    )


def _has_either(root: Path, path: str, record: str) -> bool:
    return (root / path).exists() or (root / record).exists()
