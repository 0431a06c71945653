"""Every name of a file or a folder stands for itself, also one that polars or DuckDB takes for a pattern."""

from pathlib import Path
from tempfile import TemporaryDirectory

import duckdb
import polars as pl
import pytest
from hypothesis import example, given, settings
from hypothesis import strategies as st
from pydantic import BaseModel

from pretexeval.config.file import PATH_KEYS, Config, load_config
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
from warehouse.catalogue import read_sql

# Of patterns, of home folders, of variables, of columns in folders, and of quoting.
names = st.text("a1[]*?!{}~$=%#&' -", min_size=1, max_size=12)
QUERY = "select * from read_csv($path, header = true, all_varchar = true)"


def write_row(path: Path, relation: str) -> None:
    path.parent.mkdir(parents=True, exist_ok=True)
    with path.open("wb") as file:
        pl.DataFrame({"head": ["A"], "relation": [relation], "tail": ["b"]}).write_parquet(file)
    path.with_suffix(".csv").write_text(f"head,relation,tail\nA,{relation},b\n", encoding="utf-8")


def list_decoys(name: str) -> set[str]:
    """Return names that the name would match if it were a pattern."""
    plain = name.translate(str.maketrans("*?", "aa", "[]!{}"))
    return {plain or "a", name.translate(str.maketrans("", "", "[]*?")) or "1"} - {name}


@settings(max_examples=12, deadline=None)
@given(names, names)
@example("rel[1]", "x")
@example("relation=other", "re?l")
@example("~", "*")
@example("[!1]", "{a,b}")
def test_a_name_stands_for_itself(folder_name: str, file_name: str) -> None:
    with TemporaryDirectory() as temporary:
        folder = Path(temporary) / folder_name
        for decoy in list_decoys(file_name):
            write_row(folder / f"{decoy}.parquet", "of_the_decoy")
        for decoy in list_decoys(folder_name):
            write_row(Path(temporary) / decoy / f"{file_name}.parquet", "of_the_decoy")
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
        query = Path(temporary) / "query.sql"
        query.write_text(QUERY, encoding="utf-8")
        for settings in (
            {"format": "table", "path": path},
            {"format": "sql", "path": path.with_suffix(".csv"), "query": query},
        ):
            config = KnowledgeConfig.model_validate({"name": "own", **settings})
            if config.format == "sql" and "=" in folder_name:
                with pytest.raises(InputError, match="rename the folder"):
                    read_knowledge_base(config)
                continue
            assert read_knowledge_base(config).relations == ["right"]


def test_a_recipe_reads_its_own_folder_alone(tmp_path: Path) -> None:
    write_row(tmp_path / "base[1]" / "x.parquet", "right")
    write_row(tmp_path / "base1" / "x.parquet", "of_the_decoy")
    for pattern in ("/x.csv", "/*.csv"):
        (tmp_path / "query.sql").write_text(f"select * from read_csv($path || '{pattern}')", encoding="utf-8")
        config = KnowledgeConfig(
            name="own", format="sql", path=tmp_path / "base[1]", query=tmp_path / "query.sql"
        )
        assert read_knowledge_base(config).relations == ["right"]


def test_a_pool_under_such_a_name(tmp_path: Path) -> None:
    columns = ("none", "dn", "inv", "inv_dn", "ins", "ins_dn", "inv_ins", "inv_ins_dn")
    for name, relation in (("pool[1]", "right"), ("pool1", "of_the_decoy")):
        rows = [(relation, column, f"[X] {column} [Y].") for column in columns]
        frame = pl.DataFrame(rows, ["relation", "transformation", "pretex_csv"], orient="row")
        with (tmp_path / f"{name}.parquet").open("wb") as file:
            frame.write_parquet(file)
    assert list(load_pool(str(tmp_path / "pool[1].parquet")).relations) == ["right"]


def list_path_keys(model: type[BaseModel], place: tuple[str, ...] = ()) -> set[tuple[str, ...]]:
    """Return the keys of the configuration that are paths, as their type says."""
    found = set()
    for name, field in model.model_fields.items():
        types = [field.annotation, *getattr(field.annotation, "__args__", ())]
        types += [inner for each in types for inner in getattr(each, "__args__", ())]
        if Path in types:
            found.add((*place, name))
        for table in {each for each in types if isinstance(each, type) and issubclass(each, BaseModel)}:
            found |= list_path_keys(table, (*place, name))
    return found


def test_every_path_of_a_configuration_is_one_whose_variables_are_replaced() -> None:
    found = list_path_keys(Config)
    assert ("knowledge", "releases", "path") in found
    assert found <= set(PATH_KEYS)


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        ("~/x*[1]", "HOME/x*[1]"),
        ("$BASE/y", "HOME/base/y"),
        ("./~", "~"),
        ("a~/$-{b}", "a~/$-{b}"),
        ("${X:-y}/data", None),
        ("$(pwd)", None),
        ("~nobody-of-this-name/x", None),
    ],
)
def test_of_what_a_shell_replaces_nothing_stays_as_it_stands(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, written: str, expected: str | None
) -> None:
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setenv("BASE", "~/base")
    file = tmp_path / "run.toml"
    releases = f'[{{ name = "old", path = "{written}" }}]'
    knowledge = f'[knowledge]\nformat = "table"\npath = "x.csv"\nreleases = {releases}\n'
    file.write_text(f'{knowledge}[storage]\nroot = "{written}"\n', encoding="utf-8")
    if expected is None:
        with pytest.raises(InputError, match="has 2 problems") as caught:
            load_config(file)
        assert f"knowledge.releases[0].path = {written!r}: " in str(caught.value)
        return
    config = load_config(file)
    path = Path(expected.replace("HOME", str(tmp_path)))
    assert [config.storage.root, config.knowledge.releases[0].path] == [path, path]
