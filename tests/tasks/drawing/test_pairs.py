"""Balanced pairs and options, whose tails are as often true as false; uniform pairs; series; and risks."""

from collections import Counter
from collections.abc import Collection, Mapping
from datetime import UTC, datetime, timedelta
from random import Random
from statistics import fmean
from typing import Any

import numpy as np
import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st
from scipy.optimize import linprog

from flows.support.periods import plan_period
from pretexeval.config.file import Config
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.reader import read_knowledge_base
from schemas.choices import Negatives
from tasks.drawing import shared_tails
from tasks.drawing.evidence import Evidence
from tasks.drawing.pairs import draw_balanced, draw_uniform
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import RelationFacts, SameNames
from tasks.drawing.series import SeriesTurn
from tasks.drawing.shared_tails import Taker, share_tails
from tasks.edition.planning import plan_edition
from tasks.edition.risks import describe_balance, estimate_wrong_twins
from tasks.edition.samples import find_wording_turns
from tasks.edition.triplets import draw_triplets
from tasks.quality.guesses import guess_truth
from tests.support.examples import count_examples
from tests.support.published_bases import needs_reference, read_medlama
from tests.support.small_bases import as_facts, as_rows, build_frames, index_facts, row_lists

WORDS = ("renal", "lung", "cell", "acute", "tumor", "pain")


def draw_in_balance(facts: RelationFacts, seed: int = 1) -> pl.DataFrame:
    order = facts.order_heads(str(seed), "cap")
    return draw_balanced(Evidence(facts), Piece("r").select_blocks(order), seed, None)


def list_possible(facts: RelationFacts) -> dict[str, tuple[set[str], set[str]]]:
    """Return head -> its true tails that are tested, and the tails that may be false of it."""
    heads = facts.heads["head"]
    judged = zip(heads, Evidence(facts).judge(heads).iterate_possible(), strict=True)
    false = {head: set(facts.tails.filter(pl.Series(is_possible))) for head, is_possible in judged}
    tested = facts.list_tested(heads.to_frame("head")).group_by("head").agg("tail")
    return {head: (set(tails), false[head]) for head, tails in tested.iter_rows()}


def require_balance(facts: RelationFacts, drawn: pl.DataFrame) -> None:
    possible = list_possible(facts)
    for head, positive, negative in drawn.iter_rows():
        true, false = possible[head]
        assert positive in true
        assert negative in false
    assert Counter(drawn["positive"]) == Counter(drawn["negative"])


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
    base, n_heads = read_medlama(), Counter[str]()
    guessed: dict[str, tuple[float, bool]] = {}
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
    assert all(share <= 0.56 and is_balanced for share, is_balanced in guessed.values())


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
    asserted = index_facts(as_facts(FACTS), as_facts({"a": ["t3", "t4"]}))
    assert {draw_uniformly(asserted, 1, SeriesTurn(1, n)).row(0)[2] for n in (4, 5)} == {"t3", "t4"}
    turns = find_wording_turns(Piece("r"), lambda: asserted, TripletSampling(1, turn=SeriesTurn(1, 4)))
    assert turns is not None
    assert ("a", False, 2) in turns.n_turns.select("head", "is_positive", "n_turns").rows()


RELATION = "symptoms"
STARTER = read_knowledge_base(KnowledgeConfig())
MONDAY = datetime(2026, 1, 5, tzinfo=UTC)


def draw_week(number: int, policy: Negatives, cap: int | None = None) -> pl.DataFrame:
    """Return the tested triplets of an edition of a series."""
    sampling = TripletSampling(100 + number, policy, cap, SeriesTurn(1, number))
    return draw_triplets(STARTER, RELATION, sampling).filter(split="test")


def test_the_bundled_base_loses_few_heads() -> None:
    for relation, n_heads in plan_edition(Config()).n_heads.items():
        assert draw_triplets(STARTER, relation, TripletSampling(1))["head"].n_unique() >= n_heads - 1


def test_balanced_facts_come_back_when_most_tails_of_their_head_were_asked() -> None:
    n_tails = Counter(STARTER.select_relation(RELATION).filter(~pl.col("also_true"))["head"])
    drawn = pl.concat(draw_week(number, "balanced").filter("is_positive") for number in range(12, 15))
    used = drawn.group_by("head").agg(pl.col("tail").n_unique())
    expected = sum(min(3, n_tails[head]) for head in used["head"])
    assert 0.9 * expected <= used["tail"].sum() <= expected


