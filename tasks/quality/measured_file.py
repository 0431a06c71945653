"""A file that is measured on a complete edition and stored outside it, because an edition never changes."""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef, read_stage_file, read_stage_files, write_stage_file
from pretexeval.storage.records import (
    is_file_recorded,
    read_manifest,
    read_manifest_files,
    read_record,
    write_record,
)
from schemas.columns import Stage
from tasks.quality.validation import check_stage


@dataclass(frozen=True)
class Measurement:
    """What is measured, and what its result depends on besides the files of the edition."""

    stage: Stage
    inputs: tuple[Stage, ...]
    """The stages of the edition whose rows are measured."""
    dependencies: dict[str, str]
    """The versions of the measurement and of packages."""
    measure: Callable[..., pl.DataFrame]
    """Takes the rows of the inputs, in their order."""
    select: Callable[[pl.DataFrame], pl.Series] | None = None
    """Takes the triplets, which are the first input, and returns the ids of those that are measured: by
    default all. Only their rows are kept of the other inputs, which are read one file after another."""


def provide_measured_file(
    root: Path, edition_id: str, measurement: Measurement, path: str, record: str
) -> Path:
    """Write the file and its record, unless they are up to date, and return the path of the file.

    Args:
        path: of the file, under the root.
        record: path of its record, under the root.

    Raises:
        InputError: the edition is not complete, or what was measured does not meet its expectations.
    """
    read_manifest(root, edition_id)
    inputs = _list_inputs(root, edition_id, measurement)
    key = _key_file(measurement, [ref.sha256 for _, refs in inputs for ref in refs])
    if not _is_current(root, path, record, key):
        rows = _measure(root, measurement, inputs)
        check = check_stage(measurement.stage, rows, edition_id)
        file = write_stage_file(root, path, rows, measurement.stage)
        write_record(root / record, {"key": key, "checks": [check], "file": file.model_dump()})
    return root / path


def _list_inputs(root: Path, edition_id: str, measurement: Measurement) -> list[tuple[Stage, list[FileRef]]]:
    """Return the stages that are measured, each with its files."""
    return [
        (stage, list(read_manifest_files(root, edition_id, stage.name).values()))
        for stage in measurement.inputs
    ]


def _measure(
    root: Path, measurement: Measurement, inputs: Sequence[tuple[Stage, list[FileRef]]]
) -> pl.DataFrame:
    (stage, refs), *others = inputs
    first = read_stage_files(root, refs, stage)
    if measurement.select is None:
        return measurement.measure(first, *(read_stage_files(root, refs, stage) for stage, refs in others))
    is_chosen = pl.col("triplet_id").is_in(measurement.select(first).implode())
    rows = (
        pl.concat([read_stage_file(root / ref.path, stage).filter(is_chosen) for ref in refs])
        for stage, refs in others
    )
    return measurement.measure(first.filter(is_chosen), *rows)


def _key_file(measurement: Measurement, checksums: list[str]) -> str:
    parts = {
        "inputs": checksums,
        "schema": str(measurement.stage.schema),
        **measurement.dependencies,
    }
    return hash_json(parts, digits=32)


def _is_current(root: Path, path: str, record: str, key: str) -> bool:
    return is_file_recorded(root, path, record) and (read_record(root / record) or {}).get("key") == key
