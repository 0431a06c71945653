"""Load what was measured on an edition: diversity, guesses from names alone, and the grades of people.

All are stored outside the edition, because an edition never changes. Any of them may be missing.
"""

from pathlib import Path

import duckdb
import pyarrow as pa
import pyarrow.parquet as pq

from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import escape_pattern
from pretexeval.storage.layout import diversity_file, guesses_file, review_folder
from pretexeval.storage.records import is_file_recorded
from schemas.columns import Stage
from schemas.stages import DIVERSITY, GUESSES, HUMAN_GRADES
from warehouse.records import insert_parquet

MEASURE = "run `pretexeval publish` with the configuration of its edition to measure it again"
IMPORT = "run `pretexeval review import` with the graders' sheets"


def load_diversity(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Load the measured samples of an edition from diversity/<edition_id>.parquet, if it exists."""
    path = root / diversity_file(edition_id)
    _load_file(connection, "sample_diversity", DIVERSITY, path, edition_id, "relation, sample_id")


def load_guesses(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Load the guesses of an edition's triplets from guesses/<edition_id>.parquet, if it exists."""
    path = root / guesses_file(edition_id)
    _load_file(connection, "guesses", GUESSES, path, edition_id, "guesser, relation, triplet_id")


def _load_file(
    connection: duckdb.DuckDBPyConnection, table: str, stage: Stage, path: Path, edition_id: str, order: str
) -> None:
    """Insert the rows of a file about one edition, if it exists, in this order."""
    if not path.is_file():
        return
    root, record = path.parent.parent, path.with_suffix(".json")
    names = [name.relative_to(root).as_posix() for name in (path, record)]
    if not is_file_recorded(root, *names):
        raise InputError(
            f"{path}: differs from the checksum in {record}, so one of the two was lost or changed; {MEASURE}"
        )
    columns = ", ".join(stage.names)
    insert_parquet(
        connection,
        f"insert into {table} (edition_id, {columns}) "
        f"select $edition_id, {columns} from storage.read_files($files) order by {order}",
        {"files": (stage, [path])},
        edition_id=edition_id,
    )


def list_grades(root: Path, edition_id: str) -> list[Path]:
    """Return the files of the grades of an edition, one per grader."""
    return sorted((root / review_folder(edition_id)).glob("*.parquet"))


def load_grades(connection: duckdb.DuckDBPyConnection, path: Path, edition_id: str) -> None:
    """Load the grades of one grader of an edition from reviews/<edition_id>/<grader>.parquet."""
    columns = ", ".join(HUMAN_GRADES.names)
    _check_pages(path)
    insert_parquet(
        connection,
        f"insert into human_grades ({columns}) "
        f"select {columns} from storage.read_files($files) order by triplet_id, method, grader",
        {"files": (HUMAN_GRADES, [path])},
        remedy=IMPORT,
    )
    _check_edition(connection, path, edition_id)


def _check_pages(path: Path) -> None:
    """Raise InputError if the file does not match the checksums of its pages."""
    try:
        pq.read_table(path, page_checksum_verification=True)
    except (pa.ArrowException, OSError) as error:
        reason = str(error).splitlines()[0]
        raise InputError(f"{path}: cannot be read as {HUMAN_GRADES.name} ({reason}); {IMPORT}") from error


def _check_edition(connection: duckdb.DuckDBPyConnection, path: Path, edition_id: str) -> None:
    """Raise InputError if the file contains grades of another edition than its folder."""
    others = connection.execute(
        "select distinct edition_id from storage.read_files($path) where edition_id <> $edition_id",
        {"path": [escape_pattern(path)], "edition_id": edition_id},
    ).fetchall()
    if others:
        raise InputError(f"{path}: contains grades of {others[0][0]}, but belongs to {edition_id}; {IMPORT}")
