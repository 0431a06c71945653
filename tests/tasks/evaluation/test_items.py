"""Samples and questions as items: those that demonstrate the task, and those that a model is asked about."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.primitives.errors import InputError
from schemas.question_stages import QUESTIONS
from schemas.transformations import NAMES
from tasks.evaluation.evaluation import RelationSize, divide_budget
from tasks.evaluation.items import GROUP, QUESTION_ITEMS, SAMPLE_ITEMS, ItemKind, select_items
from tests.support.question_folder import Point
from tests.support.small_bases import build_frames, make_base, make_edition, make_facts

METHODS = ("pretexeval", "prototype", "direct")
POINTS = [Point("r", f"head {i}", split="demonstration" if i < 7 else "test") for i in range(20)]


def make_samples(root: Path, seed: int = 1, methods: tuple[str, ...] = METHODS) -> pl.DataFrame:
    base = make_base(r=make_facts(30, 8), s=make_facts(20, 6))
    edition = make_edition(root, base, seed=seed, methods=methods)
    frames = [build_frames(edition, name)["samples"] for name in base.relations]
    return SAMPLE_ITEMS.read_items(pl.concat(frames))


def make_questions(points: list[Point]) -> pl.DataFrame:
    """Return ten questions about each point: one of each form, and each negated."""
    rows = [row for point in points for row in point.list_questions()]
    schema = QUESTIONS.empty.schema
    return QUESTION_ITEMS.read_items(pl.DataFrame(rows, schema))


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> dict[ItemKind, pl.DataFrame]:
    return {
        SAMPLE_ITEMS: make_samples(tmp_path_factory.mktemp("one")),
        QUESTION_ITEMS: make_questions(POINTS),
    }


def count_true(rows: pl.DataFrame) -> int:
    return int(rows["answer"].str.starts_with("T").sum())


@pytest.mark.parametrize("kind", [SAMPLE_ITEMS, QUESTION_ITEMS], ids=["samples", "questions"])
def test_every_group_shows_five_held_out_points(kind: ItemKind, items: dict[ItemKind, pl.DataFrame]) -> None:
    shown = kind.draw_demonstrations(items[kind])
    assert shown.columns == items[kind].columns
    assert set(shown["split"]) == {"demonstration"}
    groups = shown.partition_by(*GROUP, as_dict=True)
    assert groups.keys() == set(items[kind].select(GROUP).iter_rows())
    for rows in groups.values():
        assert rows.height == rows["point_id"].n_unique() == 5
    shuffled = kind.draw_demonstrations(items[kind].sample(fraction=1, shuffle=True, seed=1))
    assert shuffled.sort(GROUP, maintain_order=True).equals(shown.sort(GROUP, maintain_order=True))


def test_two_or_three_of_five_demonstrations_are_true(items: dict[ItemKind, pl.DataFrame]) -> None:
    shown = SAMPLE_ITEMS.draw_demonstrations(items[SAMPLE_ITEMS]).partition_by(*GROUP, as_dict=True)
    assert shown.keys() == {(r, m, t) for r in "rs" for m in METHODS[:2] for t in NAMES} | {
        (r, "direct", "none") for r in "rs"
    }
    assert {count_true(rows) for rows in shown.values()} == {2, 3}
    # A point has a revision of a right and of a wrong offer, so that both can take turns.
    asked = QUESTION_ITEMS.draw_demonstrations(items[QUESTION_ITEMS]).filter(group="RQ")
    assert [count_true(rows) for rows in asked.partition_by(GROUP)] == [3, 3]


def test_demonstrations_of_samples_depend_neither_on_the_seed_nor_on_other_methods(tmp_path: Path) -> None:
    alone, other_seed, all_methods = (
        make_samples(tmp_path, seed, methods)
        for seed, methods in ((1, METHODS[:1]), (2, METHODS[:1]), (1, METHODS))
    )
    shown = SAMPLE_ITEMS.draw_demonstrations(alone)
    assert shown.equals(SAMPLE_ITEMS.draw_demonstrations(other_seed))
    assert not set(other_seed.filter(split="test")["text"]) & set(shown["text"])
    with_others = SAMPLE_ITEMS.draw_demonstrations(all_methods)
    assert shown.equals(with_others.filter(group="pretexeval"))
    prototypes = with_others.filter(group="prototype", form="none")
    assert prototypes["text"].equals(with_others.filter(group="direct")["text"])


@pytest.mark.parametrize("kind", [SAMPLE_ITEMS, QUESTION_ITEMS], ids=["samples", "questions"])
def test_units_are_asked_entirely_and_in_the_order_of_hashes(
    kind: ItemKind, items: dict[ItemKind, pl.DataFrame]
) -> None:
    of_relation = items[kind].filter(relation="r")
    tested = of_relation.filter(split="test")
    for limit in (1, 4, 99):
        chosen = select_items(of_relation, limit)
        units = set(chosen["unit_id"])
        assert len(units) == min(limit, tested["unit_id"].n_unique())
        assert chosen.equals(tested.filter(pl.col("unit_id").is_in(units)))
        shuffled = select_items(of_relation.sample(fraction=1, shuffle=True, seed=2), limit)
        assert set(shuffled["item_id"]) == set(chosen["item_id"])
        assert units <= set(select_items(of_relation, limit + 1)["unit_id"])


def test_points_are_chosen_by_their_pairs_if_any_has_one() -> None:
    pairs = {row["question_id"]: row["pair_id"] for point in POINTS for row in point.list_questions()}
    samples = pl.DataFrame({"unit_id": sorted(set(pairs.values()))}).with_columns(split=pl.lit("test"))
    tested = samples.filter(pl.col("unit_id").is_in(make_questions(POINTS[7:])["unit_id"].to_list()))
    mixed = make_questions([*POINTS, Point("r", "alone", has_pair=False)])
    chosen = select_items(mixed, 4)
    assert {pairs[item_id] for item_id in chosen["item_id"]} == set(select_items(tested, 4)["unit_id"])
    assert chosen.height == 4 * 10
    assert select_items(mixed, None).height == (len(POINTS) - 7 + 1) * 10
    apart = make_questions([replace(point, has_pair=False) for point in POINTS])
    assert select_items(apart, 4)["point_id"].n_unique() == 4


def divide(budget: int, *n_pairs: int, n_repeats: int = 1) -> list[int]:
    """Return the pairs asked of relations a, b, … with so many pairs of 16 prompts."""
    sizes = {relation: RelationSize(n, 16) for relation, n in zip("abcdef", n_pairs, strict=False)}
    return list(divide_budget(budget, sizes, n_repeats).values())


def test_a_budget_is_divided_evenly_and_what_small_relations_leave_goes_to_the_others() -> None:
    assert {
        "evenly": divide(16 * 9, 100, 100, 100),
        "a small relation": divide(16 * 30, 100, 4, 100),
        "the rest goes to the first by name": divide(16 * 12, 100, 100, 3),
        "less than a pair is left": divide(16 * 11 + 15, 100, 100, 3),
        "repeats cost prompts": divide(16 * 12, 100, 100, n_repeats=3),
        "a relation without test pairs": divide(16 * 2, 0, 1, 5),
        "no test pairs at all": divide(5, 0, 0),
        "one pair of each": divide(48, 9, 9, 9),
    } == {
        "evenly": [3, 3, 3],
        "a small relation": [13, 4, 13],
        "the rest goes to the first by name": [5, 4, 3],
        "less than a pair is left": [4, 4, 3],
        "repeats cost prompts": [2, 2],
        "a relation without test pairs": [0, 1, 1],
        "no test pairs at all": [0, 0],
        "one pair of each": [1, 1, 1],
    }
    with pytest.raises(InputError, match=r"budget = 47 is too small: .* 3 relations .* give 48 or more"):
        divide(47, 9, 9, 9)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 150))
def test_a_budget_is_used_up_and_a_larger_one_asks_no_relation_less(n_pairs: list[int], n: int) -> None:
    n += len(n_pairs)
    fewer, more = divide(16 * n, *n_pairs), divide(16 * n + 16, *n_pairs)
    assert sum(fewer) == min(n, sum(n_pairs))
    assert all(a <= b <= size for a, b, size in zip(fewer, more, n_pairs, strict=True))
    assert all(max(fewer) - 1 <= k or k == size for k, size in zip(fewer, n_pairs, strict=True))
