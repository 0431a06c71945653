"""Uniform pairs: every possible tail is as likely as another, and in a series all of them take turns."""

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.drawing.evidence import Evidence
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import SeriesTurn
from tasks.drawing.uniform_pairs import draw_uniform
from tests.support.examples import count_examples
from tests.support.small_bases import as_facts, as_rows, index_facts, row_lists

TURNS = (None, SeriesTurn(1, 5))
# The possible negatives of `a` are the tails t3 to t9; `h` has none.
FACTS = {"a": ["t0", "t1", "t2"], "h": [f"t{i}" for i in range(10)]} | {f"b{i}": [f"t{i}"] for i in range(10)}


def draw(facts: RelationFacts, seed: int = 1, turn: SeriesTurn | None = None) -> pl.DataFrame:
    return draw_uniform(Evidence(facts), facts.heads["head"], seed, turn)


@given(row_lists(), st.sampled_from(TURNS))
@settings(max_examples=count_examples(20))
def test_pairs_do_not_depend_on_other_heads(rows: list[dict[str, Any]], turn: SeriesTurn | None) -> None:
    facts = index_facts(as_rows(rows))
    drawn = draw(facts, turn=turn)
    heads = facts.heads["head"].sample(fraction=1, shuffle=True, seed=1)
    parts = [draw_uniform(Evidence(facts), part, 1, turn) for part in (heads[:5], heads[5:])]
    assert pl.concat(parts).sort("head").equals(drawn)


@pytest.mark.long
def test_every_possible_tail_is_as_likely_as_another() -> None:
    facts = index_facts(as_facts(FACTS))
    n_seeds = 300
    pairs = pl.concat(draw(facts, seed).filter(head="a") for seed in range(n_seeds))
    for column, tails in (("positive", range(3)), ("negative", range(3, 10))):
        counts = Counter(pairs[column])
        assert set(counts) == {f"t{i}" for i in tails}
        expected = n_seeds / len(tails)
        # Five standard deviations of a fair draw.
        assert all(abs(n - expected) < 5 * expected**0.5 for n in counts.values())


def test_heads_of_an_edition_draw_independently() -> None:
    """Half of the tails are drawn by some head; if all heads drew the same one, few would be."""
    facts = index_facts(as_facts({f"h{i}": [f"t{i}"] for i in range(200)}))
    n_drawn = draw(facts)["negative"].n_unique()
    assert 100 < n_drawn < 150


def test_all_tails_take_turns_in_a_series() -> None:
    facts = index_facts(as_facts(FACTS))
    first = draw(facts, 1, SeriesTurn(1, 4))
    pairs = [draw(facts, seed, SeriesTurn(1, 4 + seed)).row(0) for seed in range(8)]
    assert pairs[0] == first.row(0)
    assert {head for head, _, _ in pairs} == {"a"}
    positives, negatives = ([pair[k] for pair in pairs] for k in (1, 2))
    assert sorted(positives[:3]) == ["t0", "t1", "t2"]
    assert positives[3:6] == positives[:3]
    assert sorted(negatives[:7]) == [f"t{i}" for i in range(3, 10)]
    assert negatives[7] == negatives[0]


def test_generalisations_are_no_negatives_unless_the_evidence_is_off() -> None:
    rows = as_facts({"h": ["Acute Pain"], "i": ["Pain"]})
    assert draw(index_facts(rows)).rows() == [("i", "Pain", "Acute Pain")]
    both = [("h", "Acute Pain", "Pain"), ("i", "Pain", "Acute Pain")]
    assert draw(index_facts(rows, evidence=())).rows() == both
