"""TOML files that a user writes, checked against a pydantic model; errors that a user can mend."""

import difflib
import json
import os
import re
import tomllib
from collections.abc import Iterable, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from primitives.errors import InputError
from primitives.secrets import hide_secrets

Model = TypeVar("Model", bound=BaseModel)
Table = dict[str, Any]
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
# What pydantic says, in the words of TOML.
_WORDS = {
    "Input should": "should",
    "String should": "should",
    "an object": "a table",
    "a valid array": "a list",
}


def parse_toml(path: Path) -> Table:
    """The tables of a TOML file; raises InputError where it is missing or not TOML."""
    try:
        return tomllib.loads(path.read_bytes().decode("utf-8-sig"))
    except (tomllib.TOMLDecodeError, UnicodeDecodeError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror} (relative paths start at {Path.cwd()})"
        ) from error


def replace_variables(table: Table, keys: Iterable[tuple[str, str]]) -> list[str]:
    """Replace `$NAME` and `${NAME}` in the values of the keys, in place; one line per unset one."""
    problems: list[str] = []
    for section, key in keys:
        value = table.get(section)
        for index, part in enumerate(value if isinstance(value, list) else [value]):
            if isinstance(part, dict) and isinstance(part.get(key), str):
                place = f"{section}[{index}].{key}" if isinstance(value, list) else f"{section}.{key}"
                problems += _find_unset(place, part[key])
                part[key] = _VARIABLE.sub(_read_variable, part[key])
    return problems


def _read_variable(match: re.Match[str]) -> str:
    return os.environ.get(match[1] or match[2], match[0])


def _find_unset(place: str, value: str) -> list[str]:
    names = [match[1] or match[2] for match in _VARIABLE.finditer(value)]
    return [
        f"{place} = {hide_secrets(repr(value))}: the environment variable {name} is not set"
        for name in names
        if not os.environ.get(name)
    ]


def check_table(model: type[Model], table: Table, path: Path, problems: Sequence[str]) -> Model:
    """The model of the table.

    Types are strict: text is no number. Checked as JSON, in which pydantic's strict mode knows
    arrays for tuples and text for paths; dates, which JSON lacks, become text.

    Raises:
        InputError: names the file, the problems given, and every key that is wrong.
    """
    found = list(problems)
    try:
        checked = model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        found += [_describe(model, detail) for detail in error.errors(include_url=False)]
    if found:
        count = "1 problem" if len(found) == 1 else f"{len(found)} problems"
        raise InputError("\n  ".join([f"{path} has {count}:", *found]))
    return checked


def _describe(model: type[BaseModel], detail: ErrorDetails) -> str:
    """One line on one wrong key: its place, its value, what is allowed.

    Whatever stands in a wrong place may be a secret that was pasted there.
    """
    location = detail["loc"]
    place = hide_secrets(_write_place(location))
    if detail["type"] == "extra_forbidden":
        # Its value is not shown: it may be a secret, such as an api_key.
        return f"{place} is not a known key{_suggest(model, location)}"
    if detail["type"] == "missing":
        return f"{place} is missing"
    message = str(detail["msg"])
    if detail["type"] == "value_error":
        return f"{place or 'the file'}: {hide_secrets(message.removeprefix('Value error, '))}"
    for found, replacement in _WORDS.items():
        message = message.replace(found, replacement)
    return f"{place}{_show_value(location, detail['input'])}: {message}"


def _show_value(location: Sequence[str | int], value: object) -> str:
    """The value, unless it stands where a key is likely, or is a table, which may hold one."""
    if isinstance(value, dict | list) or "key" in str(location[-1:]):
        return ""
    return f" = {hide_secrets(repr(value))}"


def _write_place(location: Sequence[str | int]) -> str:
    """A location as a dotted key, as in `models[0].dtype`."""
    place = ""
    for part in location:
        place += f"[{part}]" if isinstance(part, int) else f".{part}"
    return place.removeprefix(".")


def _suggest(model: type[BaseModel], location: Sequence[str | int]) -> str:
    """The keys that are allowed where an unknown one was found, and the closest of them."""
    known = _list_keys(model, location[:-1])
    close = difflib.get_close_matches(str(location[-1]), known, n=1)
    hint = f" (did you mean {close[0]}?)" if close else ""
    return f"{hint}; allowed: {', '.join(known)}"


def _list_keys(model: type[BaseModel], location: Sequence[str | int]) -> list[str]:
    """The keys of the table at a location of the model."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            inner = next(iter(getattr(annotation, "__args__", ())), annotation)
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                model = inner
    return list(model.model_fields)
