"""Join modules of this project into one file that other tools run without this project."""

import ast
import importlib.util
import sys
from collections import defaultdict
from collections.abc import Sequence
from pathlib import Path

MAX_LINE = 110


def bundle_modules(names: Sequence[str]) -> str:
    """Return the source of the modules as one module, whose docstring is that of the last one.

    Imports of each other are dropped, and all other imports stand at the top, once each.

    Raises:
        ValueError: two modules define the same name, or one imports a module of this project that is not in
            the bundle.
    """
    imports: dict[str, set[str]] = defaultdict(set)
    """Module -> the names that are imported from it; an empty name for the module itself."""
    bodies, docstring = [], ""
    definitions: dict[str, str] = {}
    for name in names:
        source = _read_source(name)
        tree = ast.parse(source)
        docstring = ast.get_docstring(tree, clean=False) or ""
        kept_from = 0
        for node in tree.body:
            if isinstance(node, ast.Import | ast.ImportFrom):
                kept_from = node.end_lineno or 0
                _add_import(imports, node)
            for defined in _list_definitions(node):
                if (first := definitions.setdefault(defined, name)) != name:
                    raise ValueError(f"{first} and {name} both define {defined}; rename one of them")
        bodies.append("\n".join(source.splitlines()[kept_from:]).strip("\n"))
    outside = {module: imported for module, imported in imports.items() if module not in names}
    own = {name.partition(".")[0] for name in names}
    if problems := sorted(module for module in outside if module.partition(".")[0] in own):
        raise ValueError(f"{', '.join(problems)} must be in the bundle, because a module of it imports it")
    return "\n\n\n".join([f'"""{docstring}"""\n\n{_render_imports(outside)}', *bodies]) + "\n"


def _read_source(name: str) -> str:
    spec = importlib.util.find_spec(name)
    assert spec is not None
    assert spec.origin is not None
    return Path(spec.origin).read_text(encoding="utf-8")


def _add_import(imports: dict[str, set[str]], node: ast.Import | ast.ImportFrom) -> None:
    if isinstance(node, ast.ImportFrom):
        imports[str(node.module)].update(alias.name for alias in node.names)
    else:
        for alias in node.names:
            imports[alias.name].add("")


def _list_definitions(node: ast.stmt) -> list[str]:
    if isinstance(node, ast.FunctionDef | ast.AsyncFunctionDef | ast.ClassDef):
        return [node.name]
    targets = node.targets if isinstance(node, ast.Assign) else []
    if isinstance(node, ast.AnnAssign):
        targets = [node.target]
    return [part.id for target in targets for part in ast.walk(target) if isinstance(part, ast.Name)]


def _render_imports(imports: dict[str, set[str]]) -> str:
    """Return the imports in the usual order: the standard library first, then other packages."""
    standard = {module for module in imports if module.partition(".")[0] in sys.stdlib_module_names}
    parts = []
    for modules in (standard, imports.keys() - standard):
        whole = [f"import {module}" for module in sorted(modules) if "" in imports[module]]
        named = [_render_names(m, sorted(imports[m] - {""})) for m in sorted(modules) if imports[m] != {""}]
        parts.append("\n".join([*whole, *named]))
    return "\n\n".join(part for part in parts if part)


def _render_names(module: str, names: Sequence[str]) -> str:
    line = f"from {module} import {', '.join(names)}"
    if len(line) <= MAX_LINE:
        return line
    lines = "".join(f"    {name},\n" for name in names)
    return f"from {module} import (\n{lines})"
