"""The items that a model is asked about, file by file of the edition, so that few are in memory at a time."""

from collections.abc import Collection, Iterator
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from pretexeval.primitives.literal_paths import scan_parquet
from pretexeval.storage.files import FileRef, read_stage_file
from pretexeval.storage.labels import require_derived_labels
from pretexeval.storage.records import read_manifest_files
from tasks.evaluation.chains import read_chains
from tasks.evaluation.enough import weigh_items
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.items import draw_units
from tasks.evaluation.requests import Shots


@dataclass(frozen=True)
class AskedItems:
    """The tested items of one file of the edition that a model is asked about."""

    file: str
    """The name of the file."""
    items: pl.DataFrame
    shots: Shots
    """The demonstrations of the relation."""


def read_items(evaluation: Evaluation, files: Collection[str] | None = None) -> Iterator[AskedItems]:
    """Yield the items of each file that has some.

    Args:
        files: the names of the files that are read; None: all.

    Raises:
        InputError: the edition is not complete.
    """
    subject, chains = evaluation.subject, read_chains(evaluation)
    for refs in evaluation.relation_files().values():
        wanted = [ref for ref in refs if files is None or Path(ref.path).name in files]
        if not wanted:
            continue
        shots = subject.show_demonstrations(_read_demonstrations(evaluation, refs), chains)
        units = _draw_units(evaluation, refs)
        for ref in wanted:
            items = _read_file(evaluation, ref).filter(split="test")
            if units is not None:
                items = items.filter(pl.col("unit_id").is_in(units))
            if evaluation.asks_enough:
                items = weigh_items(items)
            if items.height:
                yield AskedItems(Path(ref.path).name, items, shots)


def require_right_labels(evaluation: Evaluation) -> None:
    """Check the labels of the samples of the edition.

    Raises:
        InputError: the edition is not complete, or a sample of it has a wrong label.
    """
    files = read_manifest_files(evaluation.root, evaluation.edition_id)
    require_derived_labels(evaluation.root, files.values())


def _read_file(evaluation: Evaluation, ref: FileRef) -> pl.DataFrame:
    kind = evaluation.subject.kind
    return kind.read_items(read_stage_file(evaluation.root / ref.path, kind.stage))


def _read_demonstrations(evaluation: Evaluation, refs: Collection[FileRef]) -> pl.DataFrame:
    """Return the held-out items of a relation."""
    kind = evaluation.subject.kind
    frames = (
        scan_parquet(evaluation.root / ref.path)
        .filter(pl.col("split") == "demonstration")
        .select(kind.stage.names)
        .collect()
        for ref in refs
    )
    return kind.read_items(pl.concat(frames))


def _draw_units(evaluation: Evaluation, refs: Collection[FileRef]) -> list[str] | None:
    """Return the units of a relation that the model is asked about; None: all of them."""
    limit = evaluation.model.pairs_per_relation
    # The import has applied the limit.
    if limit is None or evaluation.subject.imported is not None:
        return None
    tested = (_read_file(evaluation, ref).filter(split="test")["unit_id"].unique() for ref in refs)
    return draw_units(pl.concat(tested), limit)
