from pathlib import Path

from pretexeval.primitives.toml_files import parse_toml, write_toml


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
