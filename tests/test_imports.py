"""Imports run downwards only, and what is slow to import is imported where it is needed."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Iterator
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
# From top to bottom: a module imports from its own package and from lines further down.
LAYERS = (
    ("cli", "models"),
    ("flows",),
    ("tasks",),
    ("engines", "knowledge", "prototypes", "warehouse", "report"),
    ("config",),
    ("schemas", "configs"),
)
HEIGHT = {name: -depth for depth, layer in enumerate(LAYERS) for name in layer}
PACKAGES = sorted(HEIGHT)
# Importing Great Expectations takes 8 s and vLLM 17 s.
ONLY_WITHIN_FUNCTIONS = {"vllm", "openai", "great_expectations"}
SLOW = {"polars", "pyarrow", "duckdb", "prefect", "pandas", "numpy", "torch", "altair"}
SLOW |= ONLY_WITHIN_FUNCTIONS


def find_imports(tree: ast.AST, is_inside: bool = False) -> Iterator[tuple[str, bool]]:
    """(module, whether a function or `if TYPE_CHECKING` is around it) of every import."""
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, is_inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield str(node.module), is_inside
        else:
            is_guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            yield from find_imports(node, is_inside or is_guard or is_function)


def find_upward(package: str, source: str) -> list[str]:
    """The imports of a module of that package that do not run downwards."""
    modules = [module for module, _ in find_imports(ast.parse(source))]
    return [
        module
        for module in modules
        if (top := module.partition(".")[0]) in HEIGHT and top != package and HEIGHT[top] >= HEIGHT[package]
    ]


def find_slow(source: str) -> list[str]:
    """What the module imports as it is imported, and should not."""
    return [
        module
        for module, is_inside in find_imports(ast.parse(source))
        if module.partition(".")[0] in ONLY_WITHIN_FUNCTIONS and not is_inside
    ]


def uses_prefect(source: str) -> bool:
    modules = (module for module, _ in find_imports(ast.parse(source)))
    return any(module.partition(".")[0] == "prefect" for module in modules)


def list_modules() -> list[str]:
    """Every module of the project, as a path within the repository."""
    paths = [
        path
        for name in PACKAGES
        for path in (REPOSITORY / f"{name}.py", *sorted((REPOSITORY / name).rglob("*.py")))
    ]
    return [path.relative_to(REPOSITORY).as_posix() for path in paths if path.is_file()]


EVERY_MODULE = pytest.mark.parametrize("module", list_modules())


def read(module: str) -> str:
    return (REPOSITORY / module).read_text(encoding="utf-8")


@EVERY_MODULE
def test_imports_run_downwards_only(module: str) -> None:
    package = module.removesuffix(".py").partition("/")[0]
    assert find_upward(package, read(module)) == []


@EVERY_MODULE
def test_prefect_is_imported_in_flows_and_where_steps_become_tasks(module: str) -> None:
    is_allowed = module.startswith("flows/") or module == "tasks/edition/cached_stage.py"
    assert is_allowed or not uses_prefect(read(module))


@EVERY_MODULE
def test_what_is_slow_is_imported_within_functions(module: str) -> None:
    assert find_slow(read(module)) == []


def test_the_packages_are_the_projects() -> None:
    """A folder that pyproject.toml does not list would be missing from the installed package."""
    tables = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]
    packages = {name for name in tables["packages"] if "." not in name}
    assert sorted([*packages, *tables["py-modules"]]) == PACKAGES
    inits = [path.relative_to(REPOSITORY).parent for path in REPOSITORY.glob("*/**/__init__.py")]
    folders = {".".join(folder.parts) for folder in inits if folder.parts[0] in packages}
    assert folders == set(tables["packages"])
    tops = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")} - {"tests"}
    assert tops == packages


def test_the_rule_is_broken_by_an_import_upwards_or_sideways() -> None:
    assert find_upward("engines", "def f():\n    from tasks.edition.recipes import STEPS") == [
        "tasks.edition.recipes"
    ]
    assert find_upward("engines", "import knowledge.base") == ["knowledge.base"]
    assert find_upward("engines", "from engines.base import Prompt\nimport schemas, config") == []
    assert find_upward("schemas", "if TYPE_CHECKING:\n    from config import Config") == ["config"]


def test_the_rule_is_broken_by_a_slow_import_of_a_module() -> None:
    assert find_slow("try:\n    import vllm\nexcept ImportError:\n    pass") == ["vllm"]
    assert find_slow("class A:\n    from openai.types import B") == ["openai.types"]
    assert find_slow("def f():\n    import great_expectations as gx") == []
    assert find_slow("if TYPE_CHECKING:\n    from vllm import LLM") == []
    assert uses_prefect("def f():\n    from prefect import flow")
    assert not uses_prefect("import prefectly")


@pytest.mark.parametrize(
    "code",
    ["import cli", "import cli; cli._build_parser()", "from config import load_config as l; l(PATH)"],
)
def test_the_command_answers_without_what_is_slow(code: str) -> None:
    path = f"PATH = __import__('pathlib').Path({str(REPOSITORY / 'configs/quickstart.toml')!r})"
    report = f"import sys; print(sorted({SLOW!r} & sys.modules.keys()))"
    result = subprocess.run(
        [sys.executable, "-c", "\n".join((path, code, report))],
        cwd=REPOSITORY,
        capture_output=True,
        text=True,
        check=True,
    )
    assert result.stdout == "[]\n"
