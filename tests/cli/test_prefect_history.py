import sqlite3
from pathlib import Path

import pytest

from cli.prefect_history import VERSION_TABLE, set_aside_damaged_history
from tests.support.prefect_history import write_version


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "prefect.db") as connection:
        write_version(connection)
        connection.execute("create table runs (name text)")
        connection.executemany("insert into runs values (?)", [(f"run {k}",) for k in range(5000)])
    connection.close()
    return tmp_path


def test_intact_empty_or_missing_history_stays(home: Path, tmp_path: Path) -> None:
    content = (home / "prefect.db").read_bytes()
    set_aside_damaged_history(home)
    assert (home / "prefect.db").read_bytes() == content
    (home / "prefect.db").write_bytes(b"")
    set_aside_damaged_history(home)
    set_aside_damaged_history(tmp_path / "nowhere")
    assert [path.name for path in home.iterdir()] == ["prefect.db"]


def test_locked_history_stays(home: Path) -> None:
    with sqlite3.connect(home / "prefect.db", isolation_level=None) as connection:
        connection.execute("begin exclusive")
        set_aside_damaged_history(home)
    connection.close()
    assert (home / "prefect.db").is_file()


@pytest.mark.parametrize("damage", ["text", "truncated", "page"])
def test_damaged_history_is_set_aside_and_named_once(
    home: Path, damage: str, caplog: pytest.LogCaptureFixture
) -> None:
    path = home / "prefect.db"
    content = path.read_bytes()
    changed = {
        "text": b"no database" * 100,
        "truncated": content[: len(content) // 2],
        "page": content[:8192] + b"\xff" * 4096 + content[12288:],
    }[damage]
    path.write_bytes(changed)
    (home / "prefect.db-wal").write_bytes(b"")
    set_aside_damaged_history(home)
    set_aside_damaged_history(home)
    assert (home / "prefect.db.damaged").read_bytes() == changed
    assert not path.exists()
    (message,) = [record.getMessage() for record in caplog.records]
    assert str(path) in message


@pytest.mark.parametrize(
    ("statements", "reason"),
    [
        ([f"drop table {VERSION_TABLE}"], "it holds the table runs of another program"),
        ([f"update {VERSION_TABLE} set version_num = '0123456789ab'"], "have the revision 0123456789ab"),
        ([f"delete from {VERSION_TABLE}"], None),
        ([f"drop table {VERSION_TABLE}", "drop table runs"], None),
    ],
)
def test_tables_that_prefect_cannot_use_are_set_aside(
    home: Path, statements: list[str], reason: str | None, caplog: pytest.LogCaptureFixture
) -> None:
    with sqlite3.connect(home / "prefect.db") as connection:
        for statement in statements:
            connection.execute(statement)
    connection.close()
    set_aside_damaged_history(home)
    assert (home / "prefect.db").exists() == (reason is None)
    assert (home / "prefect.db.damaged").exists() == (reason is not None)
    assert [reason in record.getMessage() for record in caplog.records if reason] == [True] * (
        reason is not None
    )
