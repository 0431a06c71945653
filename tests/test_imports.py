"""Imports run downwards only and in no circle, and slow packages are imported where they are needed."""

import ast
import subprocess
import sys
import tomllib
from collections.abc import Collection, Iterator, Mapping
from pathlib import Path

import pytest

REPOSITORY = Path(__file__).parents[1]
# From top to bottom. A module imports from its own folder and from folders on floors further down; folders on
# the same floor do not know each other.
FLOORS = (
    ("pretexeval",),
    ("cli", "training"),
    ("flows", "preflight", "review", "exports", "deploy"),
    ("flows.support", "deploy.local"),
    ("tasks.evaluation", "tasks.edition", "drafting"),
    ("tasks.questions",),
    ("tasks.answers", "tasks.judging"),
    ("tasks.asking", "tasks.quality", "tasks.drawing"),
    ("report",),
    ("warehouse", "gate", "knowledge", "prototypes"),
    ("storage", "engines"),
    ("config",),
    ("schemas", "models", "configs", "tasks"),
    ("primitives",),
)
HEIGHT = {folder: -depth for depth, floor in enumerate(FLOORS) for folder in floor}
PACKAGES = sorted({folder.partition(".")[0] for folder in HEIGHT})
# Importing Great Expectations takes 8 s, vLLM 17 s and scikit-learn 2 s.
ONLY_WITHIN_FUNCTIONS = {"vllm", "openai", "great_expectations", "sklearn"}
SLOW = {"polars", "pyarrow", "duckdb", "prefect", "pandas", "numpy", "torch", "altair"}
SLOW |= ONLY_WITHIN_FUNCTIONS


def find_imports(
    tree: ast.AST, is_inside: bool = False, *, with_members: bool = False
) -> Iterator[tuple[str, bool]]:
    """(module, whether a function or `if TYPE_CHECKING` is around it) of every import.

    Args:
        with_members: whether `from a import b` counts as a.b too, which may be a module.
    """
    for node in ast.iter_child_nodes(tree):
        if isinstance(node, ast.Import):
            yield from ((alias.name, is_inside) for alias in node.names)
        elif isinstance(node, ast.ImportFrom):
            assert node.level == 0, f"relative import in line {node.lineno}"
            yield str(node.module), is_inside
            if with_members:
                yield from ((f"{node.module}.{alias.name}", is_inside) for alias in node.names)
        else:
            is_guard = isinstance(node, ast.If) and "TYPE_CHECKING" in ast.unparse(node.test)
            is_function = isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.Lambda)
            is_within = is_inside or is_guard or is_function
            yield from find_imports(node, is_within, with_members=with_members)


def find_folder(module: str) -> str | None:
    """The folder of a module as FLOORS names it; null for modules of other projects."""
    parts = module.split(".")
    names = (".".join(parts[:n]) for n in (2, 1))
    return next((name for name in names if name in HEIGHT), None)


def find_upward(folder: str, source: str) -> list[str]:
    """The imports of a module in that folder that do not run downwards."""
    modules = [module for module, _ in find_imports(ast.parse(source))]
    return [
        module
        for module in modules
        if (other := find_folder(module)) is not None and other != folder and HEIGHT[other] >= HEIGHT[folder]
    ]


def find_circle(imports: Mapping[str, Collection[str]]) -> list[str]:
    """The modules of one circle of imports, in order; empty if there is none.

    Args:
        imports: module -> the modules that it imports.
    """
    finished: set[str] = set()

    def visit(module: str, path: list[str]) -> list[str]:
        if module in path:
            return path[path.index(module) :]
        if module in finished:
            return []
        for imported in sorted(imports.get(module, ())):
            if circle := visit(imported, [*path, module]):
                return circle
        finished.add(module)
        return []

    return next((circle for module in sorted(imports) if (circle := visit(module, []))), [])


def read_graph() -> dict[str, set[str]]:
    """Module -> the project's modules that it imports, within functions and for type checkers too."""
    sources = {name_module(path): read(path) for path in list_modules()}
    graph = {}
    for module, source in sources.items():
        named = {name for name, _ in find_imports(ast.parse(source), with_members=True)}
        graph[module] = {name for name in named if name in sources and name != module}
    return graph


