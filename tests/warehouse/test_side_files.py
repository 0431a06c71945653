"""Nothing that a session of somebody else left, or still writes, changes what a publication says."""

import logging
import os
import re
import subprocess
import sys
from pathlib import Path

import duckdb
import pytest

from pretexeval.primitives.errors import InputError
from tests.support.data_folder import DataFolder
from tests.warehouse.conftest import EDITION
from warehouse.published import open_published, require_usable_root
from warehouse.publishing import build_warehouse, is_warehouse_current
from warehouse.query import run_query

COUNT = "select count(*), count(*) filter (is_correct) from predictions"
# A session that writes, says so, and waits; it ends without a checkpoint, or at the end of the input.
SESSION = """
import os, sys
import duckdb
connection = duckdb.connect(sys.argv[1])
connection.execute("set wal_autocheckpoint = '1GB'")
for statement in sys.argv[3:]:
    connection.execute(statement)
print("written", flush=True)
if sys.argv[2] == "killed":
    os._exit(1)
sys.stdin.readline()
"""
CHANGES = ("update predictions set is_correct = not is_correct", "delete from predictions")
OBJECTS = (
    "create table notes as select 'mine' as note",
    "create view mine as select 1 as x",
    "create macro one() as 1",
)

pytestmark = pytest.mark.usefixtures("without_views")


def begin_session(path: Path, *statements: str, end: str = "killed") -> "subprocess.Popen[str]":
    session = subprocess.Popen(
        [sys.executable, "-c", SESSION, str(path), end, *statements],
        stdin=subprocess.PIPE,
        stdout=subprocess.PIPE,
        text=True,
    )
    assert session.stdout is not None
    assert session.stdout.readline() == "written\n"
    if end == "killed":
        session.communicate()
    return session


def name_files(root: Path) -> set[str]:
    return {path.name for path in root.iterdir() if path.is_file() and not path.name.startswith(".")}


@pytest.mark.parametrize(("change", "is_new"), [(CHANGES[0], False), (CHANGES[1], True)])
def test_a_log_beside_the_file_never_reaches_the_next_one(
    data: DataFolder, change: str, is_new: bool
) -> None:
    path = build_warehouse(data.root)
    expected = run_query(data.root, COUNT)
    begin_session(path, change)
    assert "warehouse.duckdb.wal" in name_files(data.root)
    assert not is_warehouse_current(data.root)
    if is_new:
        data.write_model("second")
    build_warehouse(data.root)
    assert "warehouse.duckdb.wal" not in name_files(data.root)
    assert run_query(data.root, COUNT) == expected
    assert is_warehouse_current(data.root)


@pytest.mark.parametrize("is_logged", [True, False])
def test_the_file_with_objects_of_somebody_else_is_kept(
    data: DataFolder, is_logged: bool, caplog: pytest.LogCaptureFixture
) -> None:
    path = build_warehouse(data.root)
    if is_logged:
        begin_session(path, *OBJECTS)
    else:
        with duckdb.connect(str(path)) as connection:
            for statement in OBJECTS:
                connection.execute(statement)
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
    content = path.stat().st_ino
    data.write_model("second")
    session = begin_session(path, "delete from predictions", end="waits")
    with pytest.raises(InputError, match=rf"{path} is not replaced.*PID {session.pid}.*close the session"):
        build_warehouse(data.root)
    assert path.stat().st_ino == content
    session.communicate("end\n")
    build_warehouse(data.root)
    # The same within one process, as in a notebook.
    data.write_model("third")
    with duckdb.connect(str(path)), pytest.raises(InputError, match="is not replaced"):
        build_warehouse(data.root)
    build_warehouse(data.root)
    assert run_query(data.root, "select count(*) from models")[1] == [(3,)]
    assert name_files(data.root) == {"warehouse.duckdb"}


def test_a_warehouse_that_is_a_link_stays_one(data: DataFolder, tmp_path: Path) -> None:
    path = data.root / "warehouse.duckdb"
    elsewhere = tmp_path / "other disk" / "published"
    elsewhere.parent.mkdir()
    path.symlink_to(elsewhere)
    assert build_warehouse(data.root) == path
    begin_session(path, CHANGES[1])
    data.write_model("second")
    build_warehouse(data.root)
    assert path.readlink() == elsewhere
    assert os.listdir(elsewhere.parent) == ["published"]
    with open_published(path) as connection:
        assert connection is not None
        assert connection.execute("select count(*) from models").fetchone() == (2,)


@pytest.mark.parametrize(
    ("name", "remains"),
    [("editions", "a link"), ("responses", "nothing"), ("predictions", "an empty folder")],
)
def test_a_disk_that_is_not_mounted_is_no_folder_that_was_emptied(
    data: DataFolder, tmp_path: Path, name: str, remains: str
) -> None:
    path = build_warehouse(data.root)
    before = path.stat().st_ino
    (data.root / name).rename(tmp_path / "unmounted")
    if remains == "an empty folder":
        (data.root / name).mkdir()
    elif remains == "a link":
        (data.root / name).symlink_to(tmp_path / "nowhere")
    with pytest.raises(InputError, match=rf"{data.root / name} is missing or empty.*holds 1 parts") as caught:
        build_warehouse(data.root)
    with pytest.raises(InputError, match=re.escape(str(caught.value))):
        require_usable_root(data.root)
    assert path.stat().st_ino == before
    path.unlink()
    build_warehouse(data.root)
    assert run_query(data.root, COUNT)[1] == [(0, 0)]


def test_the_last_evaluation_goes_with_its_edition(data: DataFolder) -> None:
    data.write_edition("a-" + EDITION)
    build_warehouse(data.root)
    for folder in ("editions", "predictions"):
        os.rename(data.root / folder / EDITION, data.root.parent / folder)
    build_warehouse(data.root)
    assert run_query(data.root, "select edition_id from editions")[1] == [("a-" + EDITION,)]


@pytest.mark.parametrize("folder", ["responses/expert", f"editions/{EDITION}/samples"])
def test_the_name_of_a_file_may_be_any_bytes(
    data: DataFolder, folder: str, caplog: pytest.LogCaptureFixture
) -> None:
    # A command escapes the names that it logs, but xdist cannot send them as they are.
    caplog.set_level(logging.ERROR)
    for path in (data.root / folder / os.fsdecode(b"part-\xff.parquet"), data.root / os.fsdecode(b"\xfe")):
        path.touch()
    build_warehouse(data.root)
    build_warehouse(data.root)
    assert run_query(data.root, COUNT)[1] == [(64, 64)]
    (data.root / "responses" / os.fsdecode(b"\xff")).mkdir()
    (data.root / "responses" / os.fsdecode(b"\xff") / "model.json").touch()
    with pytest.raises(InputError, match="is not UTF-8; rename or remove what it names"):
        build_warehouse(data.root)
