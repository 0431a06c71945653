"""Evaluations that ask each pair until its first wrong answer."""

from dataclasses import replace

import polars as pl

from pretexeval.primitives.hashing import hash_text
from tasks.evaluation.evaluation import Evaluation
from tasks.evaluation.run_record import is_complete
from tests.support.evaluations import ask_model, finish
from tests.tasks.evaluation.conftest import Serve


def answer_some(prompt: str) -> str:
    """Return True or False by the hash of the text alone, mostly True."""
    return " True" if int(hash_text(prompt), 16) % 8 else " False"


def read_predictions(evaluation: Evaluation) -> pl.DataFrame:
    folder = evaluation.root / evaluation.folder
    requests = pl.read_parquet(folder / "requests/*.parquet").select("item_id", "weight")
    samples = pl.read_parquet(evaluation.root / "editions" / evaluation.edition_id / "samples/*.parquet")
    return (
        pl.read_parquet(folder / "predictions/*.parquet")
        .join(requests, on="item_id")
        .join(samples.rename({"sample_id": "item_id"}), on="item_id")
    )


def master(predictions: pl.DataFrame) -> dict[str, bool]:
    return dict(predictions.group_by("pair_id").agg(pl.col("is_correct").all()).rows())


def test_mastery_is_the_same_with_fewer_prompts_and_a_later_run_asks_only_the_rest(serve: Serve) -> None:
    everything = serve("all", answer_some)
    finish(everything, ask_model(everything))
    enough = replace(serve("enough", answer_some), ask="enough")
    report = ask_model(enough)
    finish(enough, report)
    assert is_complete(enough)
    all_rows, some = read_predictions(everything), read_predictions(enough)
    assert master(some) == master(all_rows)
    assert report.n_samples == report.n_asked == some.height < 0.75 * all_rows.height
    assert report.n_not_needed == all_rows.height - some.height
    # What counts in averages is one sample of each triplet, or all of a pair.
    counted = some.filter(pl.col("weight") > 0)
    assert counted.group_by("triplet_id").agg(pl.col("weight").sum())["weight"].unique().to_list() == [8]
    rest = replace(enough, ask="all")
    assert not is_complete(rest)
    assert ask_model(rest).n_asked == all_rows.height - some.height
    # Stored answers are used, so that nothing is asked.
    again = replace(everything, ask="enough")
    assert ask_model(again).n_asked == 0
