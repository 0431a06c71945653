"""Scores are kept as files: a publication computes only what has changed, and never shows what is stale."""

import shutil

import pytest

from pretexeval.statistics import intervals
from tests.support.data_folder import DataFolder, expert, polarity
from tests.warehouse.conftest import EDITION, druggist, publish_signs
from warehouse import scoring
from warehouse.publishing import build_warehouse

ROWS = "from {} order by all"


@pytest.fixture
def computed(monkeypatch: pytest.MonkeyPatch) -> list[str]:
    """Return a list of the functions that compute rows, which grows as they are called."""
    calls: list[str] = []
    for name in ("_score", "_compare_alone", "_compare_two", "_compare_editions"):
        compute = getattr(scoring.EditionScorer, name)

        def note(*arguments: object, name: str = name, compute: object = compute) -> object:
            calls.append(name)
            return compute(*arguments)  # type: ignore[operator]

        monkeypatch.setattr(scoring.EditionScorer, name, note)
    return calls


def publish_again(data: DataFolder) -> None:
    (data.root / "warehouse.duckdb").unlink()
    build_warehouse(data.root)


def test_only_what_changed_is_computed_and_nothing_stale_is_shown(
    data: DataFolder, computed: list[str]
) -> None:
    data.write_answers(EDITION, "druggist", druggist)
    build_warehouse(data.root)
    assert sorted(computed) == ["_compare_alone"] * 2 + ["_compare_two"] + ["_score"] * 2
    before = [data.query(ROWS.format(table)) for table in ("scores", "differences")]
    computed.clear()
    publish_again(data)
    assert computed == []
    assert [data.query(ROWS.format(table)) for table in ("scores", "differences")] == before

    data.write_answers(EDITION, "third", polarity)
    build_warehouse(data.root)
    assert sorted(computed) == ["_compare_alone", "_compare_two", "_compare_two", "_score"]
    assert len(data.query("from leaderboard")) == 3

    computed.clear()
    data.write_answers(EDITION, "druggist", expert)
    publish_again(data)
    assert sorted(computed) == ["_compare_alone", "_compare_two", "_compare_two", "_score"]
    kept = [data.query(ROWS.format(table)) for table in ("scores", "differences")]
    shutil.rmtree(data.root / "scores")
    publish_again(data)
    assert [data.query(ROWS.format(table)) for table in ("scores", "differences")] == kept


@pytest.mark.long
def test_a_damaged_file_of_scores_is_computed_again(data: DataFolder, computed: list[str]) -> None:
    build_warehouse(data.root)
    before = data.query(ROWS.format("scores"))
    path = data.root / "scores" / EDITION / "scores.parquet"
    content = bytearray(path.read_bytes())
    for damage in (bytes(content[:100]), bytes([*content[:40], content[40] ^ 1, *content[41:]])):
        path.write_bytes(damage)
        computed.clear()
        publish_again(data)
        assert computed == ["_score"]
        assert data.query(ROWS.format("scores")) == before


def test_scores_of_an_edition_that_is_gone_are_removed(data: DataFolder) -> None:
    build_warehouse(data.root)
    shutil.rmtree(data.root / "predictions" / EDITION)
    data.write_edition("other-seed1-00000002")
    publish_again(data)
    assert list((data.root / "scores").glob("*/*.parquet")) == []


def test_a_difference_of_few_pairs_has_no_interval_and_no_rank_above_another(
    tmp_path_factory: pytest.TempPathFactory, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Two models that differ in everything share their ranks where there are too few pairs to tell."""
    monkeypatch.setattr(intervals, "MIN_CLUSTERS", 10)
    rules = (expert, polarity)
    for n_pairs, ranks in ((8, [(1, 2), (1, 2)]), (30, [(1, 1), (2, 2)])):
        data = publish_signs(tmp_path_factory.mktemp("signs") / "data", n_pairs, rules)
        rows = data.query("select rank_low, rank_high from leaderboard order by rank")
        assert [(row["rank_low"], row["rank_high"]) for row in rows] == ranks
        (row,) = data.query("from model_comparison")
        is_told = n_pairs >= 10
        assert row["mastery_difference"] == 1
        for name in ("difference", "mastery_difference"):
            assert (row[f"{name}_ci_low"] is not None) == (row[f"{name}_ci_high"] is not None) == is_told
        assert (row["p_value"] is not None) == is_told
        limits = data.query("select mastery_above_shortcut_ci_low as low from leaderboard")
        assert {limit["low"] is not None for limit in limits} == {is_told}
