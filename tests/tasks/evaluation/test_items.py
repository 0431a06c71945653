"""Samples and questions as items: which ones demonstrate the task, and which ones a model is asked about."""

from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest

from schemas.question_stages import QUESTIONS
from schemas.transformations import NAMES
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
@pytest.mark.parametrize("limit", [1, 4, 99])
def test_units_are_asked_entirely_and_in_the_order_of_hashes(
    kind: ItemKind, limit: int, items: dict[ItemKind, pl.DataFrame]
) -> None:
    of_relation = items[kind].filter(relation="r")
    tested = of_relation.filter(split="test")
    chosen = select_items(of_relation, limit)
    units = set(chosen["unit_id"])
    assert len(units) == min(limit, tested["unit_id"].n_unique())
    assert chosen.equals(tested.filter(pl.col("unit_id").is_in(units)))
    shuffled = select_items(of_relation.sample(fraction=1, shuffle=True, seed=2), limit)
    assert set(shuffled["item_id"]) == set(chosen["item_id"])
    assert units <= set(select_items(of_relation, limit + 1)["unit_id"])


def test_points_are_chosen_by_their_pairs_if_any_has_one() -> None:
    """So the samples of an edition and its questions are about the same heads."""
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
