"""docs/architecture.md names folders, paths, functions and constants that exist, and leaves out no folder."""

import ast
import inspect
import re
import tomllib
from collections.abc import Iterator
from functools import cache
from pathlib import Path
from urllib.parse import unquote

import pytest

from storage import layout
from tests.test_imports import FLOORS

REPOSITORY = Path(__file__).parents[1]
PAGE = REPOSITORY / "docs" / "architecture.md"
TEXT = PAGE.read_text(encoding="utf-8")
SPAN = re.compile(r"`([^`\n]+)`")
LINK = re.compile(r"\[`([^`\n]+)`\]\(\.\./([^)\n]+)\)")
# With a folder in front of it, or with the ending of a file of the repository.
PATH = re.compile(r"\.?[\w-]+(?:/[\w.-]+)*/|(?:\.?[\w-]+/)*[\w.-]+\.(?:py|sql|toml|ya?ml|md|html|in)")
# Floors without code of their own.
WITHOUT_MODULES = {"models", "configs", "tasks"}
# What the paths under the data root stand for.
PLACEHOLDERS = {
    "edition_id": "<edition>",
    "model_id": "<model>",
    "stage": "<stage>",
    "relation": "<relation>",
    "key": "<key>",
    "folder": "<evaluation>",
    "period": "<period>",
}
NAMES = {"evaluation_file": "<relation>.parquet"}
TASKS = (
    "answer",
    "SQL view",
    "column in samples",
    "HTTP 503",
    "default of the gate",
    "relation's prototypes",
    "format of knowledge base",
    "question",
    "scoring policy",
    "setting of the TOML file",
    "engine",
    "check of the doctor",
    "figure on the page",
    "subcommand",
    "path under the data root",
    "expectation on a stage",
    "secret to hide",
    "time limit of a deployment",
    "automation",
    "benchmark",
    "test helper",
    "evaluation method",
)


def read_section(heading: str) -> str:
    _, _, rest = TEXT.partition(f"\n## {heading}\n")
    assert rest, f"docs/architecture.md has no section {heading!r}"
    return rest.partition("\n## ")[0]


def read_rows(heading: str) -> list[list[str]]:
    """Return the cells of the rows of the section's table, without its head."""
    lines = [line for line in read_section(heading).splitlines() if line.startswith("|")]
    return [[cell.strip() for cell in line.strip("|").split(" | ")] for line in lines[2:]]


def list_links() -> list[tuple[str, str]]:
    """Return (name, file) of every link that names something in a file."""
    return sorted(set(LINK.findall(TEXT)))


@cache
def list_names(file: Path) -> set[str]:
    """Return the functions, classes and constants of a module, and members of classes as Class.member."""
    tree = ast.parse(file.read_text(encoding="utf-8"))
    names = set(_list_defined(tree))
    for node in tree.body:
        if isinstance(node, ast.ClassDef):
            names |= {f"{node.name}.{member}" for member in _list_defined(node)}
    return names


def _list_defined(node: ast.Module | ast.ClassDef) -> Iterator[str]:
    for child in node.body:
        match child:
            case ast.FunctionDef(name=name) | ast.ClassDef(name=name):
                yield name
            case ast.AnnAssign(target=ast.Name(id=name)):
                yield name
            case ast.Assign(targets=targets):
                yield from (target.id for target in targets if isinstance(target, ast.Name))


def list_layout_paths() -> set[str]:
    """Return every path that storage/layout.py gives, with placeholders, without a slash at its end."""
    paths = {layout.WAREHOUSE, layout.PUBLISH_LOCK, layout.page_file(), layout.page_record()}
    paths |= {layout.PREFECT_FOLDER, layout.POSTGRES_FOLDER, layout.LOGS_FOLDER, layout.TASKS_FOLDER}
    for name, function in inspect.getmembers(layout, inspect.isfunction):
        if function.__module__ == layout.__name__:
            parameters = list(inspect.signature(function).parameters)
            values = [
                NAMES.get(name, "<name>") if parameter == "name" else PLACEHOLDERS[parameter]
                for parameter in parameters
                if parameter != "setting"
            ]
            paths.add(unquote(function(*values)))
            if "setting" in parameters:
                paths.add(unquote(function(*values, "<setting>")))
    return paths


