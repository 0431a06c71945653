"""Work in threads (order, bound, errors, context, signals), and the garbage collector during imports."""

import gc
import os
import signal
import subprocess
import sys
import threading
import time
from collections.abc import Iterator
from contextvars import ContextVar
from functools import partial
from types import ModuleType

import pytest

from pretexeval.primitives import process
from pretexeval.primitives.process import finish, map_in_threads, pause_collector

NAME = ContextVar("NAME", default="none")


@pytest.fixture(autouse=True)
def _give_two_threads(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(process, "count_threads", lambda: 2)


def test_results_are_in_the_order_of_the_items_with_the_context_of_the_caller() -> None:
    NAME.set("a run")
    second_began = threading.Event()

    def work(n: int) -> tuple[int, str]:
        if n == 0:
            assert second_began.wait(60)
        second_began.set()
        return n, NAME.get()

    assert list(map_in_threads(work, range(5))) == [(n, "a run") for n in range(5)]


def test_few_items_are_taken_before_their_turn() -> None:
    taken: list[int] = []

    def take() -> Iterator[int]:
        for n in range(10):
            taken.append(n)
            yield n

    results = map_in_threads(str, take())
    assert next(results) == "0"
    assert len(taken) == 2


def test_the_first_error_is_raised_and_no_further_item_is_begun() -> None:
    begun: list[int] = []

    def work(n: int) -> None:
        begun.append(n)
        raise ValueError(f"item {n}")

    with pytest.raises(ValueError, match="item 0"):
        list(map_in_threads(work, range(10)))
    assert sorted(begun) in ([0], [0, 1])


def test_a_process_that_hid_objects_of_duckdb_ends_without_a_word() -> None:
    program = "import duckdb; from pretexeval.primitives import process\n"
    program += "with process.pause_collector(): import colorsys"
    done = subprocess.run([sys.executable, "-c", program], capture_output=True, text=True, check=True)
    assert (done.stdout, done.stderr) == ("", "")


def test_objects_are_hidden_from_the_collector_only_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    n_hidden = gc.get_freeze_count()
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() <= n_hidden
    with pause_collector():
        monkeypatch.setitem(sys.modules, "imported", ModuleType("imported"))
    assert gc.get_freeze_count() > n_hidden


def test_work_that_signals_interrupt_is_finished_and_the_interrupt_follows() -> None:
    done: list[str] = []

    def interrupt(*_: object) -> None:
        done.append("signal")
        raise InterruptedError

    def work() -> None:
        for _ in range(2):
            os.kill(os.getpid(), signal.SIGUSR1)
            time.sleep(0.05)
        done.append("work")

    before = signal.signal(signal.SIGUSR1, interrupt)
    try:
        with pytest.raises(InterruptedError):
            finish(work)
        assert signal.getsignal(signal.SIGUSR1) is interrupt
    finally:
        signal.signal(signal.SIGUSR1, before)
    assert done == ["work", "signal"]
    with pytest.raises(ValueError, match="item"):
        finish(partial(int, "item"))
    assert finish(partial(int, "1")) == 1
