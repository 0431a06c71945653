"""Wrong labels and swapped prototypes, planted into the pool and the base, are noticed by a trained model."""

import pytest

from benchmarks.planted_errors import Found, Planted, run_planted
from training.card import MODELS, read_card

NAME = "reference-large"


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> tuple[Planted, dict[str, Found]]:
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in prefect_server.items():
            patch.setenv(variable, value)
        return run_planted(tmp_path_factory.mktemp("planted"), [MODELS / NAME])


@pytest.mark.long
def test_every_swapped_cell_is_named(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert len(planted.contraries) == 10
    assert planted.contraries <= found["planted"].cells


@pytest.mark.long
def test_wrong_facts_about_learned_heads_are_named(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert len(planted.facts) == 10
    known = {(unit.relation, unit.head) for unit in read_card(MODELS / NAME).known_heads}
    assert len(planted.facts & known) >= 5
    assert planted.facts & known <= found["planted"].facts


@pytest.mark.long
def test_little_is_named_where_nothing_is_wrong(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert not found["clean"].cells
    assert not found["planted"].cells - planted.contraries - planted.foreign
    # The model has learned five of 335 heads badly.
    assert len(found["clean"].facts) <= 8
    assert len(found["planted"].facts - planted.facts) <= 8
