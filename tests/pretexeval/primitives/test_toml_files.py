from pathlib import Path

import pytest

from pretexeval.config.file import load_config
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import MAX_DEPTH, parse_toml, write_toml


def test_written_tables_are_read_back(tmp_path: Path) -> None:
    tables = {
        "edition": {"seed": 1, "methods": ["pretexeval", "direct"], "label": 'a "b"\n→ 🩺'},
        "judge": {},
        "models": [
            {"name": "one", "extra_body": {"top_p": 0.5, "chat_template_kwargs": {"enable_thinking": False}}},
            {"name": "two", "listed": [{"a b": 1}]},
        ],
    }
    write_toml(tmp_path / "config.toml", tables)
    assert parse_toml(tmp_path / "config.toml") == tables


@pytest.mark.parametrize("depth", [MAX_DEPTH + 1, 950, 5_000])
def test_deep_tables_and_lists_are_one_message(tmp_path: Path, depth: int) -> None:
    file = tmp_path / "config.toml"
    dotted = ".".join(["a"] * depth)
    for text in (
        f"{dotted} = 1",
        f"[knowledge]\n{dotted} = 1",
        f"[{dotted}]",
        f"x = {'[' * depth}{']' * depth}",
    ):
        file.write_text(text, encoding="utf-8")
        with pytest.raises(
            InputError, match=r"config\.toml is not valid TOML: (it nests more|maximum recursion)"
        ):
            load_config(file)
    file.write_text(f"{'.'.join(['a'] * MAX_DEPTH)} = 1", encoding="utf-8")
    assert parse_toml(file)
