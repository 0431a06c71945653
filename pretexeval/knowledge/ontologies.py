"""Facts of an ontology in OBO, or in the JSON of obographs, as configs/knowledge/obo.sql selects them."""

import re
from collections.abc import Sequence
from pathlib import Path
from tempfile import TemporaryDirectory

import polars as pl

import configs
from pretexeval.knowledge.files import read_bytes
from pretexeval.knowledge.query import read_query
from pretexeval.knowledge.rows import Source

QUERY = Path(configs.__file__).parent / "knowledge" / "obo.sql"
_GRAPHS = re.compile(rb'"graphs"\s*:\s*\[')


def is_ontology(path: Path) -> bool:
    """Return whether a file is in OBO, as its name tells, or in the JSON of obographs."""
    name = path.name.lower().removesuffix(".gz")
    return name.endswith(".obo") or (
        name.endswith(".json") and path.is_file() and _GRAPHS.search(read_bytes(path)) is not None
    )


def read_ontology(path: Path, relations: Sequence[str] = ()) -> Source:
    """Return the unchecked facts of these relations; of all relations if none is named.

    Raises:
        InputError: the file cannot be read.
    """
    with TemporaryDirectory() as folder:
        plain = path
        if path.suffix.lower() == ".gz":
            # DuckDB unpacks no texts.
            plain = Path(folder) / path.stem
            plain.write_bytes(read_bytes(path))
        rows = read_query(QUERY, plain, relations).rows
    return Source(rows.with_columns(file=pl.lit(str(path))))
