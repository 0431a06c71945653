"""Tests with other tools, each in an environment of its own, which `make test-interop` creates."""

from pathlib import Path

import pytest

from tests.support.command import REPOSITORY


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Mark the tests of this folder, so that `make test` leaves them out."""
    for item in items:
        if item.path.is_relative_to(Path(__file__).parent):
            item.add_marker("interop")


def require_environment(name: str) -> Path:
    """Return the interpreter of an environment in the repository; skip the test if there is none."""
    interpreter = REPOSITORY / name / "bin" / "python"
    if not interpreter.is_file():
        pytest.skip(f"there is no environment {name}: `make test-interop` creates it")
    return interpreter
