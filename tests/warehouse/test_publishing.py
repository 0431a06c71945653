import os
import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import PUBLISH_LOCK
from tests.support.data_folder import DataFolder
from tests.support.simulated_models import expert
from tests.warehouse.conftest import EDITION
from warehouse import publishing
from warehouse.catalogue import VIEWS
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

REPOSITORY = Path(__file__).parents[2]
READER = """
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    count = "select count(distinct model_id) from leaderboard"
    print(connection.execute(count).fetchone()[0], flush=True)
    sys.stdin.readline()
    print(connection.execute(count).fetchone()[0], flush=True)
"""
# A publisher that is killed after loading everything, before the rename.
KILLED = """
import os, signal, sys
from pathlib import Path
from warehouse import publishing
load = publishing.load_warehouse
def load_and_die(connection, root):
    load(connection, root)
    os.kill(os.getpid(), signal.SIGKILL)
publishing.load_warehouse = load_and_die
publishing.build_warehouse(Path(sys.argv[1]))
"""

LIMITED = """
import resource, sys
from pathlib import Path
from warehouse import publishing
from warehouse.publishing import build_warehouse
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
build_warehouse(Path(sys.argv[1]))
"""


def read_everything(root: Path) -> dict[str, list[tuple[object, ...]]]:
    tables = run_query(
        root, "select table_name from duckdb_tables() where schema_name = 'main' order by table_name"
    )[1]
    names = [name for (name,) in tables] + [*VIEWS]
    return {name: run_query(root, f"select * from {name}")[1] for name in names}


def files_of(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_file() and path.name != PUBLISH_LOCK)


def test_publishing_twice_changes_nothing(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    first = read_everything(data.root)
    assert path == data.root / "warehouse.duckdb"
    assert len(first["pair_scores"]) == 4
    build_warehouse(data.root)
    assert read_everything(data.root) == first
    assert files_of(data.root) == ["warehouse.duckdb"]


def test_a_reader_is_not_disturbed(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(path)],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    ) as reader:
        assert reader.stdin is not None
        assert reader.stdout is not None
        assert reader.stdout.readline() == "1\n"
        data.write_model("second")
        data.write_answers(EDITION, "second", expert)
        build_warehouse(data.root)
        reader.stdin.write("go on\n")
        reader.stdin.flush()
        assert reader.stdout.readline() == "1\n"
    assert reader.returncode == 0
    assert run_query(data.root, "select count(*) from leaderboard")[1] == [(2,)]


def fail(*_: object) -> None:
    raise InputError("a question does not fit")


def test_a_failure_leaves_the_old_file_and_nothing_else(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_warehouse(data.root)
    before = path.read_bytes()
    data.write_model("second")
    with monkeypatch.context() as patched:
        patched.setattr(publishing, "load_warehouse", fail)
        with pytest.raises(InputError):
            build_warehouse(data.root)
    assert path.read_bytes() == before
    assert files_of(data.root) == ["warehouse.duckdb"]


def test_a_kill_leaves_the_old_file_and_the_next_publisher_clears_up(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    before = path.read_bytes()
    data.write_model("second")
    killed = subprocess.run(
        [sys.executable, "-c", KILLED, str(data.root)],
        cwd=REPOSITORY,
        check=False,
    )
    assert killed.returncode == -9
    assert path.read_bytes() == before
    assert any(name.startswith("warehouse.duckdb.next-") for name in files_of(data.root))
    build_warehouse(data.root)
    assert files_of(data.root) == ["warehouse.duckdb"]


def test_one_publisher_at_a_time(data: DataFolder) -> None:
    with (
        FileLock(data.root / PUBLISH_LOCK),
        pytest.raises(InputError, match="another publisher has held the lock"),
    ):
        build_warehouse(data.root, lock_timeout_s=0.1)
    assert files_of(data.root) == []


def test_an_empty_folder_gives_empty_views(tmp_path: Path) -> None:
    build_warehouse(tmp_path)
    assert all(run_query(tmp_path, f"select * from {v}")[1] == [] for v in VIEWS)


@pytest.mark.skipif(os.geteuid() == 0, reason="root writes to read-only folders")
def test_a_folder_that_cannot_be_written(data: DataFolder) -> None:
    data.root.chmod(0o500)
    try:
        with pytest.raises(InputError, match="cannot be written"):
            build_warehouse(data.root)
    finally:
        data.root.chmod(0o700)


def test_a_full_disk_leaves_the_old_file_and_nothing_else(data: DataFolder) -> None:
    """A limit on the file size simulates a full disk: the system refuses the write in the same way."""
    path = build_warehouse(data.root)
    before = path.read_bytes()
    data.write_model("second")
    limited = subprocess.run(
        [sys.executable, "-c", LIMITED, str(data.root)],
        cwd=REPOSITORY,
        check=False,
        capture_output=True,
        text=True,
    )
    assert "pretexeval.primitives.errors.InputError" in limited.stderr
    assert "cannot be written" in limited.stderr
    assert path.read_bytes() == before
    assert files_of(data.root) == ["warehouse.duckdb"]
