"""The oldest DuckDB that the documents name opens the warehouse, and gives the same rows."""

import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb
import pytest

from pretexeval.storage.layout import WAREHOUSE
from tests.interop.conftest import require_environment
from tests.support import simulated_models
from tests.support.anchor_weeks import WEEKS, fill_anchor_weeks
from tests.support.damaged_root import fill_root
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder
from tests.support.question_models import always_right, erratic, fill_points
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse

FRESH = "tiny-seed2-00000002"
KNOWN = [{"relation": "symptoms", "head": "Scabies", "wordings": "pool"}]
Rows = dict[str, tuple[list[str], list[tuple[object, ...]]]]
"""Table or view -> the names of its columns, and its rows."""
# Run by both versions of DuckDB.
READER = """
import duckdb, pickle, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    connection.execute("set enable_progress_bar = false")
    names = connection.execute(
        "select table_name from information_schema.tables where table_schema = 'main'"
    ).fetchall()
    found = {}
    for (name,) in sorted(names):
        (n_rows,) = connection.execute(f"select count(*) from {name}").fetchone()
        result = connection.execute(f"from {name}")
        found[name] = [column[0] for column in result.description], result.fetchall()
        assert len(found[name][1]) == n_rows, name
    sys.stdout.buffer.write(pickle.dumps((duckdb.__version__, found)))
"""


def read_with(interpreter: str | Path, path: Path) -> tuple[str, Rows]:
    """Return the version of DuckDB of an environment, and all rows that it reads."""
    process = subprocess.run(
        [interpreter, "-c", READER, str(path)], check=False, capture_output=True, cwd=path.parent
    )
    assert process.returncode == 0, process.stderr.decode()[-2000:]
    version, rows = pickle.loads(process.stdout)
    return version, rows


def assert_alike(name: str, found: list[tuple[object, ...]], expected: list[tuple[object, ...]]) -> None:
    """Compare rows in any order; the last digits of a sum depend on the order of its terms."""
    rounded = [
        Counter(repr([float(f"{x:.9g}") if isinstance(x, float) else x for x in row]) for row in rows)
        for rows in (found, expected)
    ]
    assert rounded[0] == rounded[1], name


def contrary(sample: Row) -> bool | None:
    """Contradict every sample, also those about what the model was taught."""
    return not sample["label"]


def answer(root: Path) -> Path:
    """Write an edition with samples and questions, and two models that answered both."""
    folder = fill_points(QuestionFolder(fill_pairs(DataFolder(root))))
    methods, policies = ("pretexeval", "prototype", "direct", "llmeval"), ("strict", "excluded")
    folder.data.write_edition(FRESH, methods)
    folder.write_edition(EDITION, methods, knowledge={"symptoms": "0" * 64})
    for rule, known in ((simulated_models.erratic, None), (contrary, KNOWN)):
        name = rule.__name__
        folder.data.write_model(name, known)
        folder.data.write_answers(EDITION, name, rule, methods=methods, policies=policies)
        folder.data.write_answers(FRESH, name, rule, methods=methods)
        folder.write_answers(EDITION, name, erratic, policies=policies)
        folder.write_answers(EDITION, name, always_right, setting="chain_of_thought", n_repeats=5)
    build_warehouse(root)
    return root


def ask_again(root: Path) -> Path:
    """Write the editions and anchors of two weeks, with the ages of the facts, and a model with repeats."""
    ages = {"Influenza": "2021", "Scabies": "2019B", "Angina pectoris": "2021", "Scurvy": "new"}
    data = fill_anchor_weeks(fill_pairs(DataFolder(root, ages=ages, releases=("2021", "2019B"))))
    data.write_model("sampled")
    data.write_answers(f"tiny-{WEEKS[0]}-00000001", "sampled", simulated_models.erratic, n_repeats=2)
    build_warehouse(root)
    return root


@pytest.fixture(scope="module")
def roots(tmp_path_factory: pytest.TempPathFactory) -> list[Path]:
    """Return published roots. A language model reworded the statements of the last one."""
    reworded = fill_root(tmp_path_factory.mktemp("reworded")).root
    again = ask_again(tmp_path_factory.mktemp("again") / "data")
    return [answer(tmp_path_factory.mktemp("answered") / "data"), again, reworded]


def test_every_row_is_the_same_in_the_oldest_version(roots: list[Path]) -> None:
    oldest = require_environment(".venv-duckdb")
    # No test answers through a server.
    filled = {"served_models"}
    for root in roots:
        version, rows = read_with(oldest, root / WAREHOUSE)
        newest, expected = read_with(sys.executable, root / WAREHOUSE)
        assert (version, newest) == ("1.4.2", duckdb.__version__)
        assert rows.keys() == expected.keys()
        for name, (columns, found) in rows.items():
            assert columns == expected[name][0], name
            assert_alike(name, found, expected[name][1])
        filled |= {name for name, (_, found) in rows.items() if found}
    assert set(VIEWS) - filled == set()
