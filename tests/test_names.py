"""One name, one meaning: classes across the project, and the files under the data root."""

import ast
from collections import defaultdict
from collections.abc import Iterator

from storage.layout import MANIFEST, MODEL, PUBLISH_LOCK, REVIEW_KEY, RUN, WAREHOUSE
from tests.test_imports import list_modules, read

FILE_NAMES = (MANIFEST, MODEL, PUBLISH_LOCK, REVIEW_KEY, RUN, WAREHOUSE)


def find_classes(source: str) -> Iterator[str]:
    return (node.name for node in ast.walk(ast.parse(source)) if isinstance(node, ast.ClassDef))


def find_file_names(source: str) -> list[str]:
    """The texts in the code that end in the name of a file under the data root; docstrings do not count."""
    texts = [
        node.value
        for node in ast.walk(ast.parse(source))
        if isinstance(node, ast.Constant) and isinstance(node.value, str)
    ]
    return [text for text in texts if text in FILE_NAMES or text.endswith(tuple(f"/{n}" for n in FILE_NAMES))]


def test_a_class_name_stands_for_one_class() -> None:
    places = defaultdict(list)
    for module in list_modules():
        for name in find_classes(read(module)):
            places[name].append(module)
    assert {name: modules for name, modules in places.items() if len(modules) > 1} == {}


def test_names_of_files_under_the_data_root_stand_in_one_module() -> None:
    found = {module: names for module in list_modules() if (names := find_file_names(read(module)))}
    assert list(found) == ["storage/layout.py"]


def test_a_repeated_name_is_found() -> None:
    assert list(find_classes("class A:\n    class B: ...")) == ["A", "B"]
    assert find_file_names(f"x = root / {RUN!r}\ny = f'{{a}}/{RUN}'") == [RUN, f"/{RUN}"]
    assert find_file_names(f'"""{RUN} is a record."""') == []
