"""What the questions need of the bundled base."""

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import draw_triplets

DISEK = ("symptoms", "affected_sites", "therapeutic_drugs", "surgical_procedures")
N_POINTS = 40
# A negated question with four options has one false option, and three that are true and tested.
N_TRUE = 3


@pytest.mark.parametrize("relation", DISEK)
def test_enough_tested_heads_have_three_true_tails(relation: str) -> None:
    base = read_knowledge_base(KnowledgeConfig(relations=(relation,)))
    rows, drawn = base.triplets, draw_triplets(base, relation, TripletSampling(seed=1))
    pairs = drawn.filter(pl.col("split") == "test")
    n_true = rows.filter(~pl.col("also_true")).group_by("head").agg(pl.col("tail").n_unique())
    rich = set(n_true.filter(pl.col("tail") >= N_TRUE)["head"]) & set(pairs["head"])
    assert set(drawn["head"]) == set(n_true["head"])
    assert len(rich) >= N_POINTS
