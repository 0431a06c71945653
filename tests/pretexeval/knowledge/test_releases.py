"""Older releases of a base: only new facts are tested, or all facts with their age."""

from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from tasks.drawing.relation_facts import collect_facts
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write
from tests.support.small_bases import find_excluded

HEADER = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
NEW = "gout,r,colchicine,,,,\nasthma,r,salbutamol,,,C1,D1\nfever,r,aspirin,,,,\n"


def read_since(folder: Path, new: str, older: str, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    release = {"name": "older", "path": write(folder / "older.csv", HEADER + older), "test": "new"}
    return read_own(write(folder / "new.csv", HEADER + new), releases=[release], **settings)


def test_a_fact_of_the_older_release_is_known_by_name_or_id(tmp_path: Path) -> None:
    for older in (
        "Asthma,r,SALBUTAMOL.,,,,\n",
        "wheezing,r,albuterol,,,C1,D1\n",
        "asthma,r,salbutamol,true,,,\n",
    ):
        base = read_since(tmp_path, NEW, older)
        assert list_tested(base) == [("fever", "aspirin"), ("gout", "colchicine")], older
        assert base.n_known == 1, older


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


def test_a_release_has_a_name_of_its_own_and_one_of_them_is_compared(tmp_path: Path) -> None:
    old, other = ({"name": name, "path": "x", "test": "new"} for name in ("old", "other"))
    for message, releases in {
        "releases names 'new' twice, or as the facts": [old | {"name": "new"}],
        "releases names 'old' twice": [old, old | {"test": "all"}],
        "test is set in several releases": [old, other],
    }.items():
        with pytest.raises(ValidationError, match=message):
            read_own(write(tmp_path / "now.csv", HEADER + NEW), releases=releases)
