"""Draws of editions of format 2: what must hold for every base, and pairs that must never change."""

from collections import Counter
from typing import Any

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from tasks.drawing import pieces
from tasks.drawing.block_pairs import draw_blocks
from tasks.drawing.candidates import collect_candidates
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.planned_heads import plan_heads
from tasks.drawing.related_names import exclude_related
from tasks.drawing.relation_facts import RelationFacts
from tasks.drawing.series import SeriesTurn
from tests.support.small_bases import as_facts, as_rows, make_facts, row_lists

NO_FALSE = as_rows([])


def index(rows: pl.DataFrame, also_false: pl.DataFrame = NO_FALSE) -> RelationFacts:
    return RelationFacts("r", rows, also_false.drop("also_true"))


def draw(facts: RelationFacts, seed: int = 1, turn: SeriesTurn | None = None) -> pl.DataFrame:
    order = facts.order_heads(str(seed), "cap")
    return draw_blocks(facts, Piece("r").select_blocks(order), seed, turn)


@given(row_lists(), row_lists(), st.integers(0, 3))
def test_tails_balance_and_no_negative_is_true_or_uncertain(
    rows: list[dict[str, Any]], asserted: list[dict[str, Any]], seed: int
) -> None:
    base = as_rows(rows)
    true = set(base.select("head", "tail").iter_rows())
    also_false = as_rows([row for row in asserted if (row["head"], row["tail"]) not in true])
    drawn = draw(index(base, also_false), seed)
    candidates = exclude_related(collect_candidates("r", base, also_false))
    heads = {head.name: head for head in candidates.heads}
    for head, positive, negative in drawn.iter_rows():
        assert positive in heads[head].tails
        assert negative not in heads[head].excluded
    assert Counter(drawn["positive"]) == Counter(drawn["negative"])


@given(row_lists(), st.randoms(use_true_random=False))
@settings(max_examples=30)
def test_draws_do_not_depend_on_the_order_of_rows(rows: list[dict[str, Any]], random: Any) -> None:  # noqa: ANN401
    shuffled = random.sample(rows, len(rows))
    turn = SeriesTurn(1, random.randrange(9))
    for given_turn in (None, turn):
        one, other = (draw(index(as_rows(each)), 1, given_turn) for each in (rows, shuffled))
        assert one.equals(other)


def test_draws_do_not_depend_on_the_size_of_pieces(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(pieces, "BLOCK_HEADS", 8)
    facts = index(as_facts(make_facts(60, 9)))
    planned = plan_heads(facts, TripletSampling(1))
    whole = draw_blocks(facts, Piece("r").select_blocks(planned.tested), 1)
    monkeypatch.setattr(pieces, "PIECE_BLOCKS", 2)
    cut = pieces.cut_relations({"r": 60}, None)
    parts = [draw_blocks(facts, piece.select_blocks(planned.tested), 1) for piece in cut]
    assert [piece.name for piece in cut] == ["r", "r.0002", "r.0003", "r.0004"]
    assert pl.concat(parts).sort("head").equals(whole)
    assert whole.height > 40


def test_asserted_negatives_are_preferred() -> None:
    facts = as_facts({f"h{i}": [f"t{i}"] for i in range(12)})
    also_false = as_facts({f"h{i}": [f"t{(i + 5) % 12}"] for i in range(12)})
    drawn = draw(index(facts, also_false))
    assert (
        drawn.select("head", tail="negative")
        .sort("head")
        .equals(also_false.select("head", "tail").sort("head"))
    )


def test_false_tails_resemble_their_heads_as_true_ones_do() -> None:
    """A draw at random would give 1 of 40 heads a false tail that shares its first word."""
    sites = [letter * 4 for letter in "abcdefghijklmnopqrst"]
    others = sites[3:] + sites[:3]
    facts = {f"{site} tumor": [f"{site} cell"] for site in sites}
    facts |= {f"{site} rash": [f"{other} cell"] for site, other in zip(sites, others, strict=True)}
    drawn = draw(index(as_facts(facts)))
    assert drawn.height == 40
    for column in ("positive", "negative"):
        pairs = drawn.select("head", column).iter_rows()
        assert sum(tail.split()[0] in head for head, tail in pairs) == 20


def test_demonstrations_do_not_depend_on_the_seed_and_are_not_tested() -> None:
    facts = index(as_facts(make_facts(40, 7) | {"all": [f"tail {i}" for i in range(7)]}))
    plans = [plan_heads(facts, TripletSampling(seed)) for seed in range(3)]
    assert all(plan.demonstrations.equals(plans[0].demonstrations) for plan in plans)
    held_out = plans[0].demonstrations
    true = set(facts.rows.select("head", "tail").iter_rows())
    assert held_out.height == 5
    assert "all" not in set(held_out["head"])
    assert not true.intersection(held_out.select("head", "negative").iter_rows())
    assert set(held_out["head"]).isdisjoint(plans[0].tested)
    assert plans[0].tested.to_list() != plans[1].tested.to_list()


def test_pairs_of_stored_editions_never_change() -> None:
    assert draw(index(as_facts(make_facts(12, 5)))).rows()[:4] == [
        ("head 0", "tail 0", "tail 4"),
        ("head 1", "tail 4", "tail 0"),
        ("head 10", "tail 1", "tail 4"),
        ("head 11", "tail 4", "tail 2"),
    ]
