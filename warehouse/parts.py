"""Find the parts of a root that are loaded into the warehouse, with fingerprints that tell which changed.

A fingerprint is made of the content of a part's records and of the size and time of change of its Parquet
files. Reading these takes less than a second for thousands of files. The checksums of all bytes, which take
much longer, are compared when a part is loaded. A file whose bytes change while its size and its time of
change stay, by a defect of the disk, is therefore noticed only when everything is loaded again: after
`warehouse.duckdb` was deleted, or by another version of this program.

What depends on another part has the fingerprint of that part in its own, so that both are loaded again.
"""

import hashlib
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.primitives.untrusted_text import replace_surrogates
from pretexeval.storage.layout import (
    ANCHOR_EVALUATIONS_FOLDER,
    CHECKS_FOLDER,
    EDITIONS_FOLDER,
    EVALUATIONS_FOLDER,
    FAILURES_FOLDER,
    MANIFEST,
    MODEL,
    QUESTION_EVALUATIONS_FOLDER,
    RESPONSES_FOLDER,
    RUN,
    UNSURE_EVALUATIONS_FOLDER,
    diversity_file,
    diversity_record,
    freshness_record,
    guesses_file,
    guesses_record,
    model_file,
    rewordings_record,
    withdrawal_record,
    writer_tokens_record,
)
from warehouse.appraisals import list_grades
from warehouse.records import find_filled

# The parts whose reports are loaded together (checks.py).
VALIDATED = ("edition", "guesses", "diversity", "grades")
LOADED_AFTER_MODELS = ("run", "question_run", "unsure_run", "anchor_run", "failure")


@dataclass(frozen=True)
class Part:
    """Something under the root that is loaded as a whole or left out as a whole."""

    kind: str
    """What it is: a key of TABLES (increments.py)."""
    path: Path
    """Its folder or file."""
    key: dict[str, str | None]
    """The columns that select its rows in the tables, with their values."""
    fingerprint: str


def name_parts(root: Path) -> dict[str, Part]:
    """Return path under the root -> part, for all parts, in the order in which they must be loaded.

    Raises:
        InputError: the name of a folder or a record is not UTF-8, so it cannot be in a table.
    """
    parts = {part.path.relative_to(root).as_posix(): part for part in _list_parts(root)}
    for name in parts:
        if replace_surrogates(name) != name:
            raise InputError(f"{root}: the name {name!a} is not UTF-8; rename or remove what it names")
    return parts


def _list_parts(root: Path) -> list[Part]:
    editions = [
        Part("edition", path, {"edition_id": path.name}, _stamp_edition(root, path))
        for path in find_filled(root / EDITIONS_FOLDER)
    ]
    of_editions = [part for edition in editions for part in _list_parts_of_edition(root, edition)]
    checks = [
        _stamp_all((root / CHECKS_FOLDER).glob("*/*.json")),
        *(part.fingerprint for part in (*editions, *of_editions) if part.kind in VALIDATED),
    ]
    return [
        *editions,
        *(part for part in of_editions if part.kind not in LOADED_AFTER_MODELS),
        *_list_models(root),
        *(part for part in of_editions if part.kind in LOADED_AFTER_MODELS),
        Part("checks", root / CHECKS_FOLDER, {}, _hash(checks)),
    ]


def _stamp_edition(root: Path, folder: Path) -> str:
    said = [_read(root / locate(folder.name)) for locate in (rewordings_record, withdrawal_record)]
    return _hash([_stamp_folder(folder, MANIFEST), *said])


def _list_models(root: Path) -> Iterator[Part]:
    for folder in sorted({path.parent for path in (root / RESPONSES_FOLDER).glob("*/*")}):
        stamps = [_read(folder / MODEL), _stamp_all(folder.glob("part-*.parquet"))]
        yield Part("model", folder, {"model_id": folder.name}, _hash(stamps))


