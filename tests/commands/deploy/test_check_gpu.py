"""What is checked before the list for GPUs is installed."""

import subprocess
import sys
from pathlib import Path

import pytest

from tests.support.command import REPOSITORY

CHECK = REPOSITORY / "requirements" / "check_gpu.py"


def check(folder: Path, *rows: str, arguments: tuple[str, ...] = ()) -> subprocess.CompletedProcess[str]:
    """Run the check on a machine whose driver lists these rows: name, driver, compute capability."""
    command = folder / "nvidia-smi"
    command.write_text("#!/bin/sh\n" + "".join(f"echo '{row}'\n" for row in rows) + f"exit {int(not rows)}\n")
    command.chmod(0o755)
    return subprocess.run(
        [sys.executable, CHECK, *arguments],
        env={"PATH": f"{folder}:/bin:/usr/bin"},
        cwd=folder,
        capture_output=True,
        text=True,
        check=False,
    )


@pytest.mark.parametrize(
    ("rows", "words"),
    [
        ((), "no NVIDIA card is visible"),
        (("Tesla V100-SXM2-32GB, 580.95.05, 7.0",), "has compute capability 7.0, and CUDA 13 needs 7.5"),
        (
            ("NVIDIA A100-SXM4-80GB, 550.54.15, 8.0",),
            "the driver 550.54.15 is too old for CUDA 13; install version 580",
        ),
    ],
)
def test_what_speaks_against_the_installation_is_one_sentence(
    tmp_path: Path, rows: tuple[str, ...], words: str
) -> None:
    done = check(tmp_path, *rows)
    assert done.returncode == 1
    assert words in done.stderr
    assert len(done.stderr.splitlines()) == 1


def test_a_card_that_can_be_used(tmp_path: Path) -> None:
    row = "NVIDIA H100 80GB HBM3, 580.95.05, 9.0"
    done = check(tmp_path, row)
    assert (done.returncode, done.stderr) == (0, "")
    assert "This machine has a card (NVIDIA H100" in check(tmp_path, row, arguments=("--hint",)).stdout
    assert check(tmp_path, arguments=("--hint",)).stdout == ""
