"""Slow packages are imported where they are needed, and every folder is installed."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

REPOSITORY = Path(__file__).parents[1]
SETTINGS = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))["tool"]
PACKAGES = SETTINGS["importlinter"]["root_packages"]
# Importing Great Expectations takes 8 s, vLLM 17 s and scikit-learn 2 s.
ONLY_WITHIN_FUNCTIONS = {"vllm", "openai", "great_expectations", "sklearn"}
SLOW = {"polars", "pyarrow", "duckdb", "prefect", "pandas", "numpy", "torch", "altair"}


def find_slow(tree: ast.AST) -> Iterator[str]:
    """Slow packages that a module imports when it is imported, so not in functions or for type checkers."""
    for node in ast.iter_child_nodes(tree):
        is_guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
        if is_guard or isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda):
            continue
        if isinstance(node, ast.Import):
            names = [alias.name for alias in node.names]
        else:
            names = [str(node.module)] if isinstance(node, ast.ImportFrom) else []
        yield from (name for name in names if name.partition(".")[0] in ONLY_WITHIN_FUNCTIONS)
        yield from find_slow(node)


def test_what_is_slow_is_imported_within_functions() -> None:
    modules = [path for name in PACKAGES for path in (REPOSITORY / name).rglob("*.py")]
    assert len(modules) > 100
    found = {path: [*find_slow(ast.parse(path.read_text(encoding="utf-8")))] for path in modules}
    assert {path: names for path, names in found.items() if names} == {}
    planted = "try:\n    import vllm\nexcept ImportError:\n    def f():\n        import openai"
    assert list(find_slow(ast.parse(planted))) == ["vllm"]


def test_every_folder_is_installed_and_in_the_contracts() -> None:
    """A folder that pyproject.toml does not list would be missing from the installed package."""
    inits = [path.relative_to(REPOSITORY).parent for path in REPOSITORY.glob("*/**/__init__.py")]
    folders = {".".join(folder.parts) for folder in inits if folder.parts[0] in PACKAGES}
    assert set(SETTINGS["setuptools"]["packages"]) == folders - {"training"}
    assert {path.parent.name for path in REPOSITORY.glob("*/__init__.py")} == set(PACKAGES)


def test_the_command_answers_without_what_is_slow() -> None:
    code = (
        "import sys, pathlib, commands.main, pretexeval.config.file",
        "commands.main.build_parser()",
        "pretexeval.config.file.load_config(pathlib.Path('configs/quickstart.toml'))",
        f"print({SLOW | ONLY_WITHIN_FUNCTIONS!r} & sys.modules.keys())",
    )
    command = [sys.executable, "-c", "\n".join(code)]
    done = subprocess.run(command, cwd=REPOSITORY, capture_output=True, text=True, check=True)
    assert done.stdout == "set()\n"
