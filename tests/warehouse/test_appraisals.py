"""Load what is stored outside the edition (diversity and grades), and the attempts inside it."""

import pytest

from pretexeval.primitives.errors import InputError
from schemas.stages import ATTEMPTS, DIVERSITY, HUMAN_GRADES
from tests.support.data_folder import DataFolder
from tests.support.stage_rows import write_measured, write_rows
from tests.warehouse.conftest import EDITION
from tests.warehouse.test_quality_views import attempt, measured, write_grades
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

pytestmark = pytest.mark.usefixtures("without_views")


def count(data: DataFolder, table: str) -> int:
    return int(run_query(data.root, f"select count(*) from {table}")[1][0][0])


def test_attempts_are_loaded_with_all_their_columns(data: DataFolder) -> None:
    sample = data.samples("pretexeval")[0]
    row = attempt(sample, 1, "roles", implied=False)
    data.write_edition(EDITION, attempts=[row])
    build_warehouse(data.root)
    columns, rows = run_query(data.root, "from attempts")
    assert [dict(zip(columns, values, strict=True)) for values in rows] == [
        {"edition_id": EDITION, **{name: row.get(name) for name in ATTEMPTS.names}}
    ]


def test_diversity_and_grades_are_loaded(data: DataFolder) -> None:
    sample = data.samples("pretexeval")[0]
    write_measured(data.root, EDITION, DIVERSITY, [measured(sample, 0.5, None)])
    grades = write_grades(data, "ada", "pretexeval", [5, 3])
    write_rows(data.root / "reviews" / EDITION / "ada.parquet", HUMAN_GRADES, grades)
    build_warehouse(data.root)
    assert run_query(data.root, "select edition_id, sample_id, lexical_distance from sample_diversity")[
        1
    ] == [(EDITION, sample["sample_id"], 0.5)]
    assert count(data, "human_grades") == 2


@pytest.mark.parametrize(
    ("name", "message"),
    [
        (f"diversity/{EDITION}.parquet", r"differs from the checksum in .*pretexeval publish"),
        (f"guesses/{EDITION}.parquet", r"differs from the checksum in .*pretexeval publish"),
        (f"reviews/{EDITION}/ada.parquet", r"cannot be read as human_grades.*review import"),
    ],
)
def test_a_damaged_file_is_named(data: DataFolder, name: str, message: str) -> None:
    path = data.root / name
    path.parent.mkdir(parents=True)
    path.write_bytes(b"PAR1 but no more")
    with pytest.raises(InputError, match=f"{path.name}: {message}"):
        build_warehouse(data.root)
