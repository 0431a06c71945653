"""The subcommand completion, which prints a script that completes the command in a shell."""

import argparse
from collections.abc import Mapping
from functools import partial
from pathlib import Path

from cli.subcommands import Subcommands, add_command, write_output

PLACES = {
    "bash": "~/.local/share/bash-completion/completions/pretexeval",
    "fish": "~/.config/fish/completions/pretexeval.fish",
    "tcsh": "~/.pretexeval.tcsh",
    "zsh": "~/.zfunc/_pretexeval",
}
"""Shell -> a file for its script. The first two are read by every new shell."""
INSTRUCTIONS = """
The folders must exist (mkdir -p), and the completion begins with the next shell. bash needs the package
bash-completion; without it, source the file in ~/.bashrc. tcsh: add `source ~/.pretexeval.tcsh` to
~/.tcshrc. zsh: add `fpath=(~/.zfunc $fpath); autoload -U compinit; compinit` to ~/.zshrc."""


def add_commands(subcommands: Subcommands, parser: argparse.ArgumentParser) -> None:
    """Add this module's subcommand.

    Args:
        parser: the parser of the whole command, for which the script is made.
    """
    summary = "Print a script that completes commands, options and files in a shell."
    examples = [f"{shell} > {place}" for shell, place in PLACES.items()]
    command = partial(print_completion, parser)
    completion = add_command(subcommands, "completion", command, summary, examples)
    completion.epilog = f"{completion.epilog}\n{INSTRUCTIONS}"
    completion.add_argument("shell", choices=sorted(PLACES))


def print_completion(parser: argparse.ArgumentParser, options: argparse.Namespace) -> int:
    """Print the script for a shell."""
    import shtab

    mark_paths(parser, shtab.FILE, shtab.DIRECTORY)
    write_output(shtab.complete(parser, options.shell))
    return 0


def mark_paths(
    parser: argparse.ArgumentParser, file: Mapping[str, object], folder: Mapping[str, object]
) -> None:
    """Mark the arguments of the parser and of its subcommands that are completed with files or folders.

    Args:
        file: how the shells complete a file.
        folder: how they complete a folder.
    """
    for action in parser._actions:
        if isinstance(action, argparse._SubParsersAction):
            for each in action.choices.values():
                mark_paths(each, file, folder)
        elif action.type is Path:
            # shtab reads this attribute, which argparse does not have.
            vars(action)["complete"] = folder if action.dest == "root" else file
