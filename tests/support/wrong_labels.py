"""Wrong labels in the samples of a complete edition, whose manifest lists the changed files as they are."""

from pathlib import Path

import polars as pl

from pretexeval.storage.files import write_stage_file
from pretexeval.storage.layout import edition_folder, manifest_file
from pretexeval.storage.records import list_files, read_manifest, read_manifest_files, write_record
from schemas.stages import SAMPLES


def plant_wrong_labels(root: Path, edition_id: str, is_flipped: pl.Expr) -> str:
    """Flip the labels of these samples in the last file of samples; return the id of the first of them."""
    files = read_manifest_files(root, edition_id)
    path = max(read_manifest_files(root, edition_id, SAMPLES.name))
    rows = pl.read_parquet(root / path)
    flipped = rows.with_columns(label=pl.col("label") != is_flipped)
    files[path] = write_stage_file(root, path, flipped, SAMPLES)
    manifest = read_manifest(root, edition_id)
    manifest["files"] = list_files(list(files.values()), edition_folder(edition_id))
    write_record(root / manifest_file(edition_id), manifest)
    return str(rows.filter(is_flipped)["sample_id"][0])
