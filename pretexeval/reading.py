"""Read what is under a data root: the warehouse, and the rows of an edition."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import duckdb

from primitives.errors import InputError
from warehouse.query import explain_unreadable, find_warehouse

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Form = Literal["polars", "arrow"]


def open_warehouse(root: str | Path) -> duckdb.DuckDBPyConnection:
    """Return a connection to the warehouse under a data root. Close it, or use it in a `with` block.

    `docs/warehouse.md` lists the tables and views. The warehouse is attached read-only to a database in
    memory, in which you can create tables of your own as `memory.NAME`. Every publication renames a new file
    over the old one, so a connection shows the warehouse as it was when it was opened.

    Raises:
        InputError: there is no warehouse under the root, or DuckDB cannot open it.
    """
    path = find_warehouse(Path(root))
    # DuckDB gives all connections of a process to one path the same database, even after the file was
    # replaced. An attached file is not shared, so a later publication in this process reads its own file.
    connection = duckdb.connect()
    try:
        escaped = str(path).replace("'", "''")
        connection.execute(f"attach '{escaped}' as warehouse (read_only)")
        connection.execute("use warehouse")
    except duckdb.Error as error:
        connection.close()
        raise explain_unreadable(path, error) from error
    return connection


@overload
def load_edition(
    root: str | Path, edition_id: str, stage: str = ..., *, form: Literal["polars"] = ...
) -> "pl.DataFrame": ...
@overload
def load_edition(
    root: str | Path, edition_id: str, stage: str = ..., *, form: Literal["arrow"]
) -> "pa.Table": ...
def load_edition(
    root: str | Path, edition_id: str, stage: str = "samples", *, form: Form = "polars"
) -> "pl.DataFrame | pa.Table":
    """Return the rows of one stage of a complete edition, all relations together, read from its files.

    Stages and their columns are in `schemas/stages.py` and `schemas/question_stages.py`:

    - `triplets`: triplet_id, pair_id, relation, head, tail, head_id, tail_id, is_positive, split, …
    - `variants`: variant_id, triplet_id, relation, transformation, label, …
    - `statements`: variant_id, relation, text, …
    - `attempts`: the rewordings by a language model, with the gate's reasons
    - `samples`: sample_id, method, variant_id, triplet_id, pair_id, relation, split, transformation,
      sample_index, text, label, rephraser, status, attempts, reasons
    - `questions`: the questions about the heads

    Samples and triplets of the split `test` are tested; those of `demonstration` are shown in prompts.

    Raises:
        InputError: the edition is not complete, it has no rows of the stage, or a file cannot be read.
    """
    from schemas.stages import EDITION_STAGES
    from storage.files import read_stage_files
    from storage.records import read_manifest, read_manifest_files

    stages = {each.name: each for each in EDITION_STAGES}
    if stage not in stages:
        raise InputError(f"an edition has no stage {stage!r}; it may have {', '.join(stages)}")
    read_manifest(Path(root), edition_id)
    refs = list(read_manifest_files(Path(root), edition_id, stage).values())
    if not refs:
        raise InputError(f"edition {edition_id} has no {stage}")
    frame = read_stage_files(Path(root), refs, stages[stage])
    return frame.to_arrow() if form == "arrow" else frame


def convert_table(table: "pa.Table") -> "pl.DataFrame":
    """Return a table of Arrow as a frame of polars."""
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame
