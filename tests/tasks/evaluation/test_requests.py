"""Samples and questions that a model is asked about, after demonstrations: items, requests and their keys."""

import json
from dataclasses import replace
from itertools import groupby
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from schemas.exchange import Prompt, Sampling, hash_prompt
from schemas.question_stages import QUESTIONS
from schemas.stages import REQUESTS
from schemas.transformations import NAMES
from tasks.asking.prompts import PromptForm
from tasks.evaluation.items import GROUP, QUESTION_ITEMS, SAMPLE_ITEMS, ItemKind, select_items
from tasks.evaluation.requests import Requests, RequestSettings, build_requests, show_demonstrations
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
    return QUESTION_ITEMS.read_items(pl.DataFrame(rows, QUESTIONS.empty.schema))


@pytest.fixture(scope="module")
def items(tmp_path_factory: pytest.TempPathFactory) -> dict[ItemKind, pl.DataFrame]:
    samples = make_samples(tmp_path_factory.mktemp("one"))
    return {SAMPLE_ITEMS: samples, QUESTION_ITEMS: make_questions(POINTS)}


@pytest.mark.parametrize("kind", [SAMPLE_ITEMS, QUESTION_ITEMS], ids=["samples", "questions"])
def test_every_group_shows_five_held_out_points_and_two_or_three_are_true(
    kind: ItemKind, items: dict[ItemKind, pl.DataFrame]
) -> None:
    shown = kind.draw_demonstrations(items[kind])
    assert shown.columns == items[kind].columns
    assert set(shown["split"]) == {"demonstration"}
    groups = shown.partition_by(*GROUP, as_dict=True)
    assert groups.keys() == set(items[kind].select(GROUP).iter_rows())
    for rows in groups.values():
        assert rows.height == rows["point_id"].n_unique() == 5
    shuffled = kind.draw_demonstrations(items[kind].sample(fraction=1, shuffle=True, seed=1))
    assert shuffled.sort(GROUP, maintain_order=True).equals(shown.sort(GROUP, maintain_order=True))
    is_true = pl.col("answer").str.starts_with("T")
    n_true = dict(shown.group_by("group").agg(is_true.sum().over(GROUP).unique().sort()).iter_rows())
    if kind is SAMPLE_ITEMS:
        assert len(groups) == 2 * (2 * len(NAMES) + 1)
        assert n_true["pretexeval"] == n_true["prototype"] == [2, 3]
    else:
        # A point has a revision of a right and of a wrong offer, so that both can take turns.
        assert n_true["RQ"] == [3]


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


@pytest.fixture(scope="module")
def samples() -> pl.DataFrame:
    """The items of two methods: 15 test pairs of one relation."""
    edition = make_edition(Path(), make_base(r=make_facts(20, 6)), methods=("pretexeval", "direct"))
    return SAMPLE_ITEMS.read_items(build_frames(edition, "r")["samples"])


def build(
    samples: pl.DataFrame,
    model_id: str = "m-1",
    max_tokens: int = 8,
    limit: int | None = None,
    **counts: Any,  # noqa: ANN401
) -> Requests:
    sampling = Sampling(max_tokens=max_tokens)
    settings = RequestSettings(
        model_id, PromptForm(), sampling, limit, lambda text: len(text.split()), **counts
    )
    return build_requests(select_items(samples, None), show_demonstrations(SAMPLE_ITEMS, samples), settings)


def test_every_test_sample_is_asked_after_demonstrations_of_its_method(samples: pl.DataFrame) -> None:
    requests = build(samples)
    tested = samples.filter(split="test")
    assert requests.frame.columns == REQUESTS.names
    assert sorted(requests.frame["item_id"]) == sorted(tested["item_id"])
    assert tested.height == 15 * 2 * 9
    asked = {item_id: rest for item_id, *rest in tested.select("item_id", "text", "group").iter_rows()}
    for item_id, prompt in zip(requests.frame["item_id"], requests.prompts, strict=True):
        text, method = asked[item_id]
        *shots, question = prompt.text.split("Statement: ")[1:]
        assert len(shots) == 5
        assert question.startswith(f'"{text}", is the')
        # A wording of the pool has its number: 0 is the prototype.
        assert all(shot.split()[2].startswith("0:" if method == "direct" else ("1:", "2:")) for shot in shots)
    # Prompts with the same demonstrations follow each other.
    prefixes = [prompt.text.rpartition("Statement: ")[0] for prompt in requests.prompts]
    runs = [(prefix, len(list(group))) for prefix, group in groupby(prefixes)]
    assert len(runs) == len(set(prefixes)) == len(NAMES) + 1
    assert {n for _, n in runs} == {30}
    first, second = (twice := build(samples, n_repeats=2)).frame.partition_by("repeat")
    assert first.equals(requests.frame)
    assert second.drop("repeat").equals(requests.frame.drop("repeat"))
    assert second["repeat"].unique().to_list() == [1]
    assert twice.prompts == requests.prompts * 2


def test_keys_depend_on_prompt_sampling_and_model(samples: pl.DataFrame) -> None:
    requests = build(samples, max_tokens=4)
    sampling = Sampling(max_tokens=4)
    assert requests.frame["prompt_key"].to_list() == [
        hash_prompt("m-1", prompt, sampling) for prompt in requests.prompts
    ]
    assert json.loads(requests.frame["sampling"][0])["max_tokens"] == 4
    shuffled = build(samples.sample(fraction=1, shuffle=True, seed=3), max_tokens=4)
    assert set(shuffled.frame["prompt_key"]) == set(requests.frame["prompt_key"])
    for other in (build(samples, max_tokens=5), build(samples, "m-2", max_tokens=4)):
        assert not set(other.frame["prompt_key"]) & set(requests.frame["prompt_key"])
    assert len({hash_prompt("m", Prompt(style, "[]"), sampling) for style in ("completion", "chat")}) == 2


def test_fewer_demonstrations_are_the_first_of_the_five_and_dropped_ones_are_recorded(
    samples: pl.DataFrame,
) -> None:
    five = build(samples)
    for n in (2, 0):
        requests = build(samples, n_demonstrations=n)
        assert set(requests.frame["n_demonstrations_dropped"]) == {0}
        for prompt, whole in zip(requests.prompts, five.prompts, strict=True):
            parts = whole.text.split("Statement: ")
            assert prompt.text == "Statement: ".join([*parts[: n + 1], parts[-1]])
    requests = build(samples, limit=100, max_tokens=30)
    dropped = requests.frame["n_demonstrations_dropped"].to_list()
    assert min(dropped) > 0
    for prompt, n in zip(requests.prompts, dropped, strict=True):
        assert prompt.text.count("Statement: ") == 6 - n
        assert len(prompt.text.split()) <= 70


def test_only_demonstrations_with_a_chain_are_shown_to_a_model_that_reasons(samples: pl.DataFrame) -> None:
    drawn = SAMPLE_ITEMS.draw_demonstrations(samples).filter(group="direct")
    item_id, text = drawn.select("item_id", "text").row(3)
    shots = show_demonstrations(SAMPLE_ITEMS, samples, {item_id: "It fits.", "another": "No."})
    ((group, (shot,)),) = shots.items()
    assert group == ("r", "direct", "none")
    assert text in shot
    assert "\nLet's think step by step. It fits. Therefore, the answer is: " in shot
