"""Which queries put rows of several editions together without saying so."""

from pathlib import Path

import pytest

from commands.main import main
from commands.pooled_editions import find_pooled_editions
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
    "select model, mastery from leaderboard order by edition_id",
    "select model, avg(mastery) from leaderboard group by model",
    "select * exclude (edition_id) from leaderboard",
    "select 1; select count(*) from triplets",
    "select (select count(*) from triplets) as n",
    "select avg(mastery) from (select * from leaderboard)",
    "with scores as (from leaderboard) select avg(mastery) from scores",
    "with scores as (select model, mastery from leaderboard) select * from scores",
    "select a.model from leaderboard as a join pair_details as b using (edition_id, model_id)",
    "select a.model from leaderboard as a, pair_details as b where a.edition_id = b.edition_id",
    f"select head from pair_details where model_id in (select model_id from runs where edition_id = '{ONE}')",
    "select model, kb from leaderboard join editions using (edition_id)",
    # Of a sample, the label is whether it is true.
    "select label, text from prediction_details",
    f"select model from leaderboard where edition_id = '{ONE}' union all select model from pair_details",
]


@pytest.mark.parametrize("sql", POOLING)
def test_rows_of_several_editions(root: Path, sql: str) -> None:
    assert find_pooled_editions(root, sql) == EDITIONS


@pytest.mark.parametrize(
    "sql",
    [
        "from leaderboard",
        "select edition_id as edition, mastery from leaderboard",
        "select l.* from leaderboard as l",
        "select avg(mastery) from leaderboard group by edition_id",
        "select model from leaderboard qualify row_number() over (partition by edition_id) = 1",
        f"select model, mastery from leaderboard where edition_id = '{ONE}'",
        f"select model, mastery from leaderboard where edition_id in ('{ONE}', '{OTHER}')",
        "select e.label, mastery from leaderboard join editions as e using (edition_id)",
        "select mastery from leaderboard join editions using (edition_id) where label = 'seed1'",
        f"with chosen as (from pair_details) select head from chosen where edition_id = '{ONE}'",
        # Only one edition has rows of this model.
        "select mastery from leaderboard where model = 'always_true'",
        "select kb, n_pairs from editions",
        "select count(*) from triplets; select 1",
        "select name from models",
        "select name from models where model_id in (select model_id from runs)",
        "select name, (select count(*) from runs where runs.model_id = models.model_id) from models",
        # These cannot be looked at.
        "pivot leaderboard on method using avg(mastery)",
        "summarize leaderboard",
        "no query",
        "",
    ],
)
def test_no_false_alarm(root: Path, sql: str) -> None:
    assert find_pooled_editions(root, sql) == []


def test_the_command_says_it_once_and_only_where_no_column_has_the_edition(
    root: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    for sql, n in ((POOLING[0], 1), ("select columns('edition|mastery') from leaderboard", 0), (None, 0)):
        assert main(["sql", *([sql] if sql else []), "--root", str(root)]) == 0
        said = capsys.readouterr().err
        assert said.count(f"Rows of 2 editions stand here together, and no column says of which: {ONE}") == n
        assert said.count("\n") == n