def name_module(path: str) -> str:
    return path.removesuffix(".py").removesuffix("/__init__").replace("/", ".")


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
    folder = find_folder(name_module(module))
    assert folder is not None
    assert find_upward(folder, read(module)) == []


def test_imports_run_in_no_circle() -> None:
    assert find_circle(read_graph()) == []


def test_only_what_several_folders_need_is_primitive() -> None:
    """The ground floor is no drawer: each of its modules serves folders apart."""
    users: dict[str, set[str | None]] = {}
    for module, imported in read_graph().items():
        for name in imported:
            users.setdefault(name, set()).add(find_folder(module))
    primitives = [module for module in read_graph() if module.startswith("primitives.")]
    assert {name: users[name] for name in primitives if len(users[name] - {"primitives"}) < 2} == {}


@EVERY_MODULE
def test_prefect_is_imported_in_flows_and_deployments_only(module: str) -> None:
    is_allowed = module.startswith(("flows/", "deploy/")) and not module.startswith("deploy/local/")
    assert is_allowed or not uses_prefect(read(module))


@EVERY_MODULE
def test_what_is_slow_is_imported_within_functions(module: str) -> None:
    assert find_slow(read(module)) == []


def test_the_packages_are_the_projects() -> None:
    """A folder that pyproject.toml does not list would be missing from the installed package."""
    tables = tomllib.loads(read("pyproject.toml"))["tool"]["setuptools"]
    packages = {name for name in tables["packages"] if "." not in name}
    assert sorted(packages) == PACKAGES
    inits = [path.relative_to(REPOSITORY).parent for path in REPOSITORY.glob("*/**/__init__.py")]
    folders = {".".join(folder.parts) for folder in inits if folder.parts[0] in packages}
    assert folders == set(tables["packages"])
    tops = {path.parent.name for path in REPOSITORY.glob("*/__init__.py")}
    assert tops == packages


def test_the_rule_is_broken_by_an_import_upwards_or_sideways() -> None:
    upward = "def f():\n    from tasks.edition.recipes import RECIPES"
    assert find_upward("engines", upward) == ["tasks.edition.recipes"]
    assert find_upward("tasks.asking", upward) == ["tasks.edition.recipes"]
    assert find_upward("tasks.evaluation", upward) == ["tasks.edition.recipes"]
    assert find_upward("flows.support", "import flows.publish") == ["flows.publish"]
    assert find_upward("flows", "import flows.support.keys") == []
    assert find_upward("engines", "import storage.files") == ["storage.files"]
    assert find_upward("engines", "from engines.base import Prompt\nimport schemas, config") == []
    guarded = "if TYPE_CHECKING:\n    from config.file import Config"
    assert find_upward("schemas", guarded) == ["config.file"]


def test_the_rule_is_broken_by_a_circle() -> None:
    assert find_circle({"a": {"b"}, "b": {"c"}, "c": set()}) == []
    assert find_circle({"a": {"b", "c"}, "b": {"d"}, "c": {"d"}, "d": set()}) == []
    assert find_circle({"x": {"a"}, "a": {"b"}, "b": {"c"}, "c": {"a"}}) == ["a", "b", "c"]
    graph = read_graph()
    graph["primitives.errors"] = {"tasks.edition.edition"}
    assert find_circle(graph) != []


def test_the_rule_is_broken_by_a_slow_import_of_a_module() -> None:
    assert find_slow("try:\n    import vllm\nexcept ImportError:\n    pass") == ["vllm"]
    assert find_slow("class A:\n    from openai.types import B") == ["openai.types"]
    assert find_slow("def f():\n    import great_expectations as gx") == []
    assert find_slow("if TYPE_CHECKING:\n    from vllm import LLM") == []
    assert uses_prefect("def f():\n    from prefect import flow")
    assert not uses_prefect("import prefectly")


@pytest.mark.parametrize(
    "code",
    [
        "import cli.main",
        "import cli.main as m; m.build_parser()",
        "from config.file import load_config as l; l(PATH)",
    ],
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
