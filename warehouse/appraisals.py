"""What was found of an edition's samples: how diverse they are, and what graders said of them.

Both lie outside the edition, which never changes; either may not be there, or not yet.
"""

import glob
from pathlib import Path

import duckdb

from primitives.errors import InputError
from schemas.stages import DIVERSITY, HUMAN_GRADES
from storage.layout import diversity_file, review_folder
from warehouse.records import insert_parquet

IMPORT = "run `pretexeval review import` with the graders' sheets"


def load_diversity(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """The measured samples of an edition, from diversity/<edition_id>.parquet."""
    path = root / diversity_file(edition_id)
    if not path.is_file():
        return
    columns = ", ".join(DIVERSITY.names)
    insert_parquet(
        connection,
        f"insert into sample_diversity (edition_id, {columns}) "
        f"select $edition_id, {columns} from read_parquet($files) order by relation, sample_id",
        {"files": (DIVERSITY, [path])},
        edition_id=edition_id,
    )


def load_grades(connection: duckdb.DuckDBPyConnection, root: Path, edition_id: str) -> None:
    """Every grader's grades of an edition, from reviews/<edition_id>/<grader>.parquet."""
    columns = ", ".join(HUMAN_GRADES.names)
    for path in sorted((root / review_folder(edition_id)).glob("*.parquet")):
        insert_parquet(
            connection,
            f"insert into human_grades ({columns}) "
            f"select {columns} from read_parquet($files) order by triplet_id, method, grader",
            {"files": (HUMAN_GRADES, [path])},
            remedy=IMPORT,
        )
        _check_edition(connection, path, edition_id)


def _check_edition(connection: duckdb.DuckDBPyConnection, path: Path, edition_id: str) -> None:
    """InputError if the file holds grades of an edition other than its folder's."""
    others = connection.execute(
        "select distinct edition_id from read_parquet($path) where edition_id <> $edition_id",
        {"path": [glob.escape(str(path))], "edition_id": edition_id},
    ).fetchall()
    if others:
        raise InputError(f"{path}: grades of {others[0][0]} lie with those of {edition_id}; {IMPORT}")
