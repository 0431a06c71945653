"""The answers to worked questions about editions, texts and runs, computed from the Parquet files."""

import json

import polars as pl
import pytest

from tests.support.analyst_folder import RELATIONS, AnalystFolder
from tests.support.checked_answers import answers, by_edition
from tests.support.known_models import FAILED, KNOWN, LARGE, REFUSED, SMALL, knows
from tests.support.stage_rows import Row


@answers("Did a model get better or worse from edition to edition?")
def check_trend(folder: AnalystFolder, rows: list[Row]) -> None:
    assert [(r["model"], r["edition_id"]) for r in rows] == [
        (m, e) for m in (LARGE, SMALL) for e in folder.editions
    ]
    assert rows[0]["mastery"] - rows[1]["mastery"] > 0.1
    assert KNOWN[LARGE] == (70, 50)


@answers("How far did scores fall on the facts that two editions share?")
def check_drift(folder: AnalystFolder, rows: list[Row]) -> None:
    assert [row["model"] for row in rows] == [LARGE, SMALL]
    heads = [
        set(folder.read("triplets", e).filter(split="test").select("relation", "head").rows())
        for e in folder.editions
    ]
    assert [row["n_heads"] for row in rows] == [len(heads[0] & heads[1])] * 2
    assert rows[0]["mastery_difference_ci_low"] > 0
    assert rows[1]["mastery_difference"] == 0


@answers("How much do two editions overlap?")
def check_overlap(folder: AnalystFolder, rows: list[Row]) -> None:
    first, second = (
        set(folder.read("triplets", e).filter(split="test")["triplet_id"]) for e in folder.editions
    )
    assert [(r["edition_id"], r["other_edition_id"]) for r in rows] == [folder.editions]
    assert rows[0]["shared_rate"] == pytest.approx(len(first & second) / len(first))


@answers("What exactly was a model asked, and what did it say?")
def check_prompt(folder: AnalystFolder, rows: list[Row]) -> None:
    assert rows
    for row in rows:
        assert row["prompt"].count("Statement:") == 6
        assert row["text"] in row["prompt"].rpartition("Statement:")[2]
        assert (row["prompt_style"], row["n_demonstrations_dropped"]) == ("completion", 0)
        assert json.loads(row["sampling"])["max_tokens"] == 8
        assert row["response"].strip() in ("True", "False", "<think>Let me see")


@answers("Which models did not finish thinking?")
def check_unfinished(folder: AnalystFolder, rows: list[Row]) -> None:
    assert [(row["edition_id"], row["model"]) for row in rows] == [(e, SMALL) for e in folder.editions]
    for row in rows:
        cut = folder.read_predictions(SMALL, row["edition_id"])["is_unfinished_reasoning"].fill_null(
            value=False
        )
        assert row["unfinished_reasoning_rate"] == pytest.approx(cut.mean())


@answers("Which prompts failed, and why?")
def check_failed(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "model", "error") == {e: [(LARGE, REFUSED)] for e in folder.editions}
    expected = [folder.read_predictions(LARGE, e)["error"].drop_nulls().len() for e in folder.editions]
    assert [row["n_prompts"] for row in rows] == expected


@answers("Which models have no score, and why?")
def check_not_evaluated(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "model") == {e: [(FAILED,)] for e in folder.editions}
    assert {row["reason"] for row in rows} == {"http://127.0.0.1:9/v1 cannot be reached"}


@answers("How many rewordings did the gate accept?")
def check_gate(folder: AnalystFolder, rows: list[Row]) -> None:
    attempts = folder.read("attempts", folder.editions[0])
    assert by_edition(rows, "relation", "writer").keys() == {folder.editions[0]}
    assert {row["relation"] for row in rows} == set(RELATIONS)
    for row in rows:
        own = attempts.filter(relation=row["relation"])
        assert (row["writer"], row["n_attempts"]) == ("writer", own.height)
        assert row["acceptance_rate"] == pytest.approx(own["is_accepted"].mean())


@answers("Why did the gate reject rewordings?")
def check_reasons(folder: AnalystFolder, rows: list[Row]) -> None:
    samples = folder.read("samples", folder.editions[0]).filter(split="test", method="pretexeval")
    tried = folder.read("attempts", folder.editions[0]).join(samples, on="variant_id", how="semi")
    expected = (
        tried.explode("reasons").drop_nulls("reasons").group_by("reasons").agg(pl.col("variant_id").len())
    )
    assert {row["reason"]: row["n_rejected"] for row in rows} == dict(expected.rows())


