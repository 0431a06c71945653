"""Check that every label in the files of an edition follows from its triplet and its transformation."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl

from pretexeval.primitives.errors import InputError, count_noun
from pretexeval.primitives.literal_paths import scan_parquet
from pretexeval.primitives.process import map_in_threads
from pretexeval.storage.files import FileRef
from schemas.stages import SAMPLES, TRIPLETS
from schemas.transformations import POSITIVE_OF

_IS_DENIED = pl.col("transformation").is_in(list(POSITIVE_OF)).fill_null(value=False)


def require_derived_labels(root: Path, files: Iterable[FileRef]) -> None:
    """Check the labels of all samples of an edition, those of demonstrations included (method, 2.3).

    Args:
        files: the files of the edition; those of other stages than triplets and samples are not read.

    Raises:
        InputError: the label of a sample is not is_positive of its triplet XOR whether its form denies, or
            the edition lacks its triplet. The message names the first such sample.
    """
    paths: dict[str, dict[str, Path]] = {TRIPLETS.name: {}, SAMPLES.name: {}}
    for path in (root / ref.path for ref in files):
        paths.get(path.parent.name, {})[path.name] = path
    pairs = [(path, paths[TRIPLETS.name][name]) for name, path in sorted(paths[SAMPLES.name].items())]
    for (path, _), wrong in zip(pairs, map_in_threads(_find_wrong, pairs), strict=True):
        if not wrong.is_empty():
            raise InputError(_describe(path, wrong))


def _find_wrong(paths: tuple[Path, Path]) -> pl.DataFrame:
    """Return the samples with a wrong label, and the right one as derived: null without a triplet."""
    samples, triplets = (scan_parquet(path) for path in paths)
    joined = samples.join(
        triplets.select("triplet_id", "is_positive"), on="triplet_id", how="left", maintain_order="left"
    )
    derived = pl.col("is_positive") != _IS_DENIED
    is_wrong = pl.col("label").ne_missing(pl.col("derived"))
    wrong = joined.with_columns(derived=derived).filter(is_wrong)
    return wrong.select("sample_id", "relation", "text", "label", "derived").collect()


def _describe(path: Path, wrong: pl.DataFrame) -> str:
    first = wrong.row(0, named=True)
    right = f"its triplet and transformation give {first['derived']}"
    if first["derived"] is None:
        right = "its triplet is not in the edition"
    return (
        f"{path} has {count_noun(wrong.height, 'sample')} with a wrong label: sample {first['sample_id']} of "
        f"relation {first['relation']!r}, {first['text']!r}, is stored as {first['label']}, but {right}. "
        "Restore the file from a backup, or delete the folder of the edition and run `pretexeval build`"
    )
