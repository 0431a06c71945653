"""The quickstart on few pairs, run with real vLLM and Prefect, once for all tests of a session."""

import os
import shutil
from dataclasses import dataclass
from pathlib import Path

import pytest

from pretexeval.storage.layout import PREFECT_FOLDER
from tests.support.command import REPOSITORY, Outcome, read_stamps, run_process_command
from tests.support.session_process import share
from warehouse.query import run_query

CONFIG = "configs/quickstart.toml"
N_PAIRS = 2
LIMIT = ("--limit", str(N_PAIRS))


@dataclass(frozen=True)
class Quickstart:
    """A folder like the root of the repository, with the results of the run; tests do not change it."""

    folder: Path
    out: str
    """What the run printed."""

    @property
    def root(self) -> Path:
        return self.folder / "data"

    @property
    def edition_id(self) -> str:
        _, [(edition_id,)] = run_query(self.root, "select edition_id from editions")
        return str(edition_id)

    def run_again(self, blocked: Path) -> Outcome:
        """Run the same command, with a folder of `block_packages`."""
        return _run(self.folder, blocked)

    def read_stamps(self) -> dict[str, tuple[int, int]]:
        """Return path -> inode and time of the last change, for the files of editions and models."""
        folders = ("editions", "responses", "predictions")
        stamps = {name: read_stamps(self.root / name) for name in folders}
        return {f"{name}/{path}": stamp for name, found in stamps.items() for path, stamp in found.items()}

    def copy(self, folder: Path) -> Path:
        """Return a copy of the folder, which a test may change.

        Its files are hard links, because a page counts as current only with the very file of the warehouse
        that it was made from. Whatever writes a file of results replaces it.
        """
        shutil.copytree(
            self.folder,
            folder,
            symlinks=True,
            copy_function=os.link,
            dirs_exist_ok=True,
            ignore=shutil.ignore_patterns(PREFECT_FOLDER),
        )
        return folder


def share_quickstart(factory: pytest.TempPathFactory) -> Quickstart:
    """Return the run that the first test of the session made that needs it."""

    def make(folder: Path) -> dict[str, str]:
        for name in ("configs", "examples", "models"):
            (folder / name).symlink_to(REPOSITORY / name)
        return {"folder": str(folder), "out": _run(folder).require().out}

    made = share(factory, "quickstart", make)
    return Quickstart(Path(made["folder"]), made["out"])


def _run(folder: Path, blocked: Path | None = None) -> Outcome:
    return run_process_command("run", CONFIG, *LIMIT, folder=folder, blocked=blocked)
