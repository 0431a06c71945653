"""Every table, view and column of the warehouse has a comment."""

import duckdb

from pretexeval.storage.layout import WAREHOUSE
from schemas.meanings import list_tables
from tests.support.data_folder import DataFolder
from warehouse.catalogue import COLUMNS, ESTIMATES, RELATIONS, SUMS, VIEWS


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
