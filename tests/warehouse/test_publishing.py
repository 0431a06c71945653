"""Publishing is atomic: readers keep their file, a failure leaves the old one, one publishes at a time."""

import subprocess
import sys
from pathlib import Path

import pytest
from filelock import FileLock

from commands.scripting import open_warehouse
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import PUBLISH_LOCK
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder
from tests.support.simulated_models import expert
from tests.warehouse.conftest import EDITION
from warehouse import publishing
from warehouse.catalogue import VIEWS
from warehouse.published import require_usable_root
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

COUNT = "select count(*) from models"
READER = f"""
import duckdb, sys
with duckdb.connect(sys.argv[1], read_only=True) as connection:
    for _ in range(2):
        print(connection.execute("{COUNT}").fetchone()[0], flush=True)
        sys.stdin.readline()
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
# A limit on the file size simulates a full disk: the system refuses the write in the same way.
LIMITED = """
import resource, sys
from pathlib import Path
from warehouse.published import require_usable_root
from warehouse.publishing import build_warehouse
resource.setrlimit(resource.RLIMIT_FSIZE, (100_000, 100_000))
build_warehouse(Path(sys.argv[1]))
"""


def files_of(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_file() and path.name != PUBLISH_LOCK)


def run_publisher(source: str, root: Path) -> subprocess.CompletedProcess[str]:
    command = [sys.executable, "-c", source, str(root)]
    return subprocess.run(command, cwd=REPOSITORY, check=False, capture_output=True, text=True)


@pytest.mark.usefixtures("without_views")
def test_a_reader_is_not_disturbed(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    pipe = subprocess.PIPE
    with subprocess.Popen(
        [sys.executable, "-c", READER, str(path)], stdin=pipe, stdout=pipe, text=True
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
    assert run_query(data.root, COUNT)[1] == [(2,)]


@pytest.mark.usefixtures("without_views")
def test_what_fails_leaves_the_old_file_and_the_next_publisher_clears_up(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_warehouse(data.root)
    before = path.read_bytes()
    data.write_model("second")

    def fail(*_: object) -> None:
        raise InputError("a question does not fit")

    with monkeypatch.context() as patched:
        patched.setattr(publishing, "load_warehouse", fail)
        with pytest.raises(InputError):
            build_warehouse(data.root)
    assert path.read_bytes() == before
    assert files_of(data.root) == ["warehouse.duckdb"]
    limited = run_publisher(LIMITED, data.root)
    assert "pretexeval.primitives.errors.InputError" in limited.stderr
    assert "cannot be written" in limited.stderr
    assert path.read_bytes() == before
    assert files_of(data.root) == ["warehouse.duckdb"]
    assert run_publisher(KILLED, data.root).returncode == -9
    assert path.read_bytes() == before
    assert any(name.startswith("warehouse.duckdb.next-") for name in files_of(data.root))
    build_warehouse(data.root)
    assert files_of(data.root) == ["warehouse.duckdb"]
    assert run_query(data.root, COUNT)[1] == [(2,)]


@pytest.mark.usefixtures("without_views")
def test_a_root_is_a_literal(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select model_id, count(*), count(*) filter (is_correct) from predictions group by all"
    build_warehouse(data.root)
    expected = run_query(data.root, query)
    # Patterns, columns in the names of folders, the home folder, and a mark of DuckDB for other databases.
    for name in ("model_id=x [1]*'", "~", "md:a"):
        (data.root.parent / name).mkdir()
        monkeypatch.chdir(data.root.parent / name)
        root = Path("~" if name == "~" else "md:a")
        data.root.rename(root)
        data.root = root.absolute()
        (root / "warehouse.duckdb").unlink()
        assert build_warehouse(root) == root / "warehouse.duckdb"
        assert run_query(root, query) == expected
        with open_warehouse(root) as connection:
            assert connection.execute(query).fetchall() == expected[1]
    for name in ("a?", "a\\"):
        (data.root.parent / name).mkdir()
        for check in (build_warehouse, require_usable_root):
            with pytest.raises(InputError, match="DuckDB cannot write a file below a folder with"):
                check(data.root.parent / name)


def test_one_publisher_at_a_time(data: DataFolder) -> None:
    with (
        FileLock(data.root / PUBLISH_LOCK),
        pytest.raises(InputError, match="another publisher has held the lock"),
    ):
        build_warehouse(data.root, lock_timeout_s=0.1)
    assert files_of(data.root) == []


def test_an_empty_folder_gives_empty_views(tmp_path: Path) -> None:
    build_warehouse(tmp_path)
    assert all(run_query(tmp_path, f"from {view}")[1] == [] for view in VIEWS)
