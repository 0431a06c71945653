"""The page docs/configuration.md, rendered from the configuration: ``python -m pretexeval.config.reference``.

Each field has its type, its default and its meaning, which is the string below it, at one place: its class.
Pydantic could read these strings itself (`use_attribute_docstrings`), but it would parse the source files at
every start of the command, which takes 30 ms.
"""

import ast
import inspect
import json
import re
import textwrap
from collections.abc import Iterator
from typing import Any, get_args, get_origin

from pydantic import BaseModel

from pretexeval.config.engines import EngineConfig, WriterConfig
from pretexeval.config.file import PATH_KEYS, Config

SHARED_HEADING = "Keys of both `[[writers]]` and `[[models]]`"
INTRODUCTION = """\
# Configuration

<!-- `make docs` writes this page from the field descriptions in pretexeval/config/. Change it there. -->

One TOML file describes one run: a knowledge base, an edition made from it, and the models to evaluate.
`pretexeval validate FILE` checks it and reports all problems at once. A key can be left out unless it is
required. An unknown key is an error.

- Relative paths start at the working directory.
- In {path_keys},
  `$NAME` and `${{NAME}}` are replaced by the value of that environment variable, and `~` at the start by your
  home folder. All other characters of a path stand for themselves: `*`, `?` and `[1]` are no patterns.

`configs/` has complete examples: `quickstart.toml`, `facets.toml`, `comparison.toml`, `medlama.toml` and
`medqa.toml`; `paper.toml`, `paper-phi3.toml`, `pretexttrans.toml` and `multifaceteval.toml` are those of the
papers.
"""
WIDTH = 120
_PAGE_NAME = re.compile(r"docs/([\w-]+)\.md(#[\w-]+)?")


def render_reference() -> str:
    """Return the whole page: an introduction, then one section per table of the configuration."""
    *keys, last_key = (f"`{'.'.join(keys)}`" for keys in PATH_KEYS)
    introduction = INTRODUCTION.format(path_keys=f"{', '.join(keys)} and {last_key}")
    return "\n".join([introduction, *_render_sections()])


def _render_sections() -> Iterator[str]:
    for name, field in Config.model_fields.items():
        arguments = get_args(field.annotation)
        table = arguments[0] if arguments else field.annotation
        assert isinstance(table, type)
        assert issubclass(table, BaseModel)
        if table is WriterConfig:
            yield _render_section(SHARED_HEADING, EngineConfig)
        is_list = get_origin(field.annotation) is tuple
        yield _render_section(f"`[[{name}]]`" if is_list else f"`[{name}]`", table)


def _render_section(heading: str, table: type[BaseModel]) -> str:
    """Return the heading, the docstring of the table's class, and one item per key of the class itself."""
    schema, meanings = table.model_json_schema(), _read_meanings(table)
    keys = [key for key in inspect.get_annotations(table) if key in table.model_fields]
    items = [_render_key(key, schema["properties"][key], meanings[key]) for key in keys]
    return "\n".join([f"## {heading}\n", _link_pages(inspect.getdoc(table) or ""), "", *items, ""])


def _read_meanings(table: type[BaseModel]) -> dict[str, str]:
    """Return field name -> the string below the field, in the class itself and not in its bases."""
    (definition,) = ast.parse(inspect.getsource(table)).body
    assert isinstance(definition, ast.ClassDef)
    meanings = {}
    for field, below in zip(definition.body, definition.body[1:], strict=False):
        match field, below:
            case ast.AnnAssign(target=ast.Name(id=name)), ast.Expr(value=ast.Constant(value=str(text))):
                meanings[name] = _link_pages(" ".join(text.split()))
    return meanings


def _link_pages(text: str) -> str:
    """Return the text with `docs/rephrasing.md#the-gate` as a link from a page in the same folder."""
    return _PAGE_NAME.sub(r"[\1](\1.md\2)", text)


def _render_key(key: str, schema: dict[str, Any], meaning: str) -> str:
    item = f"- **`{key}`** ({_render_type(schema)}{_render_default(schema)}): {meaning}"
    return textwrap.fill(item, WIDTH, subsequent_indent="  ", break_long_words=False, break_on_hyphens=False)


def _render_default(schema: dict[str, Any]) -> str:
    if "default" not in schema:
        return "; required"
    default = schema["default"]
    return "" if default is None else f"; default `{json.dumps(default)}`"


def _render_type(schema: dict[str, Any]) -> str:
    """Return the type of a JSON schema in words, with the values that it allows."""
    if options := schema.get("anyOf"):
        return ", ".join(_render_type(option) for option in options if option.get("type") != "null")
    if "$ref" in schema:
        return "table"
    if "enum" in schema:
        return ", ".join(f'`"{value}"`' for value in schema["enum"])
    match schema["type"]:
        case "array":
            items = schema["items"]
            if "$ref" in items:
                return "list of tables"
            return f"list of {_render_type(items) if 'enum' in items else 'texts'}"
        case "integer" | "number" as kind:
            return f"{kind}{_render_bounds(schema)}"
        case "string" if schema.get("format") == "path":
            return "path"
        case "string":
            return f"text that matches `{schema['pattern']}`" if "pattern" in schema else "text"
        case "object":
            names = schema.get("propertyNames", {})
            return f"table with the keys {_render_type(names)}" if "enum" in names else "table"
        case kind:
            return str(kind)


def _render_bounds(schema: dict[str, Any]) -> str:
    words = {
        "minimum": "at least",
        "exclusiveMinimum": "greater than",
        "maximum": "at most",
        "exclusiveMaximum": "less than",
    }
    return "".join(f", {said} {schema[word]:g}" for word, said in words.items() if word in schema)


if __name__ == "__main__":
    print(render_reference(), end="")
