"""Wrong labels and swapped prototypes, planted into the pool and the base, are noticed by a trained model."""

import pytest

from benchmarks.planted_errors import run_planted
from engines.model_card import read_taught_facts
from training.__main__ import MODELS

FOLDER = MODELS / "reference-large"


@pytest.mark.slow
def test_planted_errors_are_named_and_little_else(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str], monkeypatch: pytest.MonkeyPatch
) -> None:
    for variable, value in prefect_server.items():
        monkeypatch.setenv(variable, value)
    planted, found = run_planted(tmp_path_factory.mktemp("planted"), [FOLDER])
    assert len(planted.contraries) == len(planted.facts) == 10
    assert planted.contraries <= found["planted"].cells
    known = {(unit.relation, unit.head) for unit in read_taught_facts(FOLDER).known_heads or []}
    assert len(planted.facts & known) >= 5
    assert planted.facts & known <= found["planted"].facts
    assert not found["clean"].cells
    assert not found["planted"].cells - planted.contraries - planted.foreign
    # The model has learned five of 335 heads badly.
    assert len(found["clean"].facts) <= 8
    assert len(found["planted"].facts - planted.facts) <= 8