def test_heads_under_a_cap_take_turns() -> None:
    everyone = set(draw_week(0, "uniform")["head"])
    cap = 25
    n_editions = -(-len(everyone) // (cap - 5))
    drawn = [set(draw_week(number, "uniform", cap)["head"]) for number in range(n_editions)]
    assert {len(heads) for heads in drawn} == {cap - 5}
    assert set().union(*drawn) == everyone


@given(first=st.integers(0, 3000), n_turns=st.integers(1, 20), n_wordings=st.integers(1, 12))
def test_every_wording_is_used_before_one_comes_back(first: int, n_turns: int, n_wordings: int) -> None:
    numbers = [first + i * n_turns for i in range(n_wordings)]
    used = {SeriesTurn(1, number).shift_wording(n_turns, n_wordings) % n_wordings for number in numbers}
    assert len(used) == n_wordings


def test_scheduled_weeks_repeat_no_text_before_they_must() -> None:
    """A head of the base with one tail has four wordings of each form."""
    config = Config.model_validate({"knowledge": {"relations": [RELATION]}})
    texts: list[str] = []
    for week in range(4):
        edition = plan_edition(plan_period(config, MONDAY + timedelta(weeks=week)))
        texts += set(build_frames(edition, RELATION)["samples"].filter(split="test")["text"])
    assert len(texts) - len(set(texts)) < 0.01 * len(texts)


BOTH = {f"head {i}": ["rash", "itch"] for i in range(50)}
ONE = {f"head {i}": [f"tail {i}"] for i in range(50)}
SAME = {f"head {i}": ["rash"] for i in range(50)}


def test_hidden_facts_among_the_false_twins_are_counted() -> None:
    expected = [
        # 30 heads lose one of their two tails, which is then the only one that can be false of them. Five of
        # these heads are held out. The other 20 heads have no false tail. So few twins tell no rate.
        (BOTH, (30, 25, 25, None, None, None)),
        # Every head keeps its only fact.
        (ONE, (0, 45, 0, None, None, None)),
        (SAME, (0, 0, 0, None, None, None)),
    ]
    for facts, counts in expected:
        found = index_facts(as_facts(facts), evidence=())
        measured = estimate_wrong_twins(found, TripletSampling(1, "uniform"))
        assert measured.pop("missing_share") == 0.5
        assert tuple(measured.values()) == counts


def test_the_estimate_is_for_as_many_missing_facts_as_are_assumed() -> None:
    """Half of the facts are one missing for each listed one, and nine of ten are nine."""
    facts = {f"head {i}": {f"tail {i * k % 20}" for k in (1, 3, 7, 9)} for i in range(1, 99)}
    found = index_facts(as_facts(facts), evidence=())
    half, most = (
        estimate_wrong_twins(found, TripletSampling(1, "uniform"), is_possibility=is_possibility)
        for is_possibility in (False, True)
    )
    times = (found.rows.height - half["n_hidden"]) / half["n_hidden"]
    rate = half["n_wrong"] / half["n_tried"]
    assert half["n_wrong"] > 0
    assert half["wrong_rate"] == pytest.approx(times * rate, abs=1e-3)
    assert most["wrong_rate"] == pytest.approx(min(1, 9 * times * rate), abs=1e-3)
    assert half["wrong_rate_ci_low"] < half["wrong_rate"] < half["wrong_rate_ci_high"]


def test_a_twin_that_follows_from_a_hidden_fact_is_wrong() -> None:
    """The names of the kinds tell nothing; what is above a hidden fact is true, too."""
    edges = [(f"tail {i}", f"kind {i}") for i in range(30)]
    facts = {f"a{i}": [f"tail {i % 30}", f"tail {(i + 1) % 30}"] for i in range(60)}
    facts |= {f"b{i}": [f"kind {i}"] for i in range(30)}
    flat, deep = (index_facts(as_facts(facts), edges=given, evidence=()) for given in ([], edges))
    counts = [estimate_wrong_twins(given, TripletSampling(1, "uniform"))["n_wrong"] for given in (flat, deep)]
    assert counts[0] < counts[1]


def test_labels_are_guessable_as_far_as_resemblance_differs() -> None:
    rates = {
        # Each true pair has a false one of the same tail that shares as many words.
        ("lung cancer", "rash", "lung tumor", "fever"): (0.5, 0.5),
        # Of the two pairs with "skin", the true one shares no word, and the false one shares one.
        ("lung cancer", "rash", "lung tumor", "skin ache"): (0.5, 0.75),
        ("lung cancer", "skin rash", "tumor", "ache"): (0.5, 1.0),
    }
    columns = {"tail": ["lung", "skin"] * 2, "is_positive": [True, True, False, False]}
    frame = pl.DataFrame(columns).with_columns(split=pl.lit("test"), is_asserted=pl.lit(None, pl.Boolean))
    found = {heads: describe_balance([frame.with_columns(head=pl.Series(heads))]) for heads in rates}
    assert {heads: (each["tail_rate"], each["guessable_rate"]) for heads, each in found.items()} == rates
    lopsided = frame.with_columns(
        head=pl.Series(next(iter(rates))), tail=pl.Series(["lung", "lung", "lung", "skin"])
    )
    assert describe_balance([lopsided])["tail_rate"] == 0.75


def test_counts_of_the_manifest() -> None:
    triplets = [
        ("lung cancer", "lung", True, "test", None),
        ("lung cancer", "skin", False, "test", True),
        ("skin rash", "skin", True, "test", None),
        ("skin rash", "lung", False, "test", None),
        ("lung tumor", "lung", True, "demonstration", None),
    ]
    columns = ["head", "tail", "is_positive", "split", "is_asserted"]
    frame = pl.DataFrame(triplets, schema=columns, orient="row")
    assert describe_balance([frame, frame.with_columns(is_positive=~pl.col("is_positive"))]) == {
        "n_pairs": 4,
        "n_true_sharing": 2,
        "n_false_sharing": 2,
        "n_unmatched": 4,
        "n_asserted": 2,
        "tail_rate": 0.5,
        "guessable_rate": 1.0,
        "is_balanced": False,
    }


NO_SAME = SameNames([])


def make_taker(i: int, n_tails: int = 7, **changes: object) -> Taker:
    values: dict[str, object] = {
        "name": f"head {i}",
        "right": (f"tail {i % n_tails}",),
        "wrong": (),
        "n_wrong": 3,
    }
    values |= dict.fromkeys(("forbidden", "asserted"), frozenset())
    return Taker(**(values | changes))  # type: ignore[arg-type]


def test_large_relations_are_shared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_tails, "MAX_HEADS", 20)
    monkeypatch.setattr(shared_tails, "FACTS_AT_ONCE", 6)
    takers = [make_taker(i) for i in range(50)]
    given = share_tails(takers, NO_SAME, "1")
    assert set(given) == {taker.name for taker in takers}
    for taker in takers:
        assert len(set(given[taker.name]) - set(taker.right)) == 3
    counts = Counter(tail for tails in given.values() for tail in tails)
    right = Counter(tail for taker in takers for tail in taker.right)
    assert all(abs(counts[tail] - 3 * right[tail]) <= 3 for tail in right)


