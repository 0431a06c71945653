"""The bundled starter base: facts written and reviewed for this project, one TSV file per relation.

Columns: head, relation, tail, also_true, source (the resource that a reader would check).
"""

from pathlib import Path

from knowledge.rows import Source
from knowledge.tables import read_tables

FOLDER = Path(__file__).parent / "starter"


def read_starter() -> Source:
    """The rows of the bundled base, not checked yet."""
    return read_tables(FOLDER)
