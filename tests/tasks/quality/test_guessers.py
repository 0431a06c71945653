from statistics import fmean
from typing import Literal

import polars as pl
import pytest
from threadpoolctl import threadpool_limits

from pretexeval.primitives.hashing import draw_one, hash_text
from tasks.quality.guesses import guess_truth

N_HEADS = 300
LETTERS = str.maketrans("0123456789", "ghijklmnop")
ORGANS = [hash_text("organ", str(i), digits=8).translate(LETTERS) for i in range(60)]


def make_pairs(true: str, false: str) -> pl.DataFrame:
    """Return a positive and a negative triplet per head; tails are made of the head's organ or another."""
    rows = []
    for i in range(N_HEADS):
        organ = ORGANS[i % len(ORGANS)]
        other = draw_one((name for name in ORGANS if name != organ), str(i))
        rows += [
            (f"p{i}", f"tumor {i} of {organ}", form.format(organ=organ, other=other), is_positive)
            for form, is_positive in ((true, True), (false, False))
        ]
    return pl.DataFrame(rows, ("pair_id", "head", "tail", "is_positive"), orient="row")


def measure(
    triplets: pl.DataFrame, guesser: str = "overlap", fold_by: Literal["head", "tail"] = "head"
) -> float:
    is_right = guess_truth(guesser, "r", triplets, fold_by) == triplets["is_positive"]
    return fmean(is_right)


def test_overlap_is_found_where_names_give_the_answer_away() -> None:
    assert measure(make_pairs("{organ} cell", "{other} cell")) > 0.95


def test_a_shared_word_that_speaks_against_the_triplet_is_found_too() -> None:
    assert measure(make_pairs("{other} cell", "{organ} cell")) > 0.95


def test_nothing_is_found_where_true_and_false_tails_resemble_the_head_alike() -> None:
    """Both share the organ; which of the two words is true depends on nothing in the names."""
    triplets = make_pairs("{organ} cell", "{organ} duct")
    coin = pl.col("pair_id").map_elements(lambda pair: draw_one("01", pair) == "1", return_dtype=pl.Boolean)
    drawn = triplets.with_columns(is_positive=pl.col("is_positive") ^ coin)
    assert measure(drawn) == pytest.approx(0.5, abs=0.07)
    assert measure(make_pairs("cell of {other}", "duct of {other}")) == pytest.approx(0.5, abs=0.07)


def test_tail_guesser_finds_what_the_tail_alone_reveals() -> None:
    revealing = make_pairs("{other} cell", "{other} duct")
    assert measure(revealing, "tail") == 1.0
    assert measure(revealing, "tail", fold_by="tail") == 1.0


def test_no_rule_over_new_tails_finds_anything_where_each_tail_is_as_often_true_as_false() -> None:
    swapped = make_pairs("{organ} cell", "{other} cell").with_columns(is_positive=~pl.col("is_positive"))
    balanced = pl.concat([make_pairs("{organ} cell", "{other} cell"), swapped])
    assert measure(balanced, "tail", fold_by="tail") == 0.5


def test_guesses_depend_neither_on_the_order_of_rows_nor_on_threads() -> None:
    triplets = make_pairs("{organ} cell", "{other} {organ}").with_columns(
        is_positive=pl.Series([draw_one("01", str(i)) == "1" for i in range(2 * N_HEADS)])
    )
    expected = triplets.with_columns(guess=guess_truth("overlap", "r", triplets)).sort("head", "tail")
    shuffled = triplets.sample(fraction=1, shuffle=True, seed=1)
    with threadpool_limits(limits=2):
        found = shuffled.with_columns(guess=guess_truth("overlap", "r", shuffled)).sort("head", "tail")
    assert found.equals(expected)
    assert 0 < expected["guess"].sum() < len(expected)


def test_a_relation_with_one_head_is_guessed_false() -> None:
    triplets = make_pairs("{organ} cell", "{other} cell").head(2)
    assert guess_truth("overlap", "r", triplets).to_list() == [False, False]
