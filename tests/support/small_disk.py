"""A small file system for tests of a full disk."""

import subprocess
from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

import pytest


@contextmanager
def mount_disk(folder: Path, n_bytes: int) -> Iterator[Path]:
    """Create the folder and mount a file system of this size there; skip the test if that is not allowed."""
    folder.mkdir()
    mount = ["mount", "-t", "tmpfs", "-o", f"size={n_bytes}", "tmpfs", str(folder)]
    if subprocess.run(mount, capture_output=True, check=False).returncode:
        pytest.skip("only root can mount a file system, and not in every container")
    try:
        yield folder
    finally:
        # A file may still be open, for example in the traceback of an error that the test expects.
        subprocess.run(["umount", "--lazy", str(folder)], check=True)
