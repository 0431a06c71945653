import gc

import pytest

from primitives.collection_pause import pause_collection


def test_collector_runs_again_after_the_last_of_several_pauses() -> None:
    first, second = pause_collection(), pause_collection()
    with first:
        second.__enter__()
    assert not gc.isenabled()
    second.__exit__(None, None, None)
    assert gc.isenabled()


def test_collector_runs_again_after_an_import_that_fails() -> None:
    with pytest.raises(ImportError), pause_collection():
        raise ImportError
    assert gc.isenabled()
