"""Measure the parts of one command: ``python -m benchmarks.timeline evaluate CONFIG``.

This runs the command with a clock around the functions that take long, and writes one line of JSON to stderr.
The time of a function does not include the time of other timed functions that it calls.
"""

import functools
import importlib
import json
import sys
import time
from collections.abc import Callable
from typing import Any

from benchmarks.processes import FinishedProcess
from cli import main as cli
from report.console import align

MARK = "timeline: "
COMMAND, EXIT = "the command, everything else", "starting and ending Python"
# Module, function, and label. The order is that of the first calls. A module that imports one of these
# functions by name, as tasks.asking.model_session does with load_engine, must be imported after `main` has
# wrapped the function.
FUNCTIONS = (
    ("cli.in_process", "prepare_prefect", "starting Prefect's server"),
    ("cli.in_process", "wait_for_server", "waiting for Prefect's server"),
    ("cli.in_process", "run_build", "flow build-test-set, with every stage reused"),
    ("cli.in_process", "run_evaluations", "flow evaluate-model, everything else"),
    ("engines.loading", "load_engine", "loading vLLM and the model"),
    ("tasks.evaluation.requests", "build_requests", "rendering prompts and hashing them"),
    ("engines.vllm_engine", "VllmEngine.generate_into", "generating"),
    ("storage.responses", "ResponseStore.append", "storing responses"),
    ("engines.vllm_engine", "VllmEngine.close", "closing the engine"),
    ("tasks.evaluation.scoring", "score_evaluation", "scoring answers"),
    ("tasks.quality.validation", "_run_expectations", "Great Expectations, including its import"),
)


class Clock:
    """Adds up the seconds of wrapped functions, each without the wrapped functions that it calls."""

    def __init__(self) -> None:
        """Set the time of every function to 0."""
        self.seconds: dict[str, float] = {COMMAND: 0.0} | {label: 0.0 for _, _, label in FUNCTIONS}
        self._running: list[str] = []
        self._since = 0.0

    def wrap(self, function: Callable[..., Any], label: str) -> Callable[..., Any]:
        """Return the function with a clock that adds its seconds to ``label``."""

        @functools.wraps(function)
        def timed(*args: Any, **kwargs: Any) -> Any:  # noqa: ANN401
            self._switch()
            self._running.append(label)
            try:
                return function(*args, **kwargs)
            finally:
                self._switch()
                self._running.pop()

        return timed

    def _switch(self) -> None:
        now = time.monotonic()
        if self._running:
            self.seconds[self._running[-1]] += now - self._since
        self._since = now


def read_timeline(finished: FinishedProcess) -> str:
    """Return the table of parts of a process that ran this module; the seconds add up to its wall time."""
    line = next(line for line in finished.stderr.splitlines() if line.startswith(MARK))
    seconds: dict[str, float] = json.loads(line.removeprefix(MARK))
    seconds[EXIT] = finished.wall_s - sum(seconds.values())
    rows = [[label, f"{value:.1f}", f"{value / finished.wall_s:.0%}"] for label, value in seconds.items()]
    return align(["part", "seconds", "share"], rows)


def main() -> None:
    """Wrap the functions, run the command, and write the times."""
    clock = Clock()
    for module, path, label in FUNCTIONS:
        owner: Any = importlib.import_module(module)
        *classes, name = path.split(".")
        for part in classes:
            owner = getattr(owner, part)
        setattr(owner, name, clock.wrap(getattr(owner, name), label))
    command = clock.wrap(cli.main, COMMAND)

    def run_and_report() -> int:
        status: int = command()
        print(MARK + json.dumps(clock.seconds), file=sys.stderr)
        return status

    # cli.run is the entry point of the process; it calls main.
    cli.main = run_and_report  # type: ignore[assignment]
    cli.run()


if __name__ == "__main__":
    main()
