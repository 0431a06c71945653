"""Older releases of a base: only new facts are tested, or all facts with their age."""

from pathlib import Path
from typing import Any

import polars as pl
import pytest
from pydantic import ValidationError

from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.releases import HEAD_LEFT, MORE_GENERAL, TAIL_LEFT
from tasks.drawing.pieces import TripletSampling, choose_heads
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write
from tests.support.small_bases import find_excluded

HEADER = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
NEW = "gout,r,colchicine,,,,\nasthma,r,salbutamol,,,C1,D1\nfever,r,aspirin,,,,\n"


def read_since(folder: Path, new: str, older: str, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    release = {"name": "older", "path": write(folder / "older.csv", HEADER + older), "test": "new"}
    return read_own(write(folder / "new.csv", HEADER + new), releases=[release], **settings)


@pytest.mark.parametrize(
    "older", ["Asthma,r,SALBUTAMOL.,,,,\n", "wheezing,r,albuterol,,,C1,D1\n", "asthma,r,salbutamol,true,,,\n"]
)
def test_a_fact_of_the_older_release_is_known_by_name_or_id(tmp_path: Path, older: str) -> None:
    base = read_since(tmp_path, NEW, older)
    assert list_tested(base) == [("fever", "aspirin"), ("gout", "colchicine")]
    assert base.n_known == 1


def test_nothing_that_either_release_holds_is_a_negative(tmp_path: Path) -> None:
    # The new release lacks one fact of the older one, and denies another.
    older = "gout,r,salbutamol,,,,\nfever,r,acetylsalicylic acid,,,,\ngout,r,aspirin,,,,\n"
    new = NEW + "fever,r,salbutamol,true,,,\ngout,r,aspirin,,true,,\n"
    aliases = write(tmp_path / "aliases.csv", "name,alias\naspirin,acetylsalicylic acid\n")
    facts = collect_facts(read_since(tmp_path, new, older, aliases=aliases), "r")
    heads = facts.heads.select("head")
    # fever → aspirin is known by the alias; gout → aspirin is neither true enough nor false enough.
    assert sorted(facts.list_tested(heads).rows()) == [("asthma", "salbutamol"), ("gout", "colchicine")]
    assert find_excluded(facts) == {"asthma": {"salbutamol"}, "gout": {"colchicine", "salbutamol"}}
    assert facts.list_false(heads, facts.list_true(heads)).is_empty()


def test_a_fact_that_follows_from_an_older_one_by_the_hierarchy_is_known(tmp_path: Path) -> None:
    new = "gout,r,Pain,,,,H1\nasthma,r,Pain,,,C1,H1\nmumps,r,Foot pain,,,,H3\ncroup,r,Pain,,,,H1\n"
    older = "Gout,r,Old foot pain,,,,H4\nx,r,Foot pain,,,C1,H3\nmumps,r,Pain,,,,H1\ncroup,s,Foot pain,,,,H3\n"
    hierarchy = write(tmp_path / "hierarchy.csv", "child_id,parent_id\nH4,H3\nH3,H2\nH2,H1\n")
    base = read_since(tmp_path, new, older, hierarchy=hierarchy)
    assert list_tested(base) == [("croup", "Pain"), ("mumps", "Foot pain")]
    assert base.n_known == 2
    # The edges above what only the older release holds are there, because it is true as well.
    assert ("id:H4", "id:H3") in base.hierarchy.rows()


def test_relations_without_a_new_fact_are_left_out(tmp_path: Path) -> None:
    base = read_since(tmp_path, NEW + "gout,s,toe,,,,\n", "gout,s,toe,,,,\n")
    assert base.relations == ["r"]
    assert base.left_out == (LeftOut("s", "the relation", "the older release holds all its facts"),)
    same = write(tmp_path / "same.csv", HEADER + NEW)
    release = {"name": "same", "path": same, "test": "new"}
    assert "the older release holds all facts of the base 'own'" in read_error(same, releases=[release])


def test_the_age_of_a_fact_is_the_oldest_release_that_holds_it(tmp_path: Path) -> None:
    path = write(tmp_path / "new.csv", HEADER + NEW)
    rows = {"2021": "Gout,r,colchicine,,,,\n", "2023": "gout,r,colchicine,,,,\nx,r,y,,,C1,D1\n"}
    releases = [{"name": n, "path": write(tmp_path / f"{n}.csv", HEADER + text)} for n, text in rows.items()]
    base = read_own(path, releases=releases)
    ages = base.triplets.select("head", "first_release").rows()
    assert ages == [("asthma", "2023"), ("fever", "new"), ("gout", "2021")]
    assert base.checksum_relation("r") == read_own(path).checksum_relation("r")


NOW = "Gout,r,Pain,,,C1,T1\nGout,r,Fever,,true,C1,T2\nMumps,r,Rash,,,C2,T3\nAsthma,r,Foot pain,,,C3,T4\n"


def read_changes(folder: Path, older: str, now: str = NOW, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    table: dict[str, Any] = {
        "hierarchy": write(folder / "h.csv", "child_id,parent_id\nT4,T1\nT7,T4\nT9,T6\n"),
        "releases": [
            {"name": "2021", "path": write(folder / "older.csv", HEADER + older), "test": "changes"}
        ],
    }
    return read_own(write(folder / "now.csv", HEADER + now), **table | settings)


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
    base = read_changes(tmp_path, older + "Mumps,r,Rash,,,C2,T3\n")
    assert list_removed(base) == removed
    assert [item.reason for item in base.left_out] == ([] if reason is None else [reason])
    ages = base.triplets.filter(head="Mumps", tail="Rash")["first_release"].to_list()
    assert ages == ["2021"]


def test_a_fact_that_the_base_denies_now_is_reversed(tmp_path: Path) -> None:
    base = read_changes(tmp_path, "gout,r,FEVER,,,,\n")
    assert base.also_false.select("head", "tail", "first_release").rows() == [("Gout", "Fever", "reversed")]
    plain = read_changes(tmp_path, "Gout,r,Pain,,,,\n")
    assert plain.also_false["first_release"].to_list() == [None]
    assert base.checksum_ages("r") != plain.checksum_ages("r")


def test_origins_take_turns_and_a_removed_fact_is_neither_negative_nor_demonstration(tmp_path: Path) -> None:
    kept = [(f"h{i}", f"t{tail}") for i in range(40) for tail in (i % 9, (i + 4) % 9)]
    new = [(f"h{i}", f"t{(i + 2) % 9}") for i in range(20)]
    removed = {(f"h{i}", f"t{(i + 6) % 9}") for i in range(15, 30)}
    now, older = (
        "".join(f"{head},r,{tail},,,,\n" for head, tail in rows) for rows in (kept + new, [*kept, *removed])
    )
    base = read_changes(tmp_path, older, now)
    assert set(list_removed(base)) == removed
    facts = collect_facts(base, "r", evidence=())
    chosen = choose_heads(facts, TripletSampling(1, heads_per_relation=15))
    origins = dict(facts.origins.iter_rows())
    counts = [sum(origins[head] == origin for head in chosen.tested) for origin in ("kept", "new", "removed")]
    assert max(counts) - min(counts) <= 1
    assert all(origins[head] == "kept" for head in chosen.demonstrations["head"])
    for seed in range(10):
        triplets = draw_triplets(base, "r", TripletSampling(seed, "uniform"))
        false = triplets.filter(~pl.col("is_positive")).select("head", "tail").rows()
        assert removed.isdisjoint(false)
        tested = triplets.filter("is_positive", first_release="removed").select("head", "tail").rows()
        assert set(tested) <= removed
        assert len(tested) == len({head for head, _ in removed})


def test_a_release_has_a_name_of_its_own_and_one_of_them_is_compared(tmp_path: Path) -> None:
    old, other = ({"name": name, "path": "x", "test": "new"} for name in ("old", "other"))
    for message, releases in {
        "releases names 'removed' twice, or as the facts": [old | {"name": "removed"}],
        "releases names 'old' twice": [old, old | {"test": "all"}],
        "test is set in several releases": [old, other],
    }.items():
        with pytest.raises(ValidationError, match=message):
            read_changes(tmp_path, NOW, releases=releases)
