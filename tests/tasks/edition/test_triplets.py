from random import Random
from typing import get_args

import polars as pl
import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from knowledge.spelling import fold_name
from primitives.errors import InputError
from primitives.hashing import hash_text
from schemas.stages import N_DEMONSTRATIONS, TRIPLETS
from tasks.drawing.heads import Policy, TripletSampling
from tasks.drawing.series import SeriesTurn
from tasks.edition.triplets import list_left_out_heads, sample_triplets
from tests.support.small_bases import (
    as_facts,
    as_rows,
    make_facts,
    row_lists,
)

POLICIES: tuple[Policy, ...] = get_args(Policy)
EVERY_POLICY = pytest.mark.parametrize("policy", POLICIES)
Row = dict[str, object]


def sampling(policy: Policy, seed: int = 1, cap: int | None = None) -> TripletSampling:
    """Return how triplets are drawn; with an even seed, as an edition of a series."""
    return TripletSampling(seed, policy, cap, None if seed % 2 else SeriesTurn(1, seed))


def split(frame: pl.DataFrame, name: str) -> pl.DataFrame:
    return frame.filter(pl.col("split") == name)


def is_true(rows: list[Row], head: object, tail: object) -> bool:
    """Return whether any row states this triplet; names match if folded names or ids are equal."""

    def is_same(name: object, row: Row, end: str) -> bool:
        ids = {other[f"{end}_id"] for other in rows if other[end] == name} - {None}
        return fold_name(str(name)) == fold_name(str(row[end])) or row[f"{end}_id"] in ids

    return any(is_same(head, row, "head") and is_same(tail, row, "tail") for row in rows)


@EVERY_POLICY
@given(rows=row_lists(), seed=st.integers(0, 50))
@settings(max_examples=60)
def test_positives_are_true_and_negatives_false(policy: Policy, rows: list[Row], seed: int) -> None:
    full = as_rows(rows).to_dicts()
    tested = {(row["head"], row["tail"]) for row in full if not row["also_true"]}
    frame = sample_triplets("r", as_rows(rows), sampling(policy, seed)).frame
    for head, tail, is_positive in frame.select("head", "tail", "is_positive").iter_rows():
        if is_positive:
            assert (head, tail) in tested
        else:
            assert not is_true(full, head, tail)
            assert fold_name(head) != fold_name(tail)
            assert tail in {name for _, name in tested}


@EVERY_POLICY
@given(rows=row_lists(), random=st.randoms(use_true_random=False))
@settings(max_examples=40)
def test_order_of_rows_does_not_change_the_draw(policy: Policy, rows: list[Row], random: Random) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    first, second = (sample_triplets("r", as_rows(ordered), sampling(policy)) for ordered in (rows, shuffled))
    assert first.frame.equals(second.frame)
    assert first.left_out == second.left_out
    kept = set(first.frame["head"])
    assert list_left_out_heads("r", as_rows(shuffled), sampling(policy), None, kept) == first.left_out


@EVERY_POLICY
def test_every_head_has_a_positive_and_a_negative_row(policy: Policy) -> None:
    drawn = sample_triplets("r", as_facts(make_facts(20, 6)), sampling(policy))
    assert drawn.frame.columns == TRIPLETS.names
    assert drawn.left_out == ()
    assert drawn.frame["triplet_id"].n_unique() == drawn.frame.height == 40
    pairs = drawn.frame.group_by("pair_id").agg(
        pl.col("head", "split").n_unique(), pl.col("is_positive").sort()
    )
    assert pairs.height == 20
    assert pairs.select("head", "split").unique().rows() == [(1, 1)]
    assert pairs["is_positive"].to_list() == [[False, True]] * 20
    assert drawn.frame["head"].n_unique() == 20


@pytest.mark.parametrize("column", ["head", "tail", "head_id", "tail_id"])
def test_ids_are_hashes_of_the_content_of_the_triplet(column: str) -> None:
    rows = [{"head": f"h{i}", "tail": f"t{i}", "head_id": f"H{i}", "tail_id": f"T{i}"} for i in range(12)]
    renamed = [row | {column: "x" + row[column]} for row in rows]
    one, two = (sample_triplets("r", as_rows(r), sampling("uniform")).frame for r in (rows, renamed))
    other = sample_triplets("s", as_rows(rows), sampling("uniform")).frame
    for name in ("triplet_id", "pair_id"):
        assert one[name].str.contains("^[0-9a-f]{16}$").all()
        assert not set(one[name]) & set(two[name])
        assert not set(one[name]) & set(other[name])


def test_name_with_several_ids_gets_the_smallest() -> None:
    rows = [{"head": f"h{i}", "tail": f"t{i}", "head_id": "5", "tail_id": str(i)} for i in range(9)]
    rows = [row | {"head_id": f"{row['head']}-{k}"} for row in rows for k in (2, 1)]
    frame = sample_triplets("r", as_rows(rows), sampling("uniform")).frame
    assert frame["head_id"].to_list() == [f"{head}-1" for head in frame["head"]]
    assert frame["tail_id"].to_list() == [tail.removeprefix("t") for tail in frame["tail"]]


