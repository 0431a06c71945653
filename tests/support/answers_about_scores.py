"""The answers to worked questions about scores, computed from the rules by which the models answer."""

import polars as pl
import pytest

from prototypes.pool import load_pool
from tests.support.analyst_folder import AnalystFolder
from tests.support.checked_answers import answers, by_edition, list_known
from tests.support.known_models import LARGE, SMALL, knows
from tests.support.stage_rows import Row


@answers("Which model knows most, and how sure is that?")
def check_leaderboard(folder: AnalystFolder, rows: list[Row]) -> None:
    assert [(r["edition_id"], r["model"]) for r in rows] == [
        (e, m) for e in folder.editions for m in (LARGE, SMALL)
    ]
    for row in rows:
        known = list_known(folder, row["model"], row["edition_id"])
        n_pairs = folder.read("triplets", row["edition_id"]).filter(split="test", is_positive=True).height
        n_complete = n_pairs - 2 * (row["model"] == LARGE)
        assert row["mastery"] == pytest.approx(len(known) / n_complete)
        assert row["mastery_ci_low"] < row["mastery"] < row["mastery_ci_high"]


@answers("Is a model better than rules without medical knowledge?")
def check_shortcuts(folder: AnalystFolder, rows: list[Row]) -> None:
    for row in rows:
        assert row["mastery_above_shortcut"] == pytest.approx(row["mastery"] - row["best_shortcut_mastery"])
        assert row["best_shortcut_mastery"] >= 0.25 - 1e-9
    assert [r["model"] for r in rows if r["mastery_above_shortcut_ci_low"] > 0][:1] == [LARGE]


@answers("Which relations does a model know worst?")
def check_relations(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "relation") == {
        e: [("symptoms",), ("therapeutic_drugs",)] for e in folder.editions
    }
    assert [row["mastery"] for row in rows if row["relation"] == "symptoms"] == [0, 0]
    assert all(row["mastery"] > 0.1 for row in rows if row["relation"] == "therapeutic_drugs")


@answers("Which facts does one model master, and another one not?")
def check_mastered_by_one(folder: AnalystFolder, rows: list[Row]) -> None:
    found = by_edition(rows, "relation", "head")
    for edition_id in folder.editions:
        expected = list_known(folder, LARGE, edition_id) - list_known(folder, SMALL, edition_id)
        assert found[edition_id] == sorted(expected)
    assert len(found[folder.editions[0]]) > len(found[folder.editions[1]]) > 0


@answers("Do two models agree more than by chance?")
def check_kappa(folder: AnalystFolder, rows: list[Row]) -> None:
    from sklearn.metrics import cohen_kappa_score

    assert [row["edition_id"] for row in rows] == sorted(folder.editions)
    for row in rows:
        one, other = (folder.read_predictions(m, row["edition_id"]) for m in (LARGE, SMALL))
        both = one.join(other, on="sample_id").drop_nulls(["prediction", "prediction_right"])
        assert row["kappa"] == pytest.approx(cohen_kappa_score(both["prediction"], both["prediction_right"]))
        assert 0.05 < row["kappa"] < 0.95


@answers("Which facts are hardest for all models?")
def check_hardest(folder: AnalystFolder, rows: list[Row]) -> None:
    assert len(rows) == 20
    assert {row["n_models"] for row in rows} == {2}
    frames = [folder.read_predictions(m, rows[0]["edition_id"]) for m in (LARGE, SMALL)]
    asked = pl.concat(frames, how="diagonal").filter(method="pretexeval").drop_nulls("is_correct")
    easiest_first = asked.group_by("pair_id").agg(pl.col("is_correct").mean()).sort("is_correct")
    assert [row["accuracy"] for row in rows] == pytest.approx(easiest_first["is_correct"][:20].to_list())


@answers("Which wording fails?")
def check_wording(folder: AnalystFolder, rows: list[Row]) -> None:
    assert {(r["relation"], r["transformation"]) for r in rows[:2]} == {("symptoms", "inv_dn")}
    assert {r["edition_id"] for r in rows[:2]} == set(folder.editions)
    prototypes = load_pool("revised").relations
    for row in rows:
        assert row["wording"] == prototypes[row["relation"]].cells[row["transformation"]].prototype
        asked = folder.read_predictions(SMALL, row["edition_id"]).filter(
            method="prototype", relation=row["relation"], transformation=row["transformation"]
        )
        assert row["average_accuracy"] == pytest.approx(asked["is_correct"].mean())


@answers("Does a model simply say true?")
def check_bias(folder: AnalystFolder, rows: list[Row]) -> None:
    assert by_edition(rows, "model") == {e: [(SMALL,), (LARGE,)] for e in folder.editions}
    for row in rows:
        given = folder.read_predictions(row["model"], row["edition_id"]).filter(method="pretexeval")[
            "prediction"
        ]
        assert row["true_rate"] == pytest.approx(given.drop_nulls().mean())
    assert [row["constant_answer"] for row in rows] == [None] * 4


@answers("For which facts does a model say true to both twins?")
def check_both_twins(folder: AnalystFolder, rows: list[Row]) -> None:
    found = by_edition(rows, "relation", "head")
    for edition_id in folder.editions:
        plain = folder.read_predictions(SMALL, edition_id).filter(method="pretexeval", transformation="none")
        answered = plain.group_by("relation", "head").agg(pl.col("prediction").sum())
        assert found[edition_id] == sorted(
            answered.filter(pl.col("prediction") == 2).select("relation", "head").rows()
        )
        assert not any(knows(SMALL, str(head), edition_id) for _, head in found[edition_id])


@answers("Which false triplets fool the models?")
def check_fooled(folder: AnalystFolder, rows: list[Row]) -> None:
    assert [row["n_models"] for row in rows] == sorted((row["n_models"] for row in rows), reverse=True)
    assert rows[0]["n_models"] == 2
    for row in rows:
        assert not (row["n_models"] == 2 and knows(LARGE, row["head"], row["edition_id"]))
