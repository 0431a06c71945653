"""How natural the bundled wordings are, as measured."""

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from prototypes.naturalness import FILE, describe_naturalness
from prototypes.pool import load_pool

POOL = load_pool("revised")


def test_the_wordings_of_the_starter_base_were_measured_as_they_are() -> None:
    """After a change of a wording: `python -m benchmarks --only naturalness MODEL --write`."""
    relations = read_knowledge_base(KnowledgeConfig()).relations
    found = describe_naturalness(POOL, relations)
    assert found["n_relations"] == len(relations)
    assert found["n_wordings"] == sum(
        len(cell.texts) for name in relations for cell in POOL.select_relation(name).cells.values()
    )
    assert found["mean_excess"] < -0.6
    assert found["stilted_rate"] < 0.1


def test_relations_count_by_their_wordings_and_unmeasured_ones_do_not() -> None:
    rows = pl.read_csv(FILE, separator="\t").head(2)
    names = rows["relation"].to_list()
    found = describe_naturalness(POOL, [*names, "has_target"])
    assert found["n_relations"] == 2
    assert found["stilted_rate"] == sum(rows["n_stilted"]) / sum(rows["n_wordings"])
    assert found["mean_excess"] == pytest.approx(rows["mean_excess"].mean(), abs=0.001)
    assert describe_naturalness(POOL, ["has_target"]) == {}
