"""Facts that a release holds and the base no longer lists are removed only if both ends are still there."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.changes import HEAD_LEFT, MORE_GENERAL, TAIL_LEFT
from pretexeval.knowledge.reader import read_knowledge_base
from tasks.drawing.heads import TripletSampling, choose_heads
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets

HEADER = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
NOW = "Gout,r,Pain,,,C1,T1\nGout,r,Fever,,true,C1,T2\nMumps,r,Rash,,,C2,T3\nAsthma,r,Foot pain,,,C3,T4\n"
HIERARCHY = "child_id,parent_id\nT4,T1\nT7,T4\nT9,T6\n"


def read(folder: Path, older: str, now: str = NOW, settings: dict[str, Any] | None = None) -> KnowledgeBase:
    for name, text in (("now.csv", HEADER + now), ("older.csv", HEADER + older), ("h.csv", HIERARCHY)):
        (folder / name).write_text(text)
    table: dict[str, Any] = {
        "name": "own",
        "format": "table",
        "path": folder / "now.csv",
        "hierarchy": folder / "h.csv",
        "releases": [{"name": "2021", "path": folder / "older.csv"}],
        "changes": True,
    }
    return read_knowledge_base(KnowledgeConfig.model_validate(table | (settings or {})))


def list_removed(base: KnowledgeBase) -> list[tuple[str, str]]:
    removed = base.triplets.filter(pl.col("first_release") == "removed", ~pl.col("also_true"))
    return removed.select("head", "tail").rows()


@pytest.mark.parametrize(
    ("older", "removed", "reason"),
    [
        pytest.param("Gout,r,Rash,,,C1,T3\n", [("Gout", "Rash")], None, id="both ends are there"),
        pytest.param("Gout,r,Blister,,,C1,T6\n", [], TAIL_LEFT, id="the tail has left"),
        pytest.param("Gout,r,Old rash,,,C1,T3\n", [("Gout", "Rash")], None, id="the tail has another name"),
        pytest.param("Old gout,r,Rash,,,C1,T3\n", [("Gout", "Rash")], None, id="the head has another name"),
        pytest.param("Gout,r,Rash,,,C9,T3\n", [], HEAD_LEFT, id="a head of the same name and another id"),
        pytest.param("Measles,r,Rash,,,C8,T3\n", [], HEAD_LEFT, id="the head has left"),
        pytest.param("Gout,r,Toe pain,,,C1,T7\n", [], MORE_GENERAL, id="the base says it more generally"),
        pytest.param("Asthma,r,Pain,,,C3,T1\n", [], None, id="the base implies it"),
        pytest.param("Mumps,r,Toe pain,,,C2,T7\n", [("Mumps", "Toe pain")], None, id="only in the hierarchy"),
        pytest.param("Gout,r,Fever,,,C1,T2\n", [], None, id="the base asserts that it is false"),
        pytest.param("Gout,r,Rash,true,,C1,T3\n", [], None, id="it was undecided"),
        pytest.param("Gout,s,Rash,,,C1,T3\n", [], None, id="another relation"),
    ],
)
def test_a_fact_is_removed_only_for_a_reason(
    tmp_path: Path, older: str, removed: list[tuple[str, str]], reason: str | None
) -> None:
    base = read(tmp_path, older + "Mumps,r,Rash,,,C2,T3\n")
    assert list_removed(base) == removed
    assert [item.reason for item in base.left_out] == ([] if reason is None else [reason])
    ages = dict(base.triplets.filter(head="Mumps", tail="Rash").select("tail", "first_release").iter_rows())
    assert ages == {"Rash": "2021"}


def test_a_fact_that_the_base_denies_now_is_reversed(tmp_path: Path) -> None:
    base = read(tmp_path, "gout,r,FEVER,,,,\n")
    assert base.also_false.select("head", "tail", "first_release").rows() == [("Gout", "Fever", "reversed")]
    plain = read(tmp_path, "Gout,r,Pain,,,,\n")
    assert plain.also_false["first_release"].to_list() == [None]
    assert base.checksum_ages("r") != plain.checksum_ages("r")


def test_origins_take_turns_and_a_removed_fact_is_neither_negative_nor_demonstration(tmp_path: Path) -> None:
    kept = [(f"h{i}", f"t{tail}") for i in range(40) for tail in (i % 9, (i + 4) % 9)]
    new = [(f"h{i}", f"t{(i + 2) % 9}") for i in range(20)]
    removed = {(f"h{i}", f"t{(i + 6) % 9}") for i in range(15, 30)}
    now, older = (
        "".join(f"{head},r,{tail},,,,\n" for head, tail in rows) for rows in (kept + new, [*kept, *removed])
    )
    base = read(tmp_path, older, now)
    assert set(list_removed(base)) == removed
    facts = collect_facts(base, "r", evidence=())
    chosen = choose_heads(facts, TripletSampling(1, heads_per_relation=15))
    origins = dict(facts.origins.iter_rows())
    counts = [sum(origins[head] == origin for head in chosen.tested) for origin in ("kept", "new", "removed")]
    assert max(counts) - min(counts) <= 1
    assert all(origins[head] == "kept" for head in chosen.demonstrations["head"])
    for seed in range(20):
        triplets = draw_triplets(base, "r", TripletSampling(seed, "uniform"))
        false = triplets.filter(~pl.col("is_positive")).select("head", "tail").rows()
        assert removed.isdisjoint(false)
        tested = triplets.filter("is_positive", first_release="removed").select("head", "tail").rows()
        assert set(tested) <= removed
        assert len(tested) == len({head for head, _ in removed})


@pytest.mark.parametrize(
    ("settings", "message"),
    [
        ({"releases": []}, "name one in releases"),
        ({"since": "older.csv"}, "without since"),
        ({"releases": [{"name": "removed", "path": "x"}]}, "releases names 'removed' twice, or as the facts"),
    ],
)
def test_changes_need_a_release(tmp_path: Path, settings: dict[str, Any], message: str) -> None:
    with pytest.raises(ValidationError, match=message):
        read(tmp_path, NOW, settings=settings)
