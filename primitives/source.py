"""Hash of the code that a module runs: its own source and that of every project module that it imports."""

import ast
from collections.abc import Iterator
from functools import cache
from importlib.metadata import distribution
from pathlib import Path

from primitives.hashing import hash_text

PROJECT = Path(__file__).parents[1]
DOCUMENTED = ast.Module | ast.ClassDef | ast.FunctionDef | ast.AsyncFunctionDef


@cache
def hash_source(module: str) -> str:
    """Return one hash of the module and of all project modules that it imports, directly or not.

    Imports inside functions count; imports under `if TYPE_CHECKING` do not, because they never run.
    Comments and docstrings do not count, because they cannot change a result.

    Raises:
        FileNotFoundError: if the module does not belong to the project.
    """
    names = sorted(list_imported(module))
    return hash_text(*(part for name in names for part in (name, _render_code(name))))


def list_imported(module: str) -> set[str]:
    """Return the names of the module and of all project modules that it imports, directly or not."""
    found: set[str] = set()
    waiting = [module]
    while waiting:
        name = waiting.pop()
        if name not in found:
            found.add(name)
            waiting += _list_direct_imports(name)
    return found


@cache
def _list_direct_imports(module: str) -> tuple[str, ...]:
    # Importing a.b.c also runs the __init__ of a and of a.b.
    parents = (module.rsplit(".", n)[0] for n in range(1, module.count(".") + 1))
    named = {*parents, *_find_names(ast.parse(_find_file(module).read_text(encoding="utf-8")))}
    return tuple(sorted(name for name in named if _is_project_module(name)))


def _find_names(node: ast.AST) -> Iterator[str]:
    """Yield every dotted name that the code below this node may import; not all of them are modules."""
    for child in ast.iter_child_nodes(node):
        if isinstance(child, ast.Import):
            yield from (alias.name for alias in child.names)
        elif isinstance(child, ast.ImportFrom) and child.module is not None:
            yield child.module
            yield from (f"{child.module}.{alias.name}" for alias in child.names)
        elif not (isinstance(child, ast.If) and "TYPE_CHECKING" in ast.unparse(child.test)):
            yield from _find_names(child)


def _is_project_module(name: str) -> bool:
    return name.partition(".")[0] in _list_packages() and _locate(name) is not None


@cache
def _list_packages() -> frozenset[str]:
    """Return the top-level packages; an installation has packages of other projects in the same folder."""
    return frozenset((distribution("pretexeval").read_text("top_level.txt") or "").split())


def _locate(module: str) -> Path | None:
    path = PROJECT.joinpath(*module.split("."))
    candidates = (path.with_name(f"{path.name}.py"), path / "__init__.py")
    return next((candidate for candidate in candidates if candidate.is_file()), None)


def _find_file(module: str) -> Path:
    file = _locate(module)
    if file is None:
        raise FileNotFoundError(f"{module} is not a module of the project")
    return file


@cache
def _render_code(module: str) -> str:
    """Return the module's code without comments and docstrings."""
    tree = ast.parse(_find_file(module).read_text(encoding="utf-8"))
    for node in ast.walk(tree):
        if isinstance(node, DOCUMENTED) and ast.get_docstring(node, clean=False) is not None:
            node.body = node.body[1:] or [ast.Pass()]
    return ast.unparse(tree)
