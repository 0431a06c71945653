"""Where the time of one command goes: ``python -m benchmarks.timeline evaluate CONFIG``.

Runs the command with a clock around the functions that take long, and writes one line of JSON to
stderr. The seconds of a function are its own, less those of the functions below it in the table.
"""

import functools
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.processes import Finished
from cli import main as cli
from report.console import align

MARK = "timeline: "
COMMAND, EXIT = "the command, all else", "starting and ending Python"
# Where the function is, and what of it is to be read. In the order in which they are first called;
# tasks.asking.model_session takes load_engine when it is imported, so that one is wrapped before.
FUNCTIONS = (
    ("cli.in_process", "prepare_prefect", "starting Prefect's server"),
    ("cli.in_process", "wait_for_server", "waiting for it"),
    ("cli.in_process", "run_build", "flow build-test-set, every stage reused"),
    ("cli.in_process", "run_evaluations", "flow evaluate-model, all else"),
    ("engines.load", "load_engine", "loading vLLM and the model"),
    ("tasks.evaluation.evaluation", "build_requests", "writing prompts and their keys, twice"),
    ("engines.vllm_engine", "VllmEngine.generate", "generating"),
    ("storage.responses", "ResponseStore.append", "keeping responses"),
    ("engines.vllm_engine", "VllmEngine.close", "closing the engine"),
    ("tasks.evaluation.scoring", "score_evaluation", "judging answers"),
    ("tasks.quality.validation", "_run_expectations", "Great Expectations, its import included"),
)


class Clock:
    """Adds up the seconds of wrapped functions, each without those that it calls."""

    def __init__(self) -> None:
        """Every function at 0."""
        self.seconds: dict[str, float] = {COMMAND: 0.0} | {label: 0.0 for _, _, label in FUNCTIONS}
        self._running: list[str] = []
        self._since = 0.0

    def wrap(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        """The function, with its seconds added to ``label``."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self._turn()
            self._running.append(label)
            try:
                return function(*args, **kwargs)
            finally:
                self._turn()
                self._running.pop()

        return timed

    def _turn(self) -> None:
        now = time.monotonic()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


def read_timeline(finished: Finished) -> str:
    """The table of a process that ran this module; the seconds add up to its wall time."""
    line = next(line for line in finished.stderr.splitlines() if line.startswith(MARK))
    seconds: dict[str, float] = json.loads(line.removeprefix(MARK))
    seconds[EXIT] = finished.wall_s - sum(seconds.values())
    rows = [[label, f"{value:.1f}", f"{value / finished.wall_s:.0%}"] for label, value in seconds.items()]
    return align(["part", "seconds", "share"], rows)


def main() -> None:
    """Run the command."""
    clock = Clock()
    for module, path, label in FUNCTIONS:
        owner: Any = importlib.import_module(module)
        *classes, name = path.split(".")
        for part in classes:
            owner = getattr(owner, part)
        setattr(owner, name, clock.wrap(getattr(owner, name), label))
    command = clock.wrap(cli.main, COMMAND)

    def tell() -> int:
        status: int = command()
        print(MARK + json.dumps(clock.seconds), file=sys.stderr)
        return status

    # cli.run is the process, and calls main.
    cli.main = tell  # type: ignore[assignment]
    cli.run()


if __name__ == "__main__":
    main()
