"""Every table, view and column of the warehouse has a comment, and docs/warehouse.md shows all of them."""

from collections.abc import Iterator
from pathlib import Path

import duckdb
import pytest

from schemas.meanings import explain_column, list_tables, read_meanings
from schemas.stages import STAGES
from storage.layout import WAREHOUSE
from tests.support.data_folder import DataFolder
from warehouse.catalogue import ESTIMATES, FOLDER, SUMS, VIEWS, create_tables, create_views
from warehouse.comments import COLUMNS, RELATIONS
from warehouse.reference import render_reference

PAGE = Path(__file__).parents[2] / "docs" / "warehouse.md"


@pytest.fixture(scope="module")
def columns() -> Iterator[set[tuple[str, str]]]:
    """Return (table or view, column) of an empty warehouse."""
    with duckdb.connect() as connection:
        create_tables(connection)
        create_views(connection)
        yield {(name, column) for name, column, _ in connection.execute(COLUMNS).fetchall()}


def test_everything_in_the_published_file_has_a_comment(published: DataFolder) -> None:
    with duckdb.connect(str(published.root / WAREHOUSE), read_only=True) as connection:
        relations = {name: comment for _, name, comment in connection.execute(RELATIONS).fetchall()}
        found = connection.execute(COLUMNS).fetchall()
    assert {*VIEWS, *SUMS, *ESTIMATES, *list_tables()} == relations.keys()
    assert [
        name for name, comment in relations.items() if not (comment or "").startswith("one row per ")
    ] == []
    assert [(name, column) for name, column, comment in found if not comment] == []
    comments = {(name, column): comment for name, column, comment in found}
    assert comments["leaderboard", "mastery"] == "share of the complete pairs with all samples right"
    assert comments["attempts", "text"] == "the rewording, cleaned; null if the model gave none"
    assert comments["prediction_details", "text"] == "the text shown to the evaluated model"


def test_each_meaning_is_of_a_column_that_exists(columns: set[tuple[str, str]]) -> None:
    meanings, names = read_meanings(), {column for _, column in columns}
    relations = {relation for relation, _ in columns}
    assert meanings["columns"].keys() - names == set()
    assert meanings["stages"].keys() - relations == set()
    own = {(relation, column) for relation, texts in meanings["overrides"].items() for column in texts}
    assert own - columns == set()


def test_no_meaning_repeats_another(columns: set[tuple[str, str]]) -> None:
    meanings = read_meanings()
    staged = {(column.name, column.meaning) for stage in STAGES.values() for column in stage.columns}
    shared = set(meanings["columns"].items())
    own = {item for texts in meanings["overrides"].values() for item in texts.items()}
    assert shared & staged == set()
    assert own & (shared | staged) == set()
    # A text of [columns] would be shown nowhere if every table had the meaning of its stage.
    shown = {(column, explain_column(relation, column)) for relation, column in columns}
    assert shared - shown == set()


def test_a_column_without_a_meaning_is_an_error() -> None:
    with pytest.raises(
        LookupError, match=r"meanings.toml does not say what leaderboard.no_such_column means"
    ):
        explain_column("leaderboard", "no_such_column")


def test_every_table_of_sums_starts_with_its_grain() -> None:
    for name in (*SUMS, *ESTIMATES):
        assert (FOLDER / f"{name}.sql").read_text(encoding="utf-8").startswith("-- Grain: one row per "), name


def test_page_is_rendered_from_the_comments() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_reference(), "docs/warehouse.md is old: make docs"
