"""The package as a type checker sees it that is run elsewhere, on an installation as `make` makes it."""

import os
import re
import subprocess
import sys
import sysconfig
import venv
from pathlib import Path

import pytest

from tests.support.command import REPOSITORY

SCRIPT = """
reveal_type(result)
reveal_type(frame)
reveal_type(frame.to_pandas())
reveal_type(connection)
reveal_type(pretexeval.load_edition(result.root, result.edition_id))
reveal_type(pretexeval.__version__)
error: Exception = pretexeval.InputError("text")
"""
TYPES = [
    "commands.scripting.RunResult",
    "polars.dataframe.frame.DataFrame",
    "pandas.core.frame.DataFrame",
    "_duckdb.DuckDBPyConnection",
    "polars.dataframe.frame.DataFrame",
    "str",
]


@pytest.mark.long
def test_example_of_the_readme_has_its_types(tmp_path: Path) -> None:
    page = (REPOSITORY / "README.md").read_text(encoding="utf-8")
    (tmp_path / "script.py").write_text(page.partition("```python\n")[2].partition("```")[0] + SCRIPT)
    venv.create(tmp_path / "venv")
    packages = tmp_path / "venv/lib" / f"python3.{sys.version_info.minor}" / "site-packages"
    (packages / "others.pth").write_text(sysconfig.get_paths()["purelib"])
    environment = {name: value for name, value in os.environ.items() if name != "PYTHONPATH"}

    def run(*arguments: str) -> str:
        command = [str(tmp_path / "venv/bin/python"), "-m", *arguments]
        done = subprocess.run(
            command, cwd=tmp_path, env=environment, capture_output=True, text=True, check=False
        )
        assert done.returncode == 0, done.stdout + done.stderr
        return done.stdout

    run("pip", "install", "--no-deps", "--no-build-isolation", "--no-index", "-e", str(REPOSITORY))
    assert re.findall(r'Revealed type is "(.*)"', run("mypy", "--strict", "script.py")) == TYPES
