"""The subcommand init, which writes a configuration and a small base with a relation of its own."""

import argparse
from pathlib import Path

from cli.subcommands import Subcommands, add_command, write_output
from primitives.errors import InputError

HERE = Path(__file__).parents[1]
SCAFFOLD = HERE / "configs" / "scaffold"
MODELS = HERE / "models"


def add_commands(subcommands: Subcommands) -> None:
    """Add this module's subcommand."""
    summary = "Write a configuration, a small knowledge base and its prototypes, to replace them by yours."
    parser = add_command(subcommands, "init", create_scaffold, summary, ["", "mine"])
    parser.add_argument(
        "folder", type=Path, nargs="?", default=Path(), help="the folder (default: the one you are in)"
    )


def create_scaffold(options: argparse.Namespace) -> int:
    """Write the files unless one of them exists; print what they are and what comes next."""
    contents = build_files()
    if existing := [name for name in contents if (options.folder / name).exists()]:
        raise InputError(
            f"{options.folder / existing[0]} exists already, and nothing was written: choose another folder"
        )
    from storage.files import write_bytes

    for name, content in contents.items():
        write_bytes(options.folder / name, content.encode())
        write_output(options.folder / name)
    start = "" if options.folder == Path() else f"cd {options.folder}\n"
    next_steps = "\n".join(f"pretexeval {command} config.toml" for command in ("validate", "preview", "run"))
    write_output(f"\n{start}{next_steps}")
    return 0


def build_files() -> dict[str, str]:
    """Return path within the folder -> content of every file of a scaffold."""
    files = {
        path.relative_to(SCAFFOLD).as_posix(): path.read_text(encoding="utf-8")
        for path in sorted(SCAFFOLD.rglob("*"))
        if path.is_file()
    }
    files["config.toml"] = files["config.toml"].replace("@MODELS@", MODELS.as_posix())
    return files
