"""The timeline names functions of other modules, and attributes time to the innermost of them."""

import importlib
from types import SimpleNamespace

import pytest

from benchmarks import timeline
from benchmarks.timeline import FUNCTIONS, Clock


@pytest.mark.parametrize(("module", "path"), [(module, path) for module, path, _ in FUNCTIONS])
def test_every_timed_function_is_defined_where_it_is_wrapped(module: str, path: str) -> None:
    """A method that a class inherits may be one that the pipeline does not call on it."""
    *classes, name = path.split(".")
    owner = importlib.import_module(module)
    for part in classes:
        owner = getattr(owner, part)
    assert callable(vars(owner)[name])


def test_the_time_of_a_function_excludes_the_timed_functions_that_it_calls(
    monkeypatch: pytest.MonkeyPatch,
) -> None:
    seconds = [0.0]
    monkeypatch.setattr(timeline, "time", SimpleNamespace(monotonic=lambda: seconds[0]))

    def wait(duration: float) -> None:
        seconds[0] += duration

    clock = Clock()
    generate = clock.wrap(wait, "generating")

    def evaluate() -> None:
        wait(1)
        generate(5)
        wait(2)

    clock.wrap(evaluate, "flow evaluate-model, everything else")()
    assert clock.seconds["generating"] == 5
    assert clock.seconds["flow evaluate-model, everything else"] == 3
