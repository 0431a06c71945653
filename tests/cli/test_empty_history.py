import sqlite3
from pathlib import Path

import pytest

from cli.empty_history import copy_empty_history, keep_empty_history
from cli.prefect_history import DATABASE


def write_tables(home: Path, *rows: str) -> None:
    with sqlite3.connect(home / DATABASE) as connection:
        connection.execute("create table runs (name text)")
        connection.executemany("insert into runs values (?)", [(row,) for row in rows])
    connection.close()


def read_tables(home: Path) -> list[tuple[str]]:
    with sqlite3.connect(home / DATABASE) as connection:
        found = connection.execute("select name from runs").fetchall()
    connection.close()
    return found


@pytest.fixture
def homes(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> list[Path]:
    monkeypatch.setenv("XDG_CACHE_HOME", str(tmp_path / "caches"))
    found = [tmp_path / name for name in "abc"]
    for home in found:
        home.mkdir()
    return found


def test_new_home_gets_the_tables_of_the_first_one_without_its_runs(homes: list[Path]) -> None:
    first, second, _ = homes
    copy_empty_history(first)
    assert not (first / DATABASE).exists()
    write_tables(first)
    keep_empty_history()
    with sqlite3.connect(first / DATABASE) as connection:
        connection.execute("insert into runs values ('a run')")
    connection.close()
    copy_empty_history(second)
    assert read_tables(second) == []


def test_history_that_is_there_stays_and_is_not_copied(homes: list[Path]) -> None:
    first, second, third = homes
    write_tables(first, "a run")
    copy_empty_history(first)
    keep_empty_history()
    assert read_tables(first) == [("a run",)]
    # Without its database, a log of changes would be applied to the copy.
    (second / f"{DATABASE}-wal").write_bytes(b"changes")
    copy_empty_history(second)
    copy_empty_history(third)
    keep_empty_history()
    assert not (second / DATABASE).exists()
    assert not (third / DATABASE).exists()
