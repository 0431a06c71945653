"""Balanced pairs: what must hold for every base, and pairs that must never change."""

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

from tasks.drawing.balanced_pairs import draw_balanced
from tasks.drawing.evidence import Evidence
from tasks.drawing.heads import TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import PAIR, RelationFacts
from tasks.drawing.series import SeriesTurn
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


def draw(facts: RelationFacts, seed: int = 1, turn: SeriesTurn | None = None) -> pl.DataFrame:
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
def test_tails_balance_and_no_negative_is_true_or_uncertain(
    rows: list[dict[str, Any]], asserted: list[dict[str, Any]], seed: int
) -> None:
    base = as_rows(rows)
    true = set(base.select("head", "tail").iter_rows())
    facts = index_facts(base, as_rows([row for row in asserted if (row["head"], row["tail"]) not in true]))
    drawn = draw(facts, seed)
    given = facts.heads.select("head")
    excluded = facts.exclude(facts.list_true(given), facts.tails.to_frame("tail"))
    assert drawn.join(excluded, left_on=["head", "negative"], right_on=PAIR, how="semi").is_empty()
    assert Counter(drawn["positive"]) == Counter(drawn["negative"])
    require_balance(index_facts(base), draw(index_facts(base), seed))


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
        drawn = draw(facts, i)
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
    drawn = draw(index_facts(as_facts(facts)))
    assert drawn.height == 40
    for column in ("positive", "negative"):
        pairs = drawn.select("head", column).iter_rows()
        assert sum(tail.split()[0] in head for head, tail in pairs) == 20


def measure_overlap(relation: str) -> tuple[float, dict[str, Any]]:
    """Return what the trained guesser scores on a relation of MedLAMA, and what the manifest says of it."""
    frame = draw_triplets(read_medlama(), relation, TripletSampling(1))
    tested = frame.filter(split="test")
    is_right = guess_truth(relation, tested) == tested["is_positive"]
    return fmean(is_right), describe_balance([frame])


@pytest.mark.long
@needs_reference
@pytest.mark.parametrize(
    "relation", ["disease_has_associated_anatomic_site", "gene_product_plays_role_in_biological_process"]
)
def test_resemblance_does_not_reveal_the_label_on_medlama(relation: str) -> None:
    """Under uniform negatives, the guesser scores 60 % and more."""
    share, balance = measure_overlap(relation)
    assert share <= 0.55
    assert balance["is_balanced"]


@pytest.mark.long
@needs_reference
def test_tails_of_medlama_are_as_frequent_among_positives_as_among_negatives() -> None:
    base, n_heads = read_medlama(), Counter[str]()
    for relation in base.relations:
        drawn = draw_triplets(base, relation, TripletSampling(1))
        tested = drawn.filter(split="test")
        true, false = (Counter(tested.filter(is_positive=b)["tail"]) for b in (True, False))
        assert true == false
        n_heads[relation] = drawn["head"].n_unique()
    assert min(n_heads.values()) > 750
    assert n_heads.total() > 15_000


@pytest.mark.long
@needs_reference
def test_manifest_lists_the_relation_that_cannot_be_balanced() -> None:
    """Half of the heads are allergies whose only true tail is "Allergic sensitization"."""
    share, balance = measure_overlap("occurs_after")
    assert share > 0.7
    assert not balance["is_balanced"]
