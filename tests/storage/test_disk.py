import os
import shutil
from pathlib import Path

import pytest

from primitives.errors import InputError
from storage.disk import measure_room, reserve_room


def test_room_is_kept_without_a_name_and_its_lack_is_said(tmp_path: Path) -> None:
    with reserve_room(tmp_path / "new", 50_000_000):
        assert not list((tmp_path / "new").iterdir())
    too_much = 2 * shutil.disk_usage(tmp_path).total
    with pytest.raises(InputError, match=r"no room for .* make room"), reserve_room(tmp_path, too_much):
        raise AssertionError("there was room")


def test_room_is_measured_where_the_folder_will_be_and_nothing_is_left(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert measure_room(tmp_path / "not" / "there") == pytest.approx(free, rel=0.2)
    assert list(tmp_path.iterdir()) == []


def test_a_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    broken = [tmp_path / "file", tmp_path / "file" / "data", tmp_path / "dangling", Path("/proc/none")]
    for root in [*broken, *([locked / "data"] if os.geteuid() != 0 else [])]:
        with pytest.raises(InputError) as refused:
            measure_room(root)
        assert str(refused.value).startswith(f"[storage] root {root} cannot be written (")
    assert (tmp_path / "file").read_text() == "mine"
