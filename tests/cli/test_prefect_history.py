import sqlite3
from pathlib import Path

import pytest

from cli.prefect_history import set_aside_damaged_history


@pytest.fixture
def home(tmp_path: Path) -> Path:
    with sqlite3.connect(tmp_path / "prefect.db") as connection:
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
