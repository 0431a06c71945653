import gc
import sys
from types import ModuleType

import pytest

from primitives.collector import pause_collector


def test_objects_are_hidden_from_the_collector_only_after_an_import(monkeypatch: pytest.MonkeyPatch) -> None:
    n_hidden = gc.get_freeze_count()
    with pause_collector():
        assert not gc.isenabled()
    assert gc.isenabled()
    assert gc.get_freeze_count() <= n_hidden
    with pause_collector():
        monkeypatch.setitem(sys.modules, "imported", ModuleType("imported"))
    assert gc.get_freeze_count() > n_hidden


def test_a_collector_that_was_disabled_stays_so() -> None:
    gc.disable()
    try:
        with pause_collector():
            pass
        assert not gc.isenabled()
    finally:
        gc.enable()
