"""Publishing is atomic: readers keep their file, a failure leaves the old one, and sessions of others lose
nothing and change nothing."""

import logging
import os
import resource
import subprocess
import sys
from pathlib import Path
from unittest.mock import Mock

import duckdb
import pytest
from filelock import FileLock

from commands.scripting import open_warehouse
from pretexeval.primitives.errors import InputError
from pretexeval.storage.layout import PUBLISH_LOCK
from tests.support.data_folder import DataFolder, expert
from tests.warehouse.conftest import EDITION
from warehouse import catalogue, publishing
from warehouse.publishing import build_warehouse, is_warehouse_current, require_usable_root
from warehouse.query import run_query

N_MODELS = "select count(*) from models"
COUNT = "select count(*), count(*) filter (is_correct) from answers"
# A session of another process, which prints the results of statements, and of the last one again when it gets
# a line; or it ends at once without a checkpoint.
SESSION = """
import os, sys
import duckdb
connection = duckdb.connect(sys.argv[1], read_only=sys.argv[2] == "reads")
if sys.argv[2] != "reads":
    connection.execute("set wal_autocheckpoint = '1GB'")
for statement in sys.argv[3:]:
    print(connection.execute(statement).fetchall(), flush=True)
if sys.argv[2] == "killed":
    os._exit(1)
sys.stdin.readline()
print(connection.execute(sys.argv[-1]).fetchall(), flush=True)
"""
DELETION = "delete from answers"
OBJECTS = (
    "create table notes as select 'mine' as note",
    "create view mine as select 1 as x",
    "create macro one() as 1",
)


@pytest.fixture(autouse=True)
def few_views(monkeypatch: pytest.MonkeyPatch) -> None:
    """Create one view alone, because the other views take most of the time and say nothing here."""
    monkeypatch.setattr(catalogue, "ESTIMATED", ())
    monkeypatch.setattr(catalogue, "VIEWS", ("not_evaluated",))


def begin_session(path: Path, how: str, *statements: str) -> "subprocess.Popen[str]":
    """Start a session that reads, writes, or is killed; return it when it has executed the statements."""
    command = [sys.executable, "-c", SESSION, str(path), how, *statements]
    session = subprocess.Popen(command, stdin=subprocess.PIPE, stdout=subprocess.PIPE, text=True)
    assert session.stdout is not None
    for _ in statements:
        assert session.stdout.readline()
    if how == "killed":
        session.communicate()
    return session


def list_files(root: Path) -> list[str]:
    return sorted(path.name for path in root.iterdir() if path.is_file() and path.name != PUBLISH_LOCK)


def test_a_reader_is_not_disturbed(data: DataFolder) -> None:
    reader = begin_session(build_warehouse(data.root), "reads", N_MODELS)
    data.write_answers(EDITION, "second", expert)
    build_warehouse(data.root)
    assert reader.communicate("go on\n")[0] == "[(1,)]\n"
    assert run_query(data.root, N_MODELS)[1] == [(2,)]


def test_what_fails_leaves_the_old_file_and_the_next_publisher_clears_up(
    data: DataFolder, monkeypatch: pytest.MonkeyPatch
) -> None:
    path = build_warehouse(data.root)
    before = path.read_bytes()
    data.write_model("second")

    for error, said in (
        (InputError("a question does not fit"), "^a question does not fit$"),
        (duckdb.IOException("No such device"), r"cannot be written \(No such device\); .* Make room or "),
        (
            duckdb.ConversionException("no date"),
            r"cannot be built \(no date\), .*Please report this message$",
        ),
        (duckdb.InternalException("a bug"), r"cannot be built \(a bug\), .*Please report this message$"),
    ):
        with monkeypatch.context() as patched:
            patched.setattr(publishing, "load_warehouse", Mock(side_effect=error))
            with pytest.raises(InputError, match=said):
                build_warehouse(data.root)
        assert (list_files(data.root), path.read_bytes()) == (["warehouse.duckdb"], before)
    # The system refuses to write a larger file as on a full disk, at a commit or at a checkpoint.
    soft, hard = resource.getrlimit(resource.RLIMIT_FSIZE)
    for n_bytes in (100_000, 1_000_000):
        resource.setrlimit(resource.RLIMIT_FSIZE, (n_bytes, hard))
        try:
            with pytest.raises(
                InputError, match=r"cannot be written .*the previous warehouse.* Make room or "
            ):
                build_warehouse(data.root)
        finally:
            resource.setrlimit(resource.RLIMIT_FSIZE, (soft, hard))
        assert (list_files(data.root), path.read_bytes()) == (["warehouse.duckdb"], before)
    # Publishers that were killed leave their files.
    for name in ("warehouse.duckdb.next-1", "warehouse.duckdb.next-1.wal"):
        (data.root / name).write_bytes(before[:1000])
    build_warehouse(data.root)
    assert list_files(data.root) == ["warehouse.duckdb"]
    assert run_query(data.root, N_MODELS)[1] == [(2,)]


