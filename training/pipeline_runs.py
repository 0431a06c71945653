"""Runs of the pipeline that measure the models of this project."""

import os
import subprocess
import sys
from collections.abc import Iterable
from pathlib import Path

STORAGE = """
[storage]
root = "{root}"
"""
MODEL = """
[[models]]
name = "{folder.name}"
model = "{folder}"
dtype = "bfloat16"
"""


def write_configuration(file: Path, tables: str, models: Iterable[Path]) -> None:
    """Write a configuration with these TOML tables and models' folders; its data is beside the file."""
    storage = STORAGE.format(root=file.parent / "data")
    tables_of_models = (MODEL.format(folder=folder) for folder in models)
    file.write_text(tables + storage + "".join(tables_of_models), encoding="utf-8")


def run_pipeline(file: Path) -> None:
    """Run the pipeline with this configuration, in another process.

    Raises:
        CalledProcessError: the run failed; its messages are on the console.
    """
    environment = os.environ | {"PYTHONPATH": str(Path(__file__).parents[1])}
    subprocess.run([sys.executable, "-m", "cli", "run", str(file)], env=environment, check=True)
