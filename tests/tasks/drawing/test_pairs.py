"""Balanced pairs, whose tails are as often true as false; and uniform pairs, whose tails are drawn alike."""

from collections import Counter
from collections.abc import Collection, Mapping
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from tasks.drawing import pieces
from tasks.drawing.balanced_pairs import draw_balanced
from tasks.drawing.evidence import Evidence
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.series import SeriesTurn
from tasks.drawing.uniform_pairs import draw_uniform
from tasks.edition.risks import describe_balance
from tasks.edition.triplets import draw_triplets
from tasks.quality.guesses import guess_truth
from tests.support.examples import count_examples
from tests.support.small_bases import (
    as_facts,
    as_rows,
    index_facts,
    needs_reference,
    read_medlama,
    row_lists,
)

SCHEMA = {"head": pl.String, "tail": pl.String}
WORDS = ("renal", "lung", "cell", "acute", "tumor", "pain")


def draw_in_balance(facts: RelationFacts, seed: int = 1, turn: SeriesTurn | None = None) -> pl.DataFrame:
    order = facts.order_heads(str(seed), "cap")
    return draw_balanced(Evidence(facts), Piece("r").select_blocks(order), seed, turn)


def list_possible(facts: RelationFacts) -> dict[str, tuple[set[str], set[str]]]:
    """Return head -> its true tails that are tested, and the tails that may be false of it."""
    heads = facts.heads["head"]
    evidence = Evidence(facts)
    possible = pl.concat(
        pl.DataFrame({"head": head, "tail": facts.tails.filter(pl.Series(is_possible))}, schema=SCHEMA)
        for head, is_possible in zip(heads, evidence.judge(heads).iterate_possible(), strict=True)
    )
    given = facts.list_tested(heads.to_frame("head"))
    tested, false = (frame.group_by("head").agg("tail") for frame in (given, possible))
    return {
        head: (set(tails), set(others or ()))
        for head, tails, others in tested.join(false, on="head", how="left").iter_rows()
    }


def require_balance(facts: RelationFacts, drawn: pl.DataFrame) -> None:
    possible = list_possible(facts)
    for head, positive, negative in drawn.iter_rows():
        true, false = possible[head]
        assert positive in true
        assert negative in false
    assert Counter(drawn["positive"]) == Counter(drawn["negative"])


@given(row_lists(), row_lists(), st.integers(0, 3))
@settings(max_examples=count_examples(30))
def test_tails_of_a_block_balance_and_no_negative_is_true_or_uncertain(
    rows: list[dict[str, Any]], asserted: list[dict[str, Any]], seed: int
) -> None:
    base = as_rows(rows)
    true = set(base.select("head", "tail").iter_rows())
    facts = index_facts(base, as_rows([row for row in asserted if (row["head"], row["tail"]) not in true]))
    with pytest.MonkeyPatch.context() as patch:
        patch.setattr(pieces, "BLOCK_HEADS", 8)
        drawn, plain = draw_in_balance(facts, seed), draw_in_balance(index_facts(base), seed)
        blocks = list(Piece("r").select_blocks(facts.order_heads(str(seed), "cap")))
    assert sum(map(len, blocks)) == facts.heads.height
    for block in blocks:
        pairs = drawn.filter(pl.col("head").is_in(block.implode()))
        assert Counter(pairs["positive"]) == Counter(pairs["negative"])
    given = facts.heads.select("head")
    excluded = facts.exclude(facts.list_true(given), facts.tails.to_frame("tail"))
    assert drawn.join(excluded, left_on=["head", "negative"], right_on=PAIR, how="semi").is_empty()
    require_balance(index_facts(base), plain)


def count_keepable(heads: Mapping[str, tuple[Collection[str], Collection[str]]]) -> int:
    """Return the largest number of heads that can be kept so that every tail is as often true as false.

    In this linear program, each head sends at most one unit from a true tail to a tail that may be false, and
    the flow into a tail equals the flow out of it. It is a network, so the optimum is a whole number.

    Args:
        heads: head -> its true tails, and the tails that may be false of it.
    """
    arcs = [
        (("head", head), ("tail", tail), sign)
        for head, pair in heads.items()
        for tails, sign in zip(pair, (1, -1), strict=True)
        for tail in tails
    ]
    nodes = {end for *ends, _ in arcs for end in ends}
    found = linprog(
        [-(sign > 0) for *_, sign in arcs],
        A_ub=[[int(sign > 0 and end == ("head", head)) for end, _, sign in arcs] for head in heads],
        b_ub=np.ones(len(heads)),
        A_eq=[[sign * (node in ends) for *ends, sign in arcs] for node in nodes],
        b_eq=np.zeros(len(nodes)),
        bounds=(0, 1),
    )
    assert found.status == 0, found.message
    return round(-float(found.fun))


