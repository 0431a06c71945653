"""The command, with counts of its actions: `python -m tests.support.counted_command COUNTS run CONFIG`.

It writes JSON to the file COUNTS: action -> number of times. For files, actions are `read PATH` and
`hash PATH`.
"""

import functools
import hashlib
import importlib
import json
import sys
from collections import Counter
from collections.abc import Callable
from pathlib import Path
from typing import Any

import polars as pl

from cli import main as command

# Action -> the function that does it: the module that callers look it up in, and its name there.
FUNCTIONS = {
    "read the knowledge base": ("knowledge.reader", "_read_source"),
    "load the pool": ("tasks.edition.planning", "load_pool"),
    "render a prompt": ("tasks.asking.prompts", "PromptForm.render"),
    "hash a prompt": ("tasks.evaluation.requests", "hash_prompt"),
}


def main() -> None:
    """Run the command after the first argument, which names the file, and exit with its status."""
    counts: Counter[str] = Counter()
    target = Path(sys.argv.pop(1))

    def count(
        function: Callable[..., Any], name: Callable[..., str], n: Callable[..., int]
    ) -> Callable[..., Any]:
        @functools.wraps(function)
        def counted(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            counts[name(*args)] += n(*args)
            return function(*args, **kwargs)

        return counted

    for action, (module, path) in FUNCTIONS.items():
        owner: Any = importlib.import_module(module)
        *classes, last = path.split(".")
        for part in classes:
            owner = getattr(owner, part)
        setattr(owner, last, count(getattr(owner, last), lambda *_, a=action: a, lambda *_: 1))
    attempts: Any = importlib.import_module("tasks.edition.attempts")
    attempts.check_rewordings = count(
        attempts.check_rewordings, lambda *_: "gate a rewording", lambda rows, _: rows.height
    )
    read: Any = count(pl.read_parquet, lambda path, *_: f"read {path}", lambda *_: 1)
    pl.read_parquet = read
    digest: Any = count(hashlib.file_digest, lambda file, *_: f"hash {file.name}", lambda *_: 1)
    hashlib.file_digest = digest
    run = command.main

    def run_counted() -> int:
        status = run()
        target.write_text(json.dumps(counts))
        return status

    command.main = run_counted  # type: ignore[assignment]
    command.run()


if __name__ == "__main__":
    main()
