"""Measurements of the samples of an edition: their diversity, and what names alone give away.

An edition never changes, so each measurement is a file outside of it, with a record of what it depends on.
"""

from collections.abc import Callable, Iterable, Mapping, Sequence
from dataclasses import dataclass
from importlib.metadata import version
from pathlib import Path

import polars as pl

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_json
from pretexeval.storage.files import FileRef, read_stage_file, read_stage_files, write_stage_file
from pretexeval.storage.layout import (
    diversity_file,
    diversity_record,
    guesses_file,
    guesses_record,
)
from pretexeval.storage.records import (
    is_file_recorded,
    read_manifest_files,
    read_record,
    require_intact,
    write_record,
)
from schemas.columns import Stage
from schemas.stages import DIVERSITY, GUESSES, SAMPLES, STATEMENTS, TRIPLETS
from tasks.quality.diversity import DIVERSITY_VERSION, draw_measured_triplets, measure_diversity
from tasks.quality.guesses import GUESSES_VERSION, guess_triplets
from tasks.quality.validation import check_stage


@dataclass(frozen=True)
class Measurement:
    """One measurement, and what its result depends on besides the files of the edition."""

    stage: Stage
    inputs: tuple[Stage, ...]
    """The stages of the edition whose rows are measured; the first are the triplets."""
    measure: Callable[..., pl.DataFrame]
    """Takes the rows of the inputs, in their order."""
    dependencies: Mapping[str, str]
    """The versions of the measurement and of the package that it uses."""
    locate: Callable[[str], tuple[str, str]]
    """Returns the paths of the file and of its record under the root, for the name of an edition."""
    select: Callable[[pl.DataFrame], pl.DataFrame] | None = None
    """Returns those of the triplets that are measured: by default all. Only their rows are kept of the other
    inputs, which are read one file after another."""


MEASUREMENTS = (
    Measurement(
        DIVERSITY,
        (TRIPLETS, SAMPLES, STATEMENTS),
        measure_diversity,
        {"version": str(DIVERSITY_VERSION), "tagger": version("hanta")},
        lambda edition_id: (diversity_file(edition_id), diversity_record(edition_id)),
        draw_measured_triplets,
    ),
    Measurement(
        GUESSES,
        (TRIPLETS,),
        guess_triplets,
        {"version": str(GUESSES_VERSION), "trees": version("scikit-learn")},
        lambda edition_id: (guesses_file(edition_id), guesses_record(edition_id)),
    ),
)


def measure_edition(root: Path, edition_id: str) -> list[Path]:
    """Measure what was not measured before, and return the files. An edition without triplets has none.

    Raises:
        InputError: the edition is not complete, or a file of it was lost or changed; or what was measured
            does not meet its expectations.
    """
    require_intact(root, edition_id)
    if not read_manifest_files(root, edition_id, TRIPLETS.name):
        return []
    return [_provide_file(root, edition_id, measurement) for measurement in MEASUREMENTS]


def _provide_file(root: Path, edition_id: str, measurement: Measurement) -> Path:
    """Write the file of a measurement and its record, unless they are up to date, and return its path."""
    path, record = measurement.locate(edition_id)
    inputs = [
        (stage, list(read_manifest_files(root, edition_id, stage.name).values()))
        for stage in measurement.inputs
    ]
    parts = {
        "inputs": [ref.sha256 for _, refs in inputs for ref in refs],
        "schema": str(measurement.stage.schema),
        **measurement.dependencies,
    }
    key = hash_json(parts, digits=32)
    if not is_file_recorded(root, path, record) or (read_record(root / record) or {}).get("key") != key:
        rows = _measure(root, measurement, inputs)
        check = check_stage(measurement.stage, rows, edition_id)
        file = write_stage_file(root, path, rows, measurement.stage)
        write_record(root / record, {"key": key, "checks": [check], "file": file.model_dump()})
    return root / path


def _measure(
    root: Path, measurement: Measurement, inputs: Sequence[tuple[Stage, list[FileRef]]]
) -> pl.DataFrame:
    (stage, refs), *others = inputs
    triplets = read_stage_files(root, refs, stage)
    if measurement.select is None:
        return measurement.measure(triplets)
    is_chosen = pl.col("triplet_id").is_in(measurement.select(triplets)["triplet_id"].implode())
    rows = (
        pl.concat([read_stage_file(root / ref.path, stage).filter(is_chosen) for ref in refs])
        for stage, refs in others
    )
    return measurement.measure(triplets.filter(is_chosen), *rows)


def is_measured(root: Path, edition_id: str) -> bool:
    """Return whether everything was measured that a publication measures, and its files are as recorded."""
    if not read_manifest_files(root, edition_id, TRIPLETS.name):
        return True
    return all(is_file_recorded(root, *kind.locate(edition_id)) for kind in MEASUREMENTS)


def repair_measurements(root: Path, edition_ids: Iterable[str]) -> None:
    """Measure editions again whose measured files, or the records of these, were lost or changed."""
    for edition_id in edition_ids:
        places = [kind.locate(edition_id) for kind in MEASUREMENTS]
        written = [paths for paths in places if any((root / path).exists() for path in paths)]
        if not all(is_file_recorded(root, *paths) for paths in written):
            try:
                measure_edition(root, edition_id)
            except InputError:
                # Loading the edition reports why it cannot be used.
                continue