@pytest.mark.long
def test_as_many_heads_are_kept_as_by_the_exact_program() -> None:
    """Up to 20 heads over few tails, of which some are true of many heads and some are related."""
    random = Random(1)
    n_crowded = 0
    for i in range(n_bases := count_examples(160)):
        names = [" ".join(random.sample(WORDS, random.randint(1, 3))) for _ in range(random.randint(2, 9))]
        weights = [random.random() ** random.choice((1, 3, 9)) for _ in names]
        given = {
            f"{random.choice(WORDS)} h{k}": sorted(
                set(random.choices(names, weights, k=random.randint(1, 4)))
            )
            for k in range(random.randint(2, 20))
        }
        facts = index_facts(as_facts(given))
        drawn = draw_in_balance(facts, i)
        require_balance(facts, drawn)
        assert drawn.height == count_keepable(list_possible(facts)), given
        n_crowded += drawn.height < len(given)
    assert n_crowded > n_bases / 8


def test_false_tails_resemble_their_heads_as_true_ones_do() -> None:
    """A draw at random would give 1 of 40 heads a false tail that shares its first word."""
    sites = [letter * 4 for letter in "abcdefghijklmnopqrst"]
    others = sites[3:] + sites[:3]
    facts = {f"{site} tumor": [f"{site} cell"] for site in sites}
    facts |= {f"{site} rash": [f"{other} cell"] for site, other in zip(sites, others, strict=True)}
    drawn = draw_in_balance(index_facts(as_facts(facts)))
    assert drawn.height == 40
    for column in ("positive", "negative"):
        pairs = drawn.select("head", column).iter_rows()
        assert sum(tail.split()[0] in head for head, tail in pairs) == 20


@pytest.mark.long
@needs_reference
def test_pairs_of_medlama_are_balanced_and_resemblance_does_not_reveal_their_labels() -> None:
    """Under uniform negatives, the trained guesser scores 60 % and more.

    Of "occurs_after", half of the heads are allergies whose only true tail is "Allergic sensitization".
    """
    base, n_heads, guessed = read_medlama(), Counter[str](), {}
    guessable = ("disease_has_associated_anatomic_site", "gene_product_plays_role_in_biological_process")
    for relation in base.relations:
        drawn = draw_triplets(base, relation, TripletSampling(1))
        tested = drawn.filter(split="test")
        true, false = (Counter(tested.filter(is_positive=b)["tail"]) for b in (True, False))
        assert true == false
        n_heads[relation] = drawn["head"].n_unique()
        if relation in (*guessable, "occurs_after"):
            share = fmean(guess_truth(relation, tested) == tested["is_positive"])
            guessed[relation] = share, describe_balance([drawn])["is_balanced"]
    assert min(n_heads.values()) > 750
    assert n_heads.total() > 15_000
    share, is_balanced = guessed.pop("occurs_after")
    assert share > 0.7
    assert not is_balanced
    assert all(share <= 0.55 and is_balanced for share, is_balanced in guessed.values())


TURNS = (None, SeriesTurn(1, 5))
# The possible negatives of `a` are the tails t3 to t9; `h` has none.
FACTS = {"a": ["t0", "t1", "t2"], "h": [f"t{i}" for i in range(10)]} | {f"b{i}": [f"t{i}"] for i in range(10)}


def draw_uniformly(facts: RelationFacts, seed: int = 1, turn: SeriesTurn | None = None) -> pl.DataFrame:
    return draw_uniform(Evidence(facts), facts.heads["head"], seed, turn)


@given(row_lists(), st.sampled_from(TURNS))
@settings(max_examples=count_examples(20))
def test_pairs_do_not_depend_on_other_heads(rows: list[dict[str, Any]], turn: SeriesTurn | None) -> None:
    facts = index_facts(as_rows(rows))
    drawn = draw_uniformly(facts, turn=turn)
    heads = facts.heads["head"].sample(fraction=1, shuffle=True, seed=1)
    parts = [draw_uniform(Evidence(facts), part, 1, turn) for part in (heads[:5], heads[5:])]
    assert pl.concat(parts).sort("head").equals(drawn)


@pytest.mark.long
def test_every_possible_tail_is_as_likely_as_another() -> None:
    facts = index_facts(as_facts(FACTS))
    n_seeds = 300
    pairs = pl.concat(draw_uniformly(facts, seed).filter(head="a") for seed in range(n_seeds))
    for column, tails in (("positive", range(3)), ("negative", range(3, 10))):
        counts = Counter(pairs[column])
        assert set(counts) == {f"t{i}" for i in tails}
        expected = n_seeds / len(tails)
        # Five standard deviations of a fair draw.
        assert all(abs(n - expected) < 5 * expected**0.5 for n in counts.values())


def test_all_tails_take_turns_in_a_series() -> None:
    facts = index_facts(as_facts(FACTS))
    first = draw_uniformly(facts, 1, SeriesTurn(1, 4))
    pairs = [draw_uniformly(facts, seed, SeriesTurn(1, 4 + seed)).row(0) for seed in range(8)]
    assert pairs[0] == first.row(0)
    assert {head for head, _, _ in pairs} == {"a"}
    positives, negatives = ([pair[k] for pair in pairs] for k in (1, 2))
    assert sorted(positives[:3]) == ["t0", "t1", "t2"]
    assert positives[3:6] == positives[:3]
    assert sorted(negatives[:7]) == [f"t{i}" for i in range(3, 10)]
    assert negatives[7] == negatives[0]
