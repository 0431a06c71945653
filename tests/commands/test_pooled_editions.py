"""Which queries put rows of several editions together without saying so."""

from pathlib import Path

import pytest

from commands.main import main
from commands.results import list_pooled_editions
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from warehouse.publishing import build_warehouse

ONE, OTHER = EDITIONS = ["tiny-seed1-00000001", "tiny-seed2-00000002"]


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Two editions. `expert` answered both, `always_true` only the first."""
    data = DataFolder(tmp_path_factory.mktemp("pooled") / "data")
    data.add_six_pairs("symptoms")
    for rule in (simulated_models.expert, simulated_models.always_true):
        data.write_model(rule.__name__)
    for edition_id in EDITIONS:
        data.write_edition(edition_id)
        data.write_answers(edition_id, "expert", simulated_models.expert)
    data.write_answers(ONE, "always_true", simulated_models.always_true)
    build_warehouse(data.root)
    return data.root


POOLING = [
    "select model, mastery from leaderboard",
    "select (select count(*) from triplets) as n",
    "with scores as (from leaderboard) select avg(mastery) from scores",
]


@pytest.mark.parametrize("sql", POOLING)
def test_rows_of_several_editions(root: Path, sql: str) -> None:
    assert list_pooled_editions(root, sql) == EDITIONS


@pytest.mark.parametrize(
    "sql",
    [
        "select avg(mastery) from leaderboard group by edition_id",
        f"select model, mastery from leaderboard where edition_id = '{ONE}'",
        "select mastery from leaderboard join editions using (edition_id) where label = 'seed1'",
        "select name from models",
        "no query",
        "",
    ],
)
def test_no_false_alarm(root: Path, sql: str) -> None:
    assert list_pooled_editions(root, sql) == []


def test_the_command_says_it_once_and_only_where_no_column_has_the_edition(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for sql, n in ((POOLING[0], 1), ("from leaderboard", 0), (None, 0)):
        assert main(["sql", *([sql] if sql else []), "--root", str(root)]) == 0
        said = capsys.readouterr().err
        assert said.count("The warehouse holds 2 editions, and no column says of which the rows are.") == n
        assert said.count("\n") == n
