"""The oldest DuckDB that the documents name opens the warehouse, and gives the same rows."""

import pickle
import subprocess
import sys
from collections import Counter
from pathlib import Path

import duckdb

from tests.interop.conftest import require_environment
from tests.support import data_folder
from tests.support.data_folder import DataFolder
from tests.support.question_folder import QuestionFolder, always_right, erratic, fill_points
from tests.warehouse.conftest import EDITION, fill_pairs
from warehouse.publishing import build_warehouse

FRESH = "tiny-seed2-00000002"
Rows = dict[str, tuple[list[str], Counter[str]]]
"""Table or view -> the names of its columns, and its rows in any order."""
# Run by both versions of DuckDB. The last digits of a sum depend on the order of its terms.
READER = """
import collections, duckdb, pickle, sys
def show(row):
    return repr([float(f"{x:.9g}") if isinstance(x, float) else x for x in row])
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    connection.execute("set enable_progress_bar = false")
    sql = "select table_name from information_schema.tables where table_schema = 'main'"
    found = {}
    for (name,) in connection.execute(sql).fetchall():
        result = connection.execute(f"from {name}")
        columns = [column[0] for column in result.description]
        found[name] = columns, collections.Counter(map(show, result.fetchall()))
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


def test_every_row_is_the_same_in_the_oldest_version(tmp_path: Path) -> None:
    """The root has two editions with samples and questions, which two models answered."""
    oldest = require_environment(".venv-duckdb")
    folder = fill_points(QuestionFolder(fill_pairs(DataFolder(tmp_path))))
    methods, policies = ("pretexeval", "prototype", "direct", "llmeval"), ("strict", "excluded")
    folder.data.write_edition(FRESH, methods)
    folder.write_edition(EDITION, methods)
    known = [{"relation": "symptoms", "head": "Scabies", "wordings": "pool"}]
    for rule in (data_folder.erratic, data_folder.polarity):
        name = rule.__name__
        folder.data.write_model(name, known)
        folder.data.write_answers(EDITION, name, rule, methods=methods, policies=policies)
        folder.data.write_answers(FRESH, name, rule, methods=methods, n_repeats=2)
        folder.write_answers(EDITION, name, erratic, policies=policies)
        folder.write_answers(EDITION, name, always_right, setting="chain_of_thought", n_repeats=5)
    path = build_warehouse(tmp_path)
    version, found = read_with(oldest, path)
    newest, expected = read_with(sys.executable, path)
    assert (version, newest) == ("1.4.2", duckdb.__version__)
    assert sum(bool(rows) for _, rows in found.values()) > 30
    assert found == expected
