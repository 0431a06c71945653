"""Write configurations as TOML."""

import json
from collections.abc import Mapping
from pathlib import Path
from typing import Any


def write_toml(path: Path, tables: Mapping[str, Any]) -> None:
    """Write tables, and lists of tables, to a file. A table within a table is written in one line."""
    lines: list[str] = []
    for name, value in tables.items():
        for table in value if isinstance(value, list) else [value]:
            lines.append(f"[[{name}]]" if isinstance(value, list) else f"[{name}]")
            lines += [f"{key} = {_render_value(item)}" for key, item in table.items()]
    path.write_text("\n".join(lines) + "\n", encoding="utf-8")


def _render_value(value: object) -> str:
    """Return a value in TOML, which is JSON except for tables and for characters beyond 16 bits."""
    if isinstance(value, Mapping):
        return f"{{ {', '.join(f'{_render_value(k)} = {_render_value(v)}' for k, v in value.items())} }}"
    if isinstance(value, list):
        return f"[{', '.join(map(_render_value, value))}]"
    return json.dumps(value, ensure_ascii=False)
