"""Read TOML files that users write, with errors that users can fix, and write values and tables as TOML."""

import json
import os
import re
import tomllib
from collections.abc import Iterable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Any, TypeVar

from pydantic import BaseModel, ValidationError
from pydantic_core import ErrorDetails

from pretexeval.primitives.errors import InputError, count_noun, suggest
from pretexeval.primitives.secrets import hide_secrets

Model = TypeVar("Model", bound=BaseModel)
Table = dict[str, Any]
MAX_DEPTH = 100
_VARIABLE = re.compile(r"\$(?:\{(\w+)\}|(\w+))")
_OTHER_EXPANSION = re.compile(r"\$[{(]")
# Words of pydantic's messages -> words of TOML.
_TOML_WORDS = {
    "Input should": "should",
    "String should": "should",
    "an object": "a table",
    "a valid array": "a list",
}


def parse_toml(path: Path) -> Table:
    """Return the tables of a TOML file.

    Raises:
        InputError: the file cannot be read, or it is not TOML.
    """
    try:
        table = tomllib.loads(path.read_bytes().decode("utf-8-sig"))
        _limit_depth(table)
    # ValueError: also a number with more than 4,300 digits. RecursionError: too many nested brackets.
    except (ValueError, RecursionError) as error:
        raise InputError(f"{path} is not valid TOML: {error}") from error
    except OSError as error:
        raise InputError(
            f"{path} cannot be read: {error.strerror} (relative paths start at {Path.cwd()})"
        ) from error
    return table


def _limit_depth(table: Table) -> None:
    """Raise ValueError if tables and lists are nested too deep for recursive functions."""
    level: list[Any] = [table]
    for _ in range(MAX_DEPTH):
        inner = (
            value
            for container in level
            for value in (container.values() if isinstance(container, dict) else container)
        )
        level = [value for value in inner if isinstance(value, dict | list)]
    if level:
        raise ValueError(f"it nests more than {MAX_DEPTH} tables or lists")


def replace_variables(table: Table, keys: Iterable[Sequence[str]]) -> list[str]:
    """Replace `$NAME` and `${NAME}`, and then `~` at the start, in the keys' values, in place.

    Return one message per variable that is not set, and per value that a shell would read otherwise.
    """
    problems: list[str] = []
    for place, part, key in (text for names in keys for text in _find_texts(table, names)):
        value = part[key]
        shown = f"{place} = {hide_secrets(repr(value))}"
        names = (match[1] or match[2] for match in _VARIABLE.finditer(value))
        unset = (name for name in names if not os.environ.get(name))
        problems += [f"{shown}: the environment variable {name} is not set" for name in unset]
        if _OTHER_EXPANSION.search(_VARIABLE.sub("", value)):
            problems.append(f"{shown}: only $NAME, ${{NAME}} and ~ at the start are replaced")
        replaced = _VARIABLE.sub(_read_variable, value)
        # Python reads a byte of a variable that is not UTF-8 as a surrogate.
        if any("\ud800" <= character <= "\udfff" for character in replaced):
            problems.append(f"{shown}: the value of the variable is not text in UTF-8")
            continue
        try:
            part[key] = expand_home(replaced)
        except ValueError as error:
            problems.append(f"{shown}: {error}")
    return problems


def _find_texts(table: Table, keys: Sequence[str], place: str = "") -> Iterator[tuple[str, Table, str]]:
    """Yield the place of every text under these keys, the table that holds it, and its key in that table."""
    key, *inner = keys
    place, value = f"{place}.{key}".removeprefix("."), table.get(key)
    if not inner and isinstance(value, str):
        yield place, table, key
    for index, part in enumerate(value if inner and isinstance(value, list) else [value]):
        if inner and isinstance(part, dict):
            yield from _find_texts(part, inner, f"{place}[{index}]" if isinstance(value, list) else place)


def expand_home(text: str) -> str:
    """Return a path that a person wrote, with the folder of a user in place of `~` or `~name` at its start.

    Raises:
        ValueError: there is no such user.
    """
    expanded = os.path.expanduser(text)
    if expanded.startswith("~"):
        name = text.partition("/")[0]
        raise ValueError(f"no user has the home folder {name}; write ./{name} for a file of this name")
    return expanded


