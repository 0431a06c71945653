"""The bundled starter base: facts that were written and reviewed for this project, one TSV file per relation.

The columns are head, relation, tail, also_true and source (the reference that a reader can check).
"""

from pathlib import Path

from knowledge.rows import Source
from knowledge.tables import read_tables

FOLDER = Path(__file__).parent / "starter"


def read_starter() -> Source:
    """Return the unchecked rows of the bundled base."""
    return read_tables(FOLDER)
