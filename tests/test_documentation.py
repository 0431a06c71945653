"""docs/configuration.md is what the configuration says: every setting with its default, and nothing else."""

import json
import re
from collections.abc import Iterator
from pathlib import Path
from typing import get_args, get_origin

import pytest
from pydantic import BaseModel
from pydantic.fields import FieldInfo

from config.engines import EngineConfig
from config.file import Config
from config.reference import SHARED_HEADING, render_reference

PAGE = Path(__file__).parents[1] / "docs" / "configuration.md"
ROW = re.compile(r"^\| `(?P<key>\w+)` \| (?P<type>.+?) \| (?P<default>.+?) \| (?P<meaning>.+) \|$")
HEADING = re.compile(r"^## (.+)$", re.MULTILINE)


def list_tables() -> Iterator[tuple[str, type[BaseModel]]]:
    """Yield (heading, model) of every table of the configuration; [[…]] where there may be several."""
    for name, field in Config.model_fields.items():
        inner = get_args(field.annotation)
        if get_origin(field.annotation) is tuple:
            yield f"`[[{name}]]`", inner[0]
        else:
            table = inner[0] if inner else field.annotation
            assert isinstance(table, type)
            yield f"`[{name}]`", table


def read_section(heading: str) -> dict[str, re.Match[str]]:
    """Return key -> its row in the table under the heading."""
    _, *parts = HEADING.split(PAGE.read_text(encoding="utf-8"))
    sections = dict(zip(parts[::2], parts[1::2], strict=True))
    found = (ROW.match(line) for line in sections.get(heading, "").splitlines())
    return {match["key"]: match for match in found if match}


def read_table(heading: str, table: type[BaseModel]) -> dict[str, re.Match[str]]:
    """Return key -> its row, also for the keys that several tables share."""
    shared = read_section(SHARED_HEADING) if issubclass(table, EngineConfig) else {}
    own = read_section(heading)
    assert not shared.keys() & own.keys()
    return shared | own


def render_default(field: FieldInfo) -> str:
    """Return the default as the page should say it: as TOML."""
    if field.is_required():
        return "*required*"
    value = field.get_default(call_default_factory=True)
    return "none" if value is None else f"`{json.dumps(value, default=str)}`"


SETTINGS = [
    pytest.param(heading, table, key, field, id=f"{heading.strip('`')}{key}")
    for heading, table in list_tables()
    for key, field in table.model_fields.items()
]


def test_page_is_rendered_from_the_configuration() -> None:
    assert PAGE.read_text(encoding="utf-8") == render_reference(), "docs/configuration.md is old: make docs"


@pytest.mark.parametrize(("heading", "table", "key", "field"), SETTINGS)
def test_setting_is_documented_with_its_default(
    heading: str, table: type[BaseModel], key: str, field: FieldInfo
) -> None:
    rows = read_table(heading, table)
    assert key in rows, f"docs/configuration.md says nothing of {key} under {heading}"
    assert rows[key]["default"] == render_default(field)
    assert rows[key]["meaning"].endswith(".")


def test_nothing_is_documented_that_is_no_setting() -> None:
    tables = dict(list_tables())
    headings = HEADING.findall(PAGE.read_text(encoding="utf-8"))
    assert headings.pop(headings.index("`[[writers]]`") - 1) == SHARED_HEADING
    assert headings == list(tables)
    assert list(read_section(SHARED_HEADING)) == list(EngineConfig.model_fields)
    for heading, table in tables.items():
        assert list(read_table(heading, table)) == list(table.model_fields)


@pytest.mark.parametrize(("heading", "table", "key", "field"), SETTINGS)
def test_allowed_values_are_named(heading: str, table: type[BaseModel], key: str, field: FieldInfo) -> None:
    choices = [c for c in _list_choices(field.annotation) if isinstance(c, str)]
    stated = read_table(heading, table)[key]["type"]
    assert [c for c in choices if f'`"{c}"`' not in stated] == []


def _list_choices(annotation: object) -> Iterator[object]:
    """Yield the values in the Literals of an annotation."""
    for argument in get_args(annotation):
        if isinstance(argument, str):
            yield argument
        else:
            yield from _list_choices(argument)
