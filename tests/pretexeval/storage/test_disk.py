import os
import shutil
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from pretexeval.storage.disk import measure_free_space, reserve_space


def test_reserved_space_is_an_unnamed_file_and_too_much_is_refused(tmp_path: Path) -> None:
    with reserve_space(tmp_path / "new", 50_000_000):
        assert not list((tmp_path / "new").iterdir())
    too_much = 2 * shutil.disk_usage(tmp_path).total
    with pytest.raises(InputError, match=r"no room for .* make room"), reserve_space(tmp_path, too_much):
        raise AssertionError("the space was reserved")


def test_free_space_is_measured_at_a_missing_folder_and_leaves_no_file(tmp_path: Path) -> None:
    free = shutil.disk_usage(tmp_path).free
    assert measure_free_space(tmp_path / "not" / "there") == pytest.approx(free, rel=0.2)
    assert list(tmp_path.iterdir()) == []


def test_folder_that_cannot_be_written_is_an_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("mine")
    (tmp_path / "dangling").symlink_to(tmp_path / "nowhere")
    locked = tmp_path / "locked"
    locked.mkdir(mode=0o500)
    broken = [tmp_path / "file", tmp_path / "file" / "data", tmp_path / "dangling", Path("/proc/none")]
    for root in [*broken, *([locked / "data"] if os.geteuid() != 0 else [])]:
        with pytest.raises(InputError) as refused:
            measure_free_space(root)
        assert str(refused.value).startswith(f"[storage] root {root} cannot be written (")
    assert (tmp_path / "file").read_text() == "mine"
