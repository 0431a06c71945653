"""The doubts of negatives: they differ from pair to pair, and hidden truths have larger ones than others."""

from dataclasses import replace

import numpy as np
import polars as pl
import pytest

from pretexeval.primitives.mixing import combine, hash_column
from tasks.drawing.doubts import MIN_SLOPE, Doubts, SimilarHeads, fit_doubts
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import PAIR, RelationFacts, collect_facts
from tasks.edition.triplets import build_triplets
from tests.support.published_bases import needs_reference, read_medlama
from tests.support.small_bases import as_facts, index_facts

SMALL = (
    "disease_has_associated_anatomic_site",
    "disease_has_normal_tissue_origin",
    "disease_may_have_molecular_abnormality",
    "gene_product_has_associated_anatomy",
)


def draw_negatives(facts: RelationFacts) -> pl.DataFrame:
    triplets = build_triplets(Piece(facts.relation), lambda: facts, TripletSampling(1))
    return triplets.filter(~pl.col("is_positive"), split="test")


def test_the_most_similar_head_with_the_tail_is_found() -> None:
    facts = {
        "renal cyst": ["pain"],
        "renal cysts": ["fever"],
        "gout": ["pain", "rash"],
        "renal abscess": ["rash"],
    }
    pairs = pl.DataFrame({"head": ["renal cysts", "gout", "gout"], "tail": ["pain", "fever", "rash"]})
    found = SimilarHeads(index_facts(as_facts(facts))).find_peers(pairs)
    assert found.names.to_list() == ["renal cyst", None, None]
    assert found.evidence[0] > 0.25
    assert found.evidence[1] == 0
    # The head itself does not count.
    assert found.evidence[2] < 0.05


def test_a_regression_tells_listed_facts_by_their_evidence() -> None:
    listed, unlisted = np.repeat([0.0, 50.0], [20, 80]), np.repeat([0.0, 50.0], [80, 20])
    doubts = fit_doubts(listed, unlisted, prior_odds=0.01)
    low, high = doubts.estimate(np.array([0.0, 50.0]))
    # The odds are those of a pair times 20 / 80, and times 80 / 20; the ridge makes them a little more alike.
    assert low == pytest.approx(0.01 / 4, rel=0.2)
    assert high == pytest.approx(0.01 * 4, rel=0.2)


@pytest.mark.parametrize("listed", [[], [0.0], [5.0] * 3])
def test_more_evidence_is_more_doubtful_even_if_the_base_shows_nothing(listed: list[float]) -> None:
    doubts = fit_doubts(np.array(listed), np.array([9.0] * len(listed)), prior_odds=0.1)
    assert doubts == Doubts(doubts.intercept, MIN_SLOPE)
    assert (np.diff(doubts.estimate(np.array([0.0, 1.0, 40.0, 900.0]))) > 0).all()


@needs_reference
@pytest.mark.parametrize(("n_rows", "least"), [(1000, 0.6), pytest.param(None, 0.7, marks=pytest.mark.long)])
def test_hidden_truths_come_early_in_the_order(n_rows: int | None, least: float) -> None:
    """Bases of 1,000 rows, and all of MedLAMA, with 30 % of the facts hidden."""
    base, ranks = read_medlama(), list[float]()
    for relation in SMALL if n_rows else base.relations:
        facts = collect_facts(base, relation)
        listed = facts.rows.filter(~pl.col("also_true")).select(PAIR).unique()
        n_of_heads = listed.join(facts.heads, on="head").group_by("head", "number").len().sort("number")
        heads = n_of_heads.filter(pl.col("len").cum_sum() <= (n_rows or listed.height))["head"]
        listed = listed.filter(pl.col("head").is_in(heads.implode()))
        order = combine("hide", hash_column(listed["head"]), hash_column(listed["tail"]))
        hidden = listed.with_columns(order=order).sort("order").head(3 * listed.height // 10).select(PAIR)
        shown = facts.rows.filter(pl.col("head").is_in(heads.implode())).join(hidden, on=PAIR, how="anti")
        negatives = draw_negatives(replace(facts, rows=shown)).sort("doubt")
        assert negatives["doubt"].null_count() == 0
        assert negatives["doubt"].n_unique() >= 100
        places = negatives.with_columns(rank=pl.col("doubt").rank() / negatives.height)
        ranks += places.join(hidden, on=PAIR, how="semi")["rank"].to_list()
    assert len(ranks) >= (5 if n_rows else 15)
    assert np.mean(ranks) >= least