@EVERY_POLICY
def test_seed_changes_the_test_but_not_the_demonstrations(policy: Policy) -> None:
    facts = as_facts(make_facts(60, 15))
    frames = [sample_triplets("r", facts, sampling(policy, seed)).frame for seed in (1, 1, 2)]
    assert frames[0].equals(frames[1])
    assert split(frames[0], "demonstration").equals(split(frames[2], "demonstration"))
    tests = [set(split(frame, "test")["triplet_id"]) for frame in frames]
    assert tests[0] != tests[2]
    assert split(frames[0], "demonstration")["pair_id"].n_unique() == N_DEMONSTRATIONS


@EVERY_POLICY
@pytest.mark.parametrize("seed", [1, 2, 3])
def test_demonstrations_never_appear_in_the_test(policy: Policy, seed: int) -> None:
    frame = sample_triplets("r", as_facts(make_facts(30, 8)), sampling(policy, seed)).frame
    held_out, tested = split(frame, "demonstration"), split(frame, "test")
    assert held_out.height == 2 * N_DEMONSTRATIONS
    for name in ("head", "pair_id", "triplet_id"):
        assert not set(held_out[name]) & set(tested[name])


@EVERY_POLICY
def test_cap_limits_the_number_of_heads_including_demonstrations(policy: Policy) -> None:
    facts = as_facts(make_facts(40, 10))
    capped, full = (sample_triplets("r", facts, sampling(policy, 1, cap)) for cap in (12, None))
    assert capped.frame["head"].n_unique() == 12
    assert capped.left_out == ()
    assert split(capped.frame, "demonstration").equals(split(full.frame, "demonstration"))
    other = sample_triplets("r", facts, sampling(policy, 2, 12))
    assert set(other.frame["head"]) != set(capped.frame["head"])


def test_uniform_keeps_heads_that_matched_must_leave_out() -> None:
    facts = {f"h{i}": ["common"] for i in range(20)} | {f"rare {i}": ["a"] for i in range(3)}
    uniform = sample_triplets("r", as_facts(facts), sampling("uniform"))
    assert set(uniform.frame["head"]) == set(facts)
    assert uniform.left_out == ()
    matched = sample_triplets("r", as_facts(facts), sampling("matched"))
    assert set(matched.left_out) | set(matched.frame["head"]) == set(facts)
    assert len(matched.left_out) >= 23 - N_DEMONSTRATIONS - 6
    assert list(matched.left_out) == sorted(matched.left_out)


@EVERY_POLICY
def test_head_without_a_possible_negative_is_left_out_and_listed(policy: Policy) -> None:
    facts = make_facts(20, 5) | {
        "all": [f"tail {i}" for i in range(5)],
        "tail 0": [f"tail {i}" for i in range(1, 5)],
    }
    drawn = sample_triplets("r", as_facts(facts), sampling(policy))
    assert drawn.left_out == ("all", "tail 0")
    assert drawn.frame["head"].n_unique() == 20


@EVERY_POLICY
@pytest.mark.parametrize(
    ("facts", "message"),
    [
        ({"a": ["t"], "b": ["t"]}, "has 2 heads of which 0 have a possible negative"),
        (make_facts(5, 3), "5 are reserved for demonstrations and none is left to test"),
    ],
)
def test_relation_without_heads_to_test_is_an_error(
    policy: Policy, facts: dict[str, list[str]], message: str
) -> None:
    with pytest.raises(InputError, match=rf"relation 'r'.*{message}"):
        sample_triplets("r", as_facts(facts), sampling(policy))


def test_relation_without_a_circulation_is_an_error() -> None:
    facts = {f"h{i}": [f"t{i}"] for i in range(12)}
    frame = sample_triplets("r", as_facts(facts), sampling("uniform")).frame
    shown = split(frame, "demonstration")["head"].to_list()
    crowded = as_facts({head: ["a" if head in shown else "b"] for head in facts})
    assert split(sample_triplets("r", crowded, sampling("uniform")).frame, "test").height == 14
    with pytest.raises(InputError, match=r"relation 'r' has 7 heads to test.*negatives = \"uniform\""):
        sample_triplets("r", crowded, sampling("matched"))


@pytest.mark.parametrize(
    ("policy", "checksum"),
    [
        ("balanced", "b5007e8d083c94f9c5cd8dc4c6fc17a5"),
        ("matched", "6ea7d95f6ae60f69c278d9ce76f67978"),
        ("uniform", "5f8e432afadd1b78c364ed009b25b1a1"),
    ],
)
def test_a_policy_draws_the_same_triplets_for_ever(policy: Policy, checksum: str) -> None:
    """Complete editions are made again from their configuration, so another draw needs another policy.

    The checksums change with the facts of the starter base, and for no other reason.
    """
    base = read_knowledge_base(KnowledgeConfig())
    frames = [
        sample_triplets(relation, base.select_relation(relation), sampling(policy, 7)).frame
        for relation in base.relations
    ]
    assert hash_text(*pl.concat(frames)["triplet_id"], digits=32) == checksum
