"""The triplets of an edition under every policy, and the negatives that the base asserts."""

import re
from collections import Counter
from collections.abc import Sequence
from functools import partial
from random import Random
from typing import Any, get_args

import polars as pl
import pytest
from hypothesis import assume, given, settings
from hypothesis import strategies as st

from pretexeval.config.tables import EVIDENCE
from pretexeval.knowledge.base import FALSE_COLUMNS, KnowledgeBase
from pretexeval.knowledge.names import fold_name
from pretexeval.primitives.errors import InputError
from schemas.choices import Negatives
from schemas.stages import N_DEMONSTRATIONS
from tasks.drawing.pieces import Piece, TripletSampling
from tasks.drawing.relation_facts import collect_facts
from tasks.drawing.series import SeriesTurn
from tasks.edition.triplets import build_triplets, draw_triplets, list_missing_heads
from tests.support.examples import count_examples
from tests.support.small_bases import as_facts, as_rows, index_facts, make_facts, row_lists

POLICIES: tuple[Negatives, ...] = get_args(Negatives)
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
NO_FALSE = pl.DataFrame(schema=FALSE_COLUMNS)
Row = dict[str, Any]


def sampling(policy: Negatives, seed: int = 1, cap: int | None = None) -> TripletSampling:
    """Return how triplets are drawn; with an even seed, as an edition of a series."""
    return TripletSampling(seed, policy, cap, None if seed % 2 else SeriesTurn(1, seed))


def draw(
    rows: pl.DataFrame, given: TripletSampling, relation: str = "r", also_false: pl.DataFrame = NO_FALSE
) -> pl.DataFrame:
    base = KnowledgeBase("own", rows.with_columns(relation=pl.lit(relation)), (), also_false)
    return draw_triplets(base, relation, given)


def list_left_out(rows: pl.DataFrame, given: TripletSampling, drawn: pl.DataFrame) -> list[str]:
    facts = collect_facts(KnowledgeBase("own", rows), "r")
    return list_missing_heads(Piece("r"), facts, given, drawn)


