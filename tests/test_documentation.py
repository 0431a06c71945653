"""Every setting is documented, with its default, and nothing else is."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from config.file import Config

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<type>.+?) \| (?P<default>.+?) \| (?P<meaning>.+) \|$")


def list_tables() -> Iterator[tuple[str, type[BaseModel]]]:
    """(heading, model) of every table of the configuration; [[…]] where there may be several."""
    for name, field in Config.model_fields.items():
        if inner := get_args(field.annotation):
            yield f"[[{name}]]", inner[0]
        else:
            assert isinstance(field.annotation, type)
            yield f"[{name}]", field.annotation


def read_section(heading: str) -> dict[str, re.Match[str]]:
    """Key -> its row in the table under the heading."""
    sections = dict(re.findall(r"(?ms)^## `(.+?)`$(.*?)(?=^## |\Z)", PAGE.read_text(encoding="utf-8")))
    found = (ROW.match(line) for line in sections.get(heading, "").splitlines())
    return {match["key"]: match for match in found if match}


def write_default(field: FieldInfo) -> str:
    """The default as the page should say it: as TOML."""
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{json.dumps(value, default=str)}`"


SETTINGS = [
    pytest.param(heading, key, field, id=f"{heading}{key}")
    for heading, table in list_tables()
    for key, field in table.model_fields.items()
]


@pytest.mark.parametrize(("heading", "key", "field"), SETTINGS)
def test_a_setting_is_documented_with_its_default(heading: str, key: str, field: FieldInfo) -> None:
    rows = read_section(heading)
    assert key in rows, f"docs/configuration.md says nothing of {key} under {heading}"
    assert rows[key]["default"] == write_default(field)
    assert rows[key]["meaning"].endswith(".")


def test_what_is_documented_is_a_setting() -> None:
    headings = re.findall(r"^## `(.+)`$", PAGE.read_text(encoding="utf-8"), re.MULTILINE)
    tables = dict(list_tables())
    assert headings == list(tables)
    for heading, table in tables.items():
        assert list(read_section(heading)) == list(table.model_fields)


@pytest.mark.parametrize(("heading", "key", "field"), SETTINGS)
def test_the_values_allowed_are_named(heading: str, key: str, field: FieldInfo) -> None:
    choices = [c for c in _list_choices(field.annotation) if isinstance(c, str)]
    stated = read_section(heading)[key]["type"]
    assert [c for c in choices if f'`"{c}"`' not in stated] == []


def _list_choices(annotation: object) -> Iterator[object]:
    """What stands in the Literals of an annotation."""
    for argument in get_args(annotation):
        if isinstance(argument, str):
            yield argument
        else:
            yield from _list_choices(argument)