@answers("How different are the samples from their statements and from each other?")
def check_diversity(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "method") == {e: [("pretexeval",), ("prototype",)] for e in folder.editions}
    assert {row["lexical_distance"] for row in rows if row["method"] == "prototype"} == {0}
    reworded = {row["edition_id"]: row["lexical_distance"] for row in rows if row["method"] == "pretexeval"}
    assert 0 < reworded[folder.editions[0]] < reworded[folder.editions[1]]


@answers("What does a fact look like that a model masters from all sides?")
def check_mastered_point(folder: AnalystFolder, rows: list[Row]) -> None:
    assert len(rows) == 20
    assert {row["facet"] for row in rows} == {"comparison", "verification", "rectification", "discrimination"}
    assert all(row["prediction"] == row["answer"] for row in rows)
    assert all(knows(LARGE, row["head"], row["edition_id"]) for row in rows)


@answers("Do the repeats of a question agree?")
def check_repeats(folder: AnalystFolder, rows: list[Row]) -> None:
    found = {(row["model"], row["facet"]): row["agreement"] for row in rows}
    assert len(found) == 8
    for model in (LARGE, SMALL):
        assert found[model, "verification"] == 1
        assert 2 / 3 < found[model, "comparison"] < 1
    assert found[LARGE, "comparison"] > found[SMALL, "comparison"]


@answers("How long do answers take, and how many tokens do they have?")
def check_tokens(folder: AnalystFolder, rows: list[Row]) -> None:
    for row in rows:
        paths = (folder.root / "predictions" / row["edition_id"]).glob(f"{row['model']}-*/run.json")
        (n_asked,) = (pl.read_json(path)["n_asked"].item() for path in paths)
        assert row["seconds_per_prompt"] == pytest.approx(1 / n_asked)
    assert [row["prompt_tokens"] for row in rows if row["model"] == SMALL] == [100, 100]
    assert all(2 <= row["completion_tokens"] < 4 for row in rows if row["model"] == SMALL)


@answers("What did an edition cost?")
def check_cost(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "role", "model") == {
        folder.editions[0]: [("rephraser", "writer"), ("evaluated", LARGE), ("evaluated", SMALL)],
        folder.editions[1]: [("evaluated", LARGE), ("evaluated", SMALL)],
    }
    for row in rows:
        paid = row["n_prompt_tokens"] * 2 / 1e6 + row["n_completion_tokens"] * 10 / 1e6
        assert row["cost"] == (None if row["model"] == SMALL else pytest.approx(paid))
        assert row["price_currency"] == (None if row["model"] == SMALL else "USD")
    # Each distinct prompt of an attempt has 50 tokens, and each answer to one has 20.
    n_prompts = folder.read("attempts", folder.editions[0])["prompt_key"].n_unique()
    assert (rows[0]["n_prompt_tokens"], rows[0]["n_completion_tokens"]) == (50 * n_prompts, 20 * n_prompts)


@answers("What did the validation of an edition find?")
def check_validation(folder: AnalystFolder, rows: list[Row]) -> None:
    stages = ("questions", "samples", "statements", "triplets", "variants")
    assert by_edition(rows, "stage") == {folder.editions[1]: [(stage,) for stage in stages]}
    for row in rows:
        assert row["n_rows"] == folder.read(row["stage"]).height
        assert row["n_expectations"] > 15
        assert row["n_warnings"] == 0


@answers("Were all models asked in the same way?")
def check_styles(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "model") == {e: [(LARGE,), (SMALL,)] for e in folder.editions}
    for row in rows:
        paths = folder.root / "predictions" / row["edition_id"] / f"{row['model']}-*/requests/*.parquet"
        asked = pl.read_parquet(paths).select("prompt_style", "sampling").unique()
        assert asked["prompt_style"].to_list() == [row["prompt_style"]]
        sampling = json.loads(asked["sampling"].item())
        assert (row["max_tokens"], row["temperature"]) == (
            str(sampling["max_tokens"]),
            str(sampling["temperature"]),
        )


@answers("How do I take a selection along?")
def check_selection(folder: AnalystFolder, rows: list[Row]) -> None:
    wrong = [
        folder.read_predictions(model, e).filter(method="pretexeval", is_correct=False).height
        for model in (LARGE, SMALL)
        for e in folder.editions
    ]
    assert len(rows) == sum(wrong)
    assert all(row["prediction"] != row["label"] for row in rows)