def test_forbidden_and_same_tails_are_not_given_and_wrong_ones_stay() -> None:
    same = SameNames([("tail 0", "id:1"), ("tail 1", "id:1")])
    forbidden = frozenset({"tail 2"})
    takers = [make_taker(i, wrong=("tail 6",) if i % 7 < 3 else (), forbidden=forbidden) for i in range(28)]
    for taker in takers:
        given = share_tails(takers, same, "1")[taker.name]
        assert len(given) == 3
        assert given[: len(taker.wrong)] == taker.wrong
        assert "tail 2" not in given
        options = {*given, *taker.right}
        assert len(options) == 4
        assert not {"tail 0", "tail 1"} <= options


def test_asserted_tails_are_preferred_and_keep_the_balance() -> None:
    takers = [make_taker(i, asserted=frozenset({f"tail {(i + 3) % 7}"})) for i in range(35)]
    given = share_tails(takers, NO_SAME, "1")
    assert all(taker.asserted <= set(given[taker.name]) for taker in takers)
    assert set(Counter(tail for tails in given.values() for tail in tails).values()) == {15}


def test_tails_go_to_heads_that_resemble_them_as_much() -> None:
    """A pain is true of heads with which it shares a word, and an ache of heads with which it shares none."""
    words = ("renal", "lung", "liver", "skin", "heart")
    takers = []
    for i, word in enumerate(words):
        for k in range(16):
            takers.append(make_taker(0, name=f"{word} disease {k}", right=(f"{word} pain {k % 4}",)))
            takers.append(make_taker(0, name=f"{word} disorder {k}", right=(f"{words[i - 1]} ache {k % 4}",)))
    given = share_tails(takers, NO_SAME, "1")
    n_given = Counter(
        (tail.split()[1], tail.split()[0] == name.split()[0])
        for name, tails in given.items()
        for tail in tails
    )
    assert n_given["pain", True] > 10 * n_given["pain", False]
    assert n_given["ache", False] > 10 * n_given["ache", True]