@pytest.mark.long
def test_a_root_is_a_literal(data: DataFolder, monkeypatch: pytest.MonkeyPatch) -> None:
    query = "select model_id, count(*), count(*) filter (is_correct) from answers group by all"
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
    message = "another publisher has held the lock"
    with FileLock(data.root / PUBLISH_LOCK), pytest.raises(InputError, match=message):
        build_warehouse(data.root, lock_timeout_s=0.1)
    assert list_files(data.root) == []


@pytest.mark.long
def test_a_log_beside_the_file_never_reaches_the_next_one(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    expected = run_query(data.root, COUNT)
    begin_session(path, "killed", DELETION)
    assert "warehouse.duckdb.wal" in list_files(data.root)
    assert not is_warehouse_current(data.root)
    build_warehouse(data.root)
    assert "warehouse.duckdb.wal" not in list_files(data.root)
    assert run_query(data.root, COUNT) == expected
    assert is_warehouse_current(data.root)


def test_the_file_with_objects_of_somebody_else_is_kept(
    data: DataFolder, caplog: pytest.LogCaptureFixture
) -> None:
    path = build_warehouse(data.root)
    begin_session(path, "killed", *OBJECTS)
    with caplog.at_level(logging.WARNING):
        build_warehouse(data.root)
    (kept,) = data.root.glob("changed-*-warehouse.duckdb")
    assert f"(main.mine, main.notes, main.one), so the old file was kept as {kept}" in caplog.text
    with duckdb.connect(str(kept), read_only=True) as connection:
        assert connection.execute("select note, x, one() from notes, mine").fetchall() == [("mine", 1, 1)]
    with pytest.raises(InputError, match="notes"):
        run_query(data.root, "from notes")
    caplog.clear()
    data.write_model("second")
    build_warehouse(data.root)
    assert list(data.root.glob("changed-*.duckdb")) == [kept]
    assert caplog.text == ""


def test_a_file_is_not_replaced_while_a_session_may_write_to_it(data: DataFolder) -> None:
    path = build_warehouse(data.root)
    before = path.stat().st_ino
    data.write_model("second")
    session = begin_session(path, "writes", DELETION)
    with pytest.raises(InputError, match=rf"{path} is not replaced.*PID {session.pid}.*close the session"):
        build_warehouse(data.root)
    assert path.stat().st_ino == before
    session.communicate("end\n")
    build_warehouse(data.root)
    # The same within one process, as in a notebook.
    data.write_model("third")
    with duckdb.connect(str(path)), pytest.raises(InputError, match="is not replaced"):
        build_warehouse(data.root)
    build_warehouse(data.root)
    assert run_query(data.root, N_MODELS)[1] == [(3,)]
    assert list_files(data.root) == ["warehouse.duckdb"]


@pytest.mark.long
def test_a_warehouse_that_is_a_link_stays_one(data: DataFolder, tmp_path: Path) -> None:
    path, elsewhere = data.root / "warehouse.duckdb", tmp_path / "other disk" / "published"
    elsewhere.parent.mkdir()
    path.symlink_to(elsewhere)
    assert build_warehouse(data.root) == path
    begin_session(path, "killed", DELETION)
    data.write_model("second")
    build_warehouse(data.root)
    assert path.readlink() == elsewhere
    assert os.listdir(elsewhere.parent) == ["published"]
    assert is_warehouse_current(data.root)
    assert run_query(data.root, N_MODELS)[1] == [(2,)]


def test_a_disk_that_is_not_mounted_is_no_folder_that_was_emptied(data: DataFolder, tmp_path: Path) -> None:
    path = build_warehouse(data.root)
    before, folder = path.stat().st_ino, data.root / "responses"
    folder.rename(tmp_path / "unmounted")
    for remains in ("nothing", "a link", "an empty folder"):
        if remains == "a link":
            folder.symlink_to(tmp_path / "nowhere")
        elif remains == "an empty folder":
            folder.unlink()
            folder.mkdir()
        for check in (build_warehouse, require_usable_root):
            with pytest.raises(InputError, match=rf"{folder} is missing or empty.*holds 1 parts"):
                check(data.root)
    assert path.stat().st_ino == before
    path.unlink()
    build_warehouse(data.root)
    assert run_query(data.root, COUNT)[1] == [(0, 0)]


def test_the_name_of_a_file_may_be_any_bytes(data: DataFolder, caplog: pytest.LogCaptureFixture) -> None:
    # A command escapes the names that it logs, but xdist cannot send them as they are.
    caplog.set_level(logging.ERROR)
    for folder in (".", "responses/expert", f"editions/{EDITION}/samples"):
        (data.root / folder / os.fsdecode(b"part-\xff.parquet")).touch()
    build_warehouse(data.root)
    build_warehouse(data.root)
    assert run_query(data.root, COUNT)[1] == [(64, 64)]
    (data.root / "responses" / os.fsdecode(b"\xff")).mkdir()
    (data.root / "responses" / os.fsdecode(b"\xff") / "model.json").touch()
    with pytest.raises(InputError, match="is not UTF-8; rename or remove what it names"):
        build_warehouse(data.root)