def _read_variable(match: re.Match[str]) -> str:
    return os.environ.get(match[1] or match[2], match[0])


def check_table(model: type[Model], table: Table, path: Path, problems: Sequence[str]) -> Model:
    """Return the table as an instance of the model.

    Types are strict: a text is not accepted as a number. The table is checked as JSON, because pydantic's
    strict mode then accepts arrays for tuples and texts for paths. JSON has no dates, so dates become texts.

    Args:
        problems: messages about the file to report together with those found here.

    Raises:
        InputError: there is a problem; the message names the file and lists every problem.
    """
    messages = list(problems)
    try:
        checked = model.model_validate_json(json.dumps(table, default=str), strict=True)
    except ValidationError as error:
        messages += [_describe_error(model, detail) for detail in error.errors(include_url=False)]
    if messages:
        head = f"{path} has {count_noun(len(messages), 'problem')}:"
        raise InputError("\n  ".join([head, *messages]))
    return checked


def _describe_error(model: type[BaseModel], detail: ErrorDetails) -> str:
    """Return one line about one wrong key: its place, its value and what is allowed.

    Secrets are hidden, because any wrong value may be a secret that a user pasted into the wrong place.
    """
    location = detail["loc"]
    place = hide_secrets(_render_place(location))
    if detail["type"] == "extra_forbidden":
        # The value is not shown, because it may be a secret, such as an api_key.
        known = list(_find_table(model, location[:-1]).model_fields)
        closest = suggest(str(location[-1]), known, n=1)
        return f"{place} is not a known key{closest}; allowed: {', '.join(known)}"
    if detail["type"] == "missing":
        return f"{place} is missing"
    is_of_tables = _find_table(model, location) is not _find_table(model, location[:-1])
    if isinstance(detail["input"], dict) and detail["type"] == "tuple_type" and is_of_tables:
        return f"{place} may be several tables: write [[{place}]] in place of [{place}]"
    if isinstance(detail["input"], list) and detail["type"] == "model_type":
        return f"{place} is one table: write [{place}] in place of [[{place}]]"
    message = str(detail["msg"])
    if detail["type"] == "value_error":
        return f"{place or 'the file'}: {hide_secrets(message.removeprefix('Value error, '))}"
    for pydantic_word, replacement in _TOML_WORDS.items():
        message = message.replace(pydantic_word, replacement)
    return f"{place}{_render_value(location, detail['input'])}: {message}"


def _render_value(location: Sequence[str | int], value: object) -> str:
    """Return " = value", or nothing if the value may be a key or may contain one."""
    if isinstance(value, dict | list) or "key" in str(location[-1:]):
        return ""
    return f" = {hide_secrets(repr(value))}"


def _render_place(location: Sequence[str | int]) -> str:
    """Return a location as a dotted key, such as `models[0].dtype`."""
    place = ""
    for part in location:
        place += f"[{part}]" if isinstance(part, int) else f".{part}"
    return place.removeprefix(".")


def _find_table(model: type[BaseModel], location: Sequence[str | int]) -> type[BaseModel]:
    """Return the model of the innermost table that contains the location, or is there."""
    for part in location:
        if isinstance(part, str):
            annotation = model.model_fields[part].annotation
            inner = next(iter(getattr(annotation, "__args__", ())), annotation)
            if isinstance(inner, type) and issubclass(inner, BaseModel):
                model = inner
    return model


def write_toml(path: Path, tables: Mapping[str, Any]) -> None:
    """Write tables, and lists of tables, to a file. A table within a table is written in one line."""
    lines: list[str] = []
    for name, value in tables.items():
        for table in value if isinstance(value, list) else [value]:
            lines.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            lines += [f"{key} = {render_toml(item)}" for key, item in table.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def render_toml(value: object) -> str:
    """Return a value in TOML, which is JSON except for tables and for characters beyond 16 bits."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{render_toml(k)} = {render_toml(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(render_toml, value))}]"
    return json.dumps(value, ensure_ascii=False)
