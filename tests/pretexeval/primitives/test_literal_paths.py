"""Every name of a file or a folder stands for itself, also one that polars or DuckDB takes for a pattern."""

from pathlib import Path
from typing import Any

import duckdb
import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.literal_paths import (
    escape_pattern,
    list_parquet_columns,
    read_parquet,
    scan_parquet,
)
from prototypes.pool import load_pool
from schemas.transformations import NAMES
from warehouse.catalogue import read_sql

QUERY = "select * from read_csv($path{}, header = true, all_varchar = true)"


def write_frame(path: Path, frame: pl.DataFrame) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        frame.write_parquet(file)


def write_row(path: Path, relation: str) -> None:
    write_frame(path, pl.DataFrame({"head": ["A"], "relation": [relation], "tail": ["b"]}))
    path.with_suffix(".csv").write_text(f"head,relation,tail\nA,{relation},b\n", encoding="utf-8")


def list_relations(**knowledge: Any) -> list[str]:  # noqa: ANN401
    return read_knowledge_base(KnowledgeConfig.model_validate({"name": "own"} | knowledge)).relations


def list_decoys(name: str) -> set[str]:
    """Return names that the name would match if it were a pattern."""
    plain = name.translate(str.maketrans("*?", "aa", "[]!{}"))
    return {plain or "a", name.translate(str.maketrans("", "", "[]*?")) or "1"} - {name}


# Of patterns, of home folders, of variables, of columns in folders, and of quoting.
@pytest.mark.parametrize(
    ("folder_name", "file_name"),
    [("rel[1]", "x"), ("relation=other", "re?l"), ("~", "*"), ("[!1]", "{a,b}"), ("$a #'", "%1 -&'?")],
)
def test_a_name_stands_for_itself(tmp_path: Path, folder_name: str, file_name: str) -> None:
    folder = tmp_path / folder_name
    for decoy in list_decoys(file_name):
        write_row(folder / f"{decoy}.parquet", "of_the_decoy")
    for decoy in list_decoys(folder_name):
        write_row(tmp_path / decoy / f"{file_name}.parquet", "of_the_decoy")
    path = folder / f"{file_name}.parquet"
    write_row(path, "right")
    assert list_parquet_columns(path) == ["head", "relation", "tail"]
    assert read_parquet(path, ["relation"]).item() == "right"
    assert scan_parquet(path).collect()["relation"].item() == "right"
    with duckdb.connect() as connection:
        for statement in read_sql("storage_tables.sql").split(";")[:2]:
            connection.execute(statement)
        rows = connection.execute(
            "select relation from storage.read_files($files)", {"files": [escape_pattern(path)]}
        ).fetchall()
    assert rows == [("right",)]
    assert list_relations(format="table", path=path) == ["right"]
    query = tmp_path / "query.sql"
    query.write_text(QUERY.format(""), encoding="utf-8")
    by_query = {"format": "sql", "path": path.with_suffix(".csv"), "query": query}
    if "=" in folder_name:
        with pytest.raises(InputError, match="rename the folder"):
            list_relations(**by_query)
    else:
        assert list_relations(**by_query) == ["right"]


def test_a_recipe_reads_its_own_folder_alone(tmp_path: Path) -> None:
    write_row(tmp_path / "base[1]" / "x.parquet", "right")
    write_row(tmp_path / "base1" / "x.parquet", "of_the_decoy")
    query = tmp_path / "query.sql"
    for pattern in ("/x.csv", "/*.csv"):
        query.write_text(QUERY.format(f" || '{pattern}'"), encoding="utf-8")
        assert list_relations(format="sql", path=tmp_path / "base[1]", query=query) == ["right"]


def test_a_pool_under_such_a_name(tmp_path: Path) -> None:
    for name, relation in (("pool[1]", "right"), ("pool1", "of_the_decoy")):
        rows = [(relation, column, f"[X] {column} [Y].") for column in NAMES]
        columns = ["relation", "transformation", "pretex_csv"]
        write_frame(tmp_path / f"{name}.parquet", pl.DataFrame(rows, columns, orient="row"))
    assert list(load_pool(str(tmp_path / "pool[1].parquet")).relations) == ["right"]
