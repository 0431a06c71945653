"""Load the variants of an edition together with their statements, which have the same keys."""

from pathlib import Path
from typing import Any

import duckdb

from schemas.stages import STATEMENTS, VARIANTS
from warehouse.records import check_rows, find_files, insert_parquet

INSERT = """
insert into variants
select
    $edition_id, variant_id, variants.triplet_id, variants.pair_id, variants.relation, variants.split,
    variants.transformation, variants.label, predicate, prototype_id, statement
from read_parquet($variants) as variants
left join read_parquet($statements) as statements using (variant_id)
order by variants.relation, variants.pair_id, variants.triplet_id, variants.variant_id
"""


def load_variants(connection: duckdb.DuckDBPyConnection, folder: Path, manifest: dict[str, Any]) -> None:
    """Insert one row per variant that the manifest of the edition lists; editions without triplets have none.

    Raises:
        InputError: a file cannot be read, or it has another number of rows than the manifest lists.
    """
    files = {stage.name: (stage, find_files(folder, manifest, stage)) for stage in (VARIANTS, STATEMENTS)}
    if not all(paths for _, paths in files.values()):
        return
    n_rows = insert_parquet(connection, INSERT, files, edition_id=folder.name)
    for stage in (VARIANTS, STATEMENTS):
        check_rows(folder, manifest, stage, n_rows)