def _list_parts_of_edition(root: Path, edition: Part) -> Iterator[Part]:
    edition_id = str(edition.key["edition_id"])
    guesses = _stamp_files(root / guesses_file(edition_id), root / guesses_record(edition_id))
    diversity = _stamp_files(root / diversity_file(edition_id), root / diversity_record(edition_id))
    # All grades of an edition are deleted and loaded together.
    grades = _stamp_all(list_grades(root, edition_id))
    tokens = root / writer_tokens_record(edition_id)
    limit = root / freshness_record(edition_id)
    for kind, path, stamp in (
        ("guesses", root / guesses_file(edition_id), guesses),
        ("diversity", root / diversity_file(edition_id), diversity),
        ("writer_tokens", tokens, _read(tokens)),
        ("freshness_limit", limit, _read(limit)),
        *(("grades", path, grades) for path in list_grades(root, edition_id)),
    ):
        if path.is_file():
            yield Part(kind, path, edition.key, _hash([edition.fingerprint, stamp]))
    # The samples of a withdrawn edition stay, so that texts that models may have seen count as such.
    if (root / withdrawal_record(edition_id)).is_file():
        return
    # The scores of a run are compared with shortcuts, which are computed from the guesses.
    yield from _list_runs(root, edition, _hash([edition.fingerprint, guesses]))
    yield from _list_anchor_runs(root, edition)
    yield from _list_failures(root, edition)


def _list_runs(root: Path, edition: Part, fingerprint: str) -> Iterator[Part]:
    """Yield the evaluations of the samples, with two answers or three, and of the questions of an edition.

    Args:
        fingerprint: of everything that is loaded of the edition and that their scores depend on.
    """
    edition_id = str(edition.key["edition_id"])
    found: list[tuple[str, str | None, Path]] = [
        ("run", None, path) for path in find_filled(root / EVALUATIONS_FOLDER / edition_id)
    ]
    for kind, name in (
        ("question_run", QUESTION_EVALUATIONS_FOLDER),
        ("unsure_run", UNSURE_EVALUATIONS_FOLDER),
    ):
        for folder in sorted((root / name / edition_id).glob("*")):
            found += [(kind, folder.name, path) for path in find_filled(folder)]
    for kind, setting, path in found:
        key = {**edition.key, "setting": setting, "period": None, "model_id": path.name}
        stamps = [fingerprint, _stamp_folder(path, RUN), _read(root / model_file(path.name))]
        yield Part(kind, path, key, _hash(stamps))


def _list_anchor_runs(root: Path, edition: Part) -> Iterator[Part]:
    for period in sorted((root / ANCHOR_EVALUATIONS_FOLDER / str(edition.key["edition_id"])).glob("*")):
        for path in find_filled(period):
            key = {**edition.key, "setting": None, "period": period.name, "model_id": path.name}
            stamps = [edition.fingerprint, _stamp_folder(path, RUN), _read(root / model_file(path.name))]
            yield Part("anchor_run", path, key, _hash(stamps))


def _list_failures(root: Path, edition: Part) -> Iterator[Part]:
    folder = root / FAILURES_FOLDER / str(edition.key["edition_id"])
    for path in sorted([*folder.glob("*.json"), *folder.glob("*/*.json")]):
        setting = None if path.parent == folder else path.parent.name
        key = {**edition.key, "setting": setting, "model": path.stem}
        yield Part("failure", path, key, _hash([edition.fingerprint, _read(path)]))


def _stamp_folder(folder: Path, record: str) -> str:
    """Return a hash of the record, and of the sizes and times of the files of all stages."""
    return _hash([_read(folder / record), _stamp_all(folder.glob("*/*.parquet"))])


def _stamp_files(file: Path, record: Path) -> str:
    return _hash([_read(record), _stamp_all([file] if file.is_file() else [])])


def _stamp_all(paths: Iterable[Path]) -> str:
    """Return a hash of the names of the files, with their sizes and times of change."""
    stats = [(path, path.stat()) for path in sorted(paths)]
    return _hash(
        [
            [path.parent.name, replace_surrogates(path.name), stat.st_size, stat.st_mtime_ns]
            for path, stat in stats
        ]
    )


def _read(record: Path) -> str | None:
    """Return the checksum of a record, or null if there is none."""
    return hashlib.sha256(record.read_bytes()).hexdigest() if record.is_file() else None


def _hash(values: Sequence[object]) -> str:
    return hash_json(list(values), digits=32)
