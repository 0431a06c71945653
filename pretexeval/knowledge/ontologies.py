"""Facts of an ontology in OBO, or in the JSON of obographs, as configs/knowledge/obo.sql selects them."""

import re
from pathlib import Path
from tempfile import TemporaryDirectory

import configs
from pretexeval.knowledge.files import read_bytes, read_text
from pretexeval.knowledge.query import select_columns
from pretexeval.knowledge.rows import Source, build_source_rows
from pretexeval.knowledge.tables import OPTIONAL, REQUIRED

QUERY = Path(configs.__file__).parent / "knowledge" / "obo.sql"


def is_ontology(path: Path) -> bool:
    """Return whether a file is in OBO, as its name tells, or in the JSON of obographs."""
    name = path.name.lower().removesuffix(".gz")
    if name.endswith(".json") and path.is_file():
        return re.search(rb'"graphs"\s*:\s*\[', read_bytes(path)) is not None
    return name.endswith(".obo")


def read_ontology(path: Path, encoding: str = "utf-8") -> Source:
    """Return the unchecked facts.

    Raises:
        InputError: the file cannot be read, or has no facts.
    """
    # DuckDB unpacks no texts, and does not know their encodings.
    with TemporaryDirectory() as folder:
        plain = Path(folder) / path.name
        plain.write_text(read_text(path, encoding), encoding="utf-8", newline="")
        return Source(build_source_rows(path, select_columns(QUERY, plain, REQUIRED, OPTIONAL)))