def split(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.filter(pl.col("split") == name)


def is_true(rows: Sequence[Row], head: str, tail: str) -> bool:
    """Return whether any row states this triplet; names match if folded names or ids are equal."""

    def find_rows(name: str, end: str) -> set[int]:
        ids = {row[f"{end}_id"] for row in rows if row[end] == name} - {None}
        folded = [fold_name(str(row[end])) == fold_name(name) for row in rows]
        return {n for n, row in enumerate(rows) if folded[n] or row[f"{end}_id"] in ids}

    return not find_rows(head, "head").isdisjoint(find_rows(tail, "tail"))


@given(
    policy=st.sampled_from(POLICIES),
    rows=row_lists(),
    seed=st.integers(0, 50),
    random=st.randoms(use_true_random=False),
)
@settings(max_examples=count_examples(40))
def test_positives_are_true_and_negatives_false_in_any_order_of_rows(
    policy: Negatives, rows: list[Row], seed: int, random: Random
) -> None:
    base, given = as_rows(rows), sampling(policy, seed)
    full = base.to_dicts()
    tested = {(row["head"], row["tail"]) for row in full if not row["also_true"]}
    try:
        frame = draw(base, given)
    except InputError:
        assume(False)
        raise
    for head, tail, is_positive in frame.select("head", "tail", "is_positive").iter_rows():
        if is_positive:
            assert (head, tail) in tested
        else:
            assert not is_true(full, head, tail)
            assert fold_name(head) != fold_name(tail)
            assert tail in {name for _, name in tested}
    if policy == "balanced":
        tested_rows = frame.filter(split="test")
        true, false = (Counter(tested_rows.filter(is_positive=b)["tail"]) for b in (True, False))
        assert true == false
    shuffled = as_rows(random.sample(rows, len(rows)))
    assert frame.equals(draw(shuffled, given))
    assert list_left_out(base, given, frame) == list_left_out(shuffled, given, frame)


def test_ids_are_hashes_of_the_content_of_the_triplet() -> None:
    rows = [{"head": f"h{i}", "tail": f"t{i}", "head_id": f"H{i}", "tail_id": f"T{i}"} for i in range(12)]
    frames = {"nothing": draw(as_rows(rows), sampling("uniform"))}
    frames["relation"] = draw(as_rows(rows), sampling("uniform"), "s")
    for column in ("head", "tail", "head_id", "tail_id"):
        changed = [row | {column: "x" + row[column]} for row in rows]
        frames[column] = draw(as_rows(changed), sampling("uniform"))
    for name in ("triplet_id", "pair_id"):
        ids = pl.concat([frame[name].unique() for frame in frames.values()])
        assert ids.str.contains("^[0-9a-f]{16}$").all()
        assert ids.is_unique().all()


def test_name_with_several_ids_gets_the_smallest() -> None:
    rows = [{"head": f"h{i}", "tail": f"t{i}", "head_id": "5", "tail_id": str(i)} for i in range(9)]
    rows = [row | {"head_id": f"{row['head']}-{k}"} for row in rows for k in (2, 1)]
    frame = draw(as_rows(rows), sampling("uniform"))
    assert frame["head_id"].to_list() == [f"{head}-1" for head in frame["head"]]
    assert frame["tail_id"].to_list() == [tail.removeprefix("t") for tail in frame["tail"]]


@EVERY_POLICY
def test_demonstrations_are_never_tested_and_do_not_change_with_seed_and_cap(policy: Negatives) -> None:
    facts = as_facts(make_facts(30, 8))
    draws = {(seed, cap): draw(facts, sampling(policy, seed, cap)) for seed in (1, 2) for cap in (None, 12)}
    assert draws[1, None].equals(draw(facts, sampling(policy, 1)))
    held_out = split(draws[1, None], "demonstration")
    assert held_out.height == 2 * N_DEMONSTRATIONS
    for (seed, cap), frame in draws.items():
        assert split(frame, "demonstration").equals(held_out)
        for name in ("head", "pair_id", "triplet_id"):
            assert not set(held_out[name]) & set(split(frame, "test")[name])
        assert frame["head"].n_unique() == (cap or 30)
        assert list_left_out(facts, sampling(policy, seed, cap), frame) == []
    assert set(draws[1, None]["triplet_id"]) != set(draws[2, None]["triplet_id"])
    assert set(draws[1, 12]["head"]) != set(draws[2, 12]["head"])


def test_relation_without_a_pair_is_an_error() -> None:
    exchange = (
        "at least 7 are needed: 5 demonstrate the task, and two more must exchange their tails with "
        'negatives = "balanced"'
    )
    uniform = 'or set negatives = "uniform" in [edition], for which 6 are enough'
    cases: list[tuple[int, Negatives, int | None, str]] = [
        (1, "uniform", None, "'r' has 1 head, but at least 6 are needed: 5 demonstrate the task; add heads"),
        (5, "balanced", None, f"'r' has 5 heads, but {exchange}; add heads"),
        (6, "balanced", None, f"'r' has 6 heads, but {exchange}; add heads, {uniform}"),
        (20, "balanced", 6, f"'r': heads_per_relation in [edition] is 6, but {exchange}"),
    ]
    for n_heads, policy, cap, said in cases:
        with pytest.raises(InputError, match=f"{re.escape(said)}$"):
            draw(as_facts(make_facts(n_heads, 3)), sampling(policy, cap=cap))
    for n_heads, policy, cap in ((6, "uniform", None), (7, "balanced", None), (20, "uniform", 6)):
        assert draw(as_facts(make_facts(n_heads, 3)), sampling(policy, cap=cap)).height > 2 * N_DEMONSTRATIONS
    same = as_facts({f"h{i}": ["t"] for i in range(8)})
    with pytest.raises(InputError, match="8 heads to test, but every tail is true of every one of them"):
        draw(same, sampling("uniform"))
    with pytest.raises(InputError, match=r"8 heads to test, but no tail can be.*set negatives = \"uniform\""):
        draw(same, sampling("balanced"))


@pytest.mark.parametrize(("n_heads", "n_tails"), [(8, 3), (20, 4), (30, 3), (30, 10)])
def test_small_relations_lose_no_head_to_the_evidence(n_heads: int, n_tails: int) -> None:
    rows = as_facts(make_facts(n_heads, n_tails))
    drawn, without = (
        build_triplets(Piece("r"), partial(index_facts, rows, evidence=evidence), sampling("balanced"))
        for evidence in (EVIDENCE, ())
    )
    assert drawn["head"].n_unique() == without["head"].n_unique() >= n_heads - 3


def test_a_fact_is_as_likely_as_the_other_facts_make_it() -> None:
    """Nobody else has the tail of a lone head, so its fact is as unlikely as its false twin."""
    groups = {f"head {i}": [f"x {i % 40}", f"y {i % 40}"] for i in range(80)}
    frame = draw(as_facts(groups | {f"lone {i}": [f"z {i}"] for i in range(40)}), sampling("uniform"))
    positives = frame.filter(pl.col("is_positive"))
    lone, others = (
        positives.filter(pl.col("head").str.starts_with(name))["likelihood"] for name in ("lone", "head")
    )
    assert lone.n_unique() == 1
    assert lone[0] < others.min()


FACTS = make_facts(30, 10)
# A false tail of each head that is true of other heads.
ASSERTED = {head: f"tail {(i * 7 + 5) % 10}" for i, head in enumerate(FACTS)}
ASSERTED = {head: tail for head, tail in ASSERTED.items() if tail not in FACTS[head]}


def draw_asserted(
    policy: Negatives, asserted: dict[str, str], rows: pl.DataFrame | None = None
) -> pl.DataFrame:
    given = [{"relation": "r", "head": head, "tail": tail} for head, tail in asserted.items()]
    also_false = pl.DataFrame(given, schema=FALSE_COLUMNS)
    return draw(as_facts(FACTS) if rows is None else rows, sampling(policy), also_false=also_false)


def list_marked(frame: pl.DataFrame) -> set[tuple[str, str]]:
    return set(frame.filter("is_asserted").select("head", "tail").iter_rows())


@EVERY_POLICY
def test_exactly_the_asserted_negatives_are_marked(policy: Negatives) -> None:
    frame = draw_asserted(policy, ASSERTED)
    negatives = set(frame.filter(~pl.col("is_positive")).select("head", "tail").iter_rows())
    assert list_marked(frame) == negatives & set(ASSERTED.items())
    assert frame.filter("is_asserted")["doubt"].is_null().all()
    assert draw_asserted(policy, {})["is_asserted"].is_null().all()


def test_uniform_draws_every_asserted_negative_that_no_id_makes_true() -> None:
    outside = ASSERTED | {"head 0": "a tail of no true triplet"}
    assert list_marked(draw_asserted("uniform", outside)) == set(outside.items())
    rows = [{"head": head, "tail": tail, "head_id": head} for head, tails in FACTS.items() for tail in tails]
    rows.append({"head": "other name", "tail": "tail 9", "head_id": "head 0"})
    assert list_marked(draw_asserted("uniform", {"head 0": "tail 9"}, as_rows(rows))) == set()


def test_balanced_prefers_asserted_negatives_and_keeps_the_balance() -> None:
    frame = draw_asserted("balanced", ASSERTED).filter(split="test")
    true, false = (Counter(frame.filter(is_positive=b)["tail"]) for b in (True, False))
    assert true == false
    assert frame.height == 50
    assert len(list_marked(frame)) >= 0.8 * len(ASSERTED.keys() & set(frame["head"]))


def test_an_assertion_settles_whether_a_generalisation_is_true() -> None:
    facts = {f"h{i}": ["Acute Pain" if i % 2 else "Gout"] for i in range(20)} | {"p": ["Pain"], "q": ["Pain"]}
    of_pain = {head: "Pain" for head, tails in facts.items() if tails == ["Acute Pain"]}
    for asserted, has_pain in (({}, False), (of_pain, True)):
        frame = split(draw_asserted("balanced", asserted, as_facts(facts)), "test")
        negatives = frame.filter(~pl.col("is_positive"), pl.col("head").is_in(list(of_pain)))
        assert ("Pain" in negatives["tail"].to_list()) is has_pain
