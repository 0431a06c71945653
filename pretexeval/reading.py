"""Read what is under a data root: the warehouse, the rows of an edition, and the predictions of models."""

from pathlib import Path
from typing import TYPE_CHECKING, Literal, overload

import duckdb

from primitives.errors import InputError
from warehouse.query import explain_unreadable, find_warehouse

if TYPE_CHECKING:
    import polars as pl
    import pyarrow as pa

Form = Literal["polars", "arrow"]
PREDICTIONS = """
from prediction_details
where edition_id = $edition_id and scoring_policy = $scoring_policy
    and ($model is null or model = $model) and ($method is null or method = $method)
order by model, method, relation, pair_id, triplet_id, sample_id, repeat
"""


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
    from storage.manifests import read_manifest, read_manifest_files

    stages = {each.name: each for each in EDITION_STAGES}
    if stage not in stages:
        raise InputError(f"an edition has no stage {stage!r}; it may have {', '.join(stages)}")
    read_manifest(Path(root), edition_id)
    refs = list(read_manifest_files(Path(root), edition_id, stage).values())
    if not refs:
        raise InputError(f"edition {edition_id} has no {stage}")
    frame = read_stage_files(Path(root), refs, stages[stage])
    return frame.to_arrow() if form == "arrow" else frame


@overload
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    method: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["polars"] = ...,
) -> "pl.DataFrame": ...
@overload
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = ...,
    *,
    method: str | None = ...,
    scoring_policy: str = ...,
    form: Literal["arrow"],
) -> "pa.Table": ...
def load_predictions(
    root: str | Path,
    edition_id: str,
    model: str | None = None,
    *,
    method: str | None = None,
    scoring_policy: str = "strict",
    form: Form = "polars",
) -> "pl.DataFrame | pa.Table":
    """Return one row per model, repeat and test sample: the text, the answer, and whether it is correct.

    The columns are those of the view `prediction_details` (docs/warehouse.md): model, method, relation, head,
    tail, is_positive, transformation, text, label, prediction, is_correct, response, reasoning, error, …
    `is_correct` is null where the prompt failed, and where the scoring policy excludes the sample.

    Args:
        model: the name of one model; None: all of them.
        method: pretexeval, prototype, direct or llmeval; None: all of them.
        scoring_policy: strict, coin-flip or excluded.

    Raises:
        InputError: there is no warehouse, or it has no such predictions; the message lists those that it has.
    """
    names = {
        "edition_id": edition_id,
        "model": model,
        "method": method,
        "scoring_policy": scoring_policy,
    }
    with open_warehouse(root) as connection:
        table = connection.sql(PREDICTIONS, params=names).to_arrow_table()
        if not table.num_rows:
            raise InputError(_explain_missing(connection, names))
    return table if form == "arrow" else convert_table(table)


def convert_table(table: "pa.Table") -> "pl.DataFrame":
    """Return a table of Arrow as a frame of polars."""
    import polars as pl

    frame = pl.from_arrow(table)
    assert isinstance(frame, pl.DataFrame)
    return frame


def _explain_missing(connection: duckdb.DuckDBPyConnection, names: dict[str, str | None]) -> str:
    asked = ", ".join(f"{key} = {value!r}" for key, value in names.items() if value is not None)
    found = connection.execute(
        "select distinct edition_id, model, method, scoring_policy from leaderboard order by all"
    ).fetchall()
    listed = "".join(f"\n  {' | '.join(map(str, row))}" for row in found) or " none"
    return (
        f"the warehouse has no predictions with {asked}; it has (edition, model, method, policy):{listed}\n"
        "`pretexeval publish` loads what was evaluated since"
    )