def test_picture_shows_the_floors() -> None:
    picture = re.search(r"```mermaid\n(.*?)```", read_section("The house"), re.DOTALL)
    assert picture is not None
    labels = dict(re.findall(r'(f\d+)\["(.*?)<br/>', picture[1]))
    shown = [{folder.replace("/", ".") for folder in label.split(" · ")} for label in labels.values()]
    floors = [set(floor) - WITHOUT_MODULES for floor in FLOORS]
    assert shown == [floor for floor in floors if floor]
    (order,) = re.findall(r"f\d+(?: --> f\d+)+", picture[1])
    assert order.split(" --> ") == list(labels)


def test_folders_left_out_of_the_picture_have_no_modules() -> None:
    for folder in WITHOUT_MODULES:
        assert [path.name for path in (REPOSITORY / folder).glob("*.py")] == ["__init__.py"]


def test_every_folder_has_its_line() -> None:
    described = [cells[0] for cells in read_rows("What each folder holds")]
    assert len(described) == len(set(described))
    packages = tomllib.loads((REPOSITORY / "pyproject.toml").read_text(encoding="utf-8"))
    listed = {f"`{name.replace('.', '/')}/`" for name in packages["tool"]["setuptools"]["packages"]}
    assert listed - set(described) == set()
    ignored = {"data", "build", "dist"}
    folders = {
        path.name
        for path in REPOSITORY.iterdir()
        if path.is_dir() and path.name[0] not in "._" and not path.name.endswith(".egg-info")
    }
    assert {f"`{name}/`" for name in folders - ignored} - set(described) == set()


def test_every_line_says_what_is_inside_and_what_is_not() -> None:
    for cells in read_rows("What each folder holds"):
        assert len(cells) == 3
        assert all(cells), cells[0]


def test_every_path_exists() -> None:
    outside = TEXT.replace(read_section("Under the data root"), "")
    spans = {span for span in SPAN.findall(outside) if PATH.fullmatch(span)}
    targets = {target for _, target in list_links()}
    assert len(spans) > 50
    assert sorted(path for path in spans | targets if not (REPOSITORY / path).exists()) == []


@pytest.mark.parametrize(("name", "file"), list_links())
def test_every_name_exists_in_its_file(name: str, file: str) -> None:
    path = REPOSITORY / file
    if path.suffix == ".py":
        assert name in list_names(path), f"{file} defines no {name}: docs/architecture.md is old"
    else:
        assert name in path.read_text(encoding="utf-8"), f"{file} does not mention {name}"


def test_every_path_under_the_data_root_is_explained() -> None:
    explained = {
        span.rstrip("/") for cells in read_rows("Under the data root") for span in SPAN.findall(cells[0])
    }
    assert explained == list_layout_paths()


def test_every_task_leads_to_one_file() -> None:
    rows = read_rows("Where a new thing goes")
    for cells in rows:
        assert len(cells) == 3
        task, place, also = cells
        path = SPAN.fullmatch(place)
        assert LINK.fullmatch(place) or (path and PATH.fullmatch(path[1])), task
        assert also, task
    tasks = [cells[0] for cells in rows]
    assert len(tasks) == len(set(tasks))
    assert [task for task in TASKS if not any(task in each for each in tasks)] == []


def test_a_name_that_is_gone_is_noticed(tmp_path: Path) -> None:
    file = tmp_path / "module.py"
    file.write_text("A: int = 1\nB = C = 2\n\n\nclass D:\n    e: int\n\n    def f(self) -> None: ...\n")
    assert list_names(file) == {"A", "B", "C", "D", "D.e", "D.f"}
