"""What the questions need of the bundled base."""

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import FOLDER, read_knowledge_base
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


# The part of an organ, and the organ. A head that affects the part affects the organ.
PARTS = {
    "left ventricle": "heart",
    "left atrium": "heart",
    "coronary artery": "heart",
    "aortic valve": "heart",
    "cerebral cortex": "brain",
    "hippocampus": "brain",
    "basal ganglia": "brain",
    "substantia nigra": "brain",
    "macula": "retina",
    "saphenous vein": "leg vein",
    "tympanic membrane": "middle ear",
}


def test_a_head_that_affects_a_part_affects_the_organ() -> None:
    rows = pl.read_csv(FOLDER / "affected_sites.tsv", separator="\t", quote_char=None)
    stated = set(rows.select("head", "tail").iter_rows())
    assert set(PARTS) <= set(rows["tail"])
    missing = {(h, PARTS[t]) for h, t in stated if t in PARTS} - stated
    assert not missing
