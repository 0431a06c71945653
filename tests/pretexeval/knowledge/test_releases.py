"""Only facts that an older release lacks are tested, and nothing that is true of either is a negative."""

from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from tasks.drawing.relation_facts import collect_facts
from tests.support.small_bases import find_excluded

HEADER = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
NEW = "gout,r,colchicine,,,,\nasthma,r,salbutamol,,,C1,D1\nfever,r,aspirin,,,,\n"


def write_csv(folder: Path, name: str, rows: str) -> Path:
    (folder / name).write_text(HEADER + rows, encoding="utf-8")
    return folder / name


def read(
    folder: Path, new: str, older: str, aliases: str = "", hierarchy: Path | None = None
) -> KnowledgeBase:
    (folder / "aliases.csv").write_text(aliases, encoding="utf-8")
    config = KnowledgeConfig(
        name="own",
        format="table",
        path=write_csv(folder, "new.csv", new),
        since=write_csv(folder, "older.csv", older),
        aliases=folder / "aliases.csv" if aliases else None,
        hierarchy=hierarchy,
    )
    return read_knowledge_base(config)


def list_tested(base: KnowledgeBase) -> list[tuple[str, ...]]:
    return base.triplets.filter(~pl.col("also_true")).select("head", "tail").rows()


@pytest.mark.parametrize(
    "older",
    ["Asthma,r,SALBUTAMOL.,,,,\n", "wheezing,r,albuterol,,,C1,D1\n", "asthma,r,salbutamol,true,,,\n"],
)
def test_a_fact_of_the_older_release_is_known_by_name_or_id(tmp_path: Path, older: str) -> None:
    base = read(tmp_path, NEW, older)
    assert list_tested(base) == [("fever", "aspirin"), ("gout", "colchicine")]
    assert base.n_known == 1


def test_a_fact_is_known_by_an_alias(tmp_path: Path) -> None:
    base = read(tmp_path, NEW, "pyrexia,r,aspirin,,,,\n", "name,alias\nfever,pyrexia\n")
    assert list_tested(base) == [("asthma", "salbutamol"), ("gout", "colchicine")]


def test_nothing_that_either_release_holds_is_a_negative(tmp_path: Path) -> None:
    # The new release lacks one fact of the older one, and denies another.
    older = "gout,r,salbutamol,,,,\nfever,r,acetylsalicylic acid,,,,\ngout,r,aspirin,,,,\n"
    new = NEW + "fever,r,salbutamol,true,,,\ngout,r,aspirin,,true,,\n"
    base = read(tmp_path, new, older, "name,alias\naspirin,acetylsalicylic acid\n")
    facts = collect_facts(base, "r")
    heads = facts.heads.select("head")
    # fever → aspirin is known by the alias; gout → aspirin is neither true enough nor false enough.
    assert sorted(facts.list_tested(heads).rows()) == [("asthma", "salbutamol"), ("gout", "colchicine")]
    assert find_excluded(facts) == {"asthma": {"salbutamol"}, "gout": {"colchicine", "salbutamol"}}
    assert facts.list_false(heads, facts.list_true(heads)).is_empty()


def test_a_fact_that_follows_from_an_older_one_by_the_hierarchy_is_known(tmp_path: Path) -> None:
    new = "gout,r,Pain,,,,H1\nasthma,r,Pain,,,C1,H1\nmumps,r,Foot pain,,,,H3\ncroup,r,Pain,,,,H1\n"
    older = "Gout,r,Old foot pain,,,,H4\nx,r,Foot pain,,,C1,H3\nmumps,r,Pain,,,,H1\ncroup,s,Foot pain,,,,H3\n"
    hierarchy = "child_id,parent_id\nH4,H3\nH3,H2\nH2,H1\n"
    (tmp_path / "hierarchy.csv").write_text(hierarchy)
    base = read(tmp_path, new, older, hierarchy=tmp_path / "hierarchy.csv")
    assert list_tested(base) == [("croup", "Pain"), ("mumps", "Foot pain")]
    assert base.n_known == 2
    # The edges above what only the older release holds are there, because it is true as well.
    assert ("id:H4", "id:H3") in base.hierarchy.rows()


def test_relations_without_a_new_fact_are_left_out(tmp_path: Path) -> None:
    base = read(tmp_path, NEW + "gout,s,toe,,,,\n", "gout,s,toe,,,,\n")
    assert base.relations == ["r"]
    assert base.left_out == (LeftOut("s", "the relation", "the older release holds all its facts"),)
    with pytest.raises(InputError, match="the older release holds all facts of the base 'own'"):
        read(tmp_path, NEW, NEW)


def test_the_age_of_a_fact_is_the_oldest_release_that_holds_it(tmp_path: Path) -> None:
    path = write_csv(tmp_path, "new.csv", NEW)
    releases = [
        {"name": "2021", "path": write_csv(tmp_path, "2021.csv", "Gout,r,colchicine,,,,\n")},
        {"name": "2023", "path": write_csv(tmp_path, "2023.csv", "gout,r,colchicine,,,,\nx,r,y,,,C1,D1\n")},
    ]
    config = KnowledgeConfig.model_validate(
        {"name": "own", "format": "table", "path": path, "releases": releases}
    )
    base = read_knowledge_base(config)
    ages = base.triplets.select("head", "first_release").rows()
    assert ages == [("asthma", "2023"), ("fever", "new"), ("gout", "2021")]
    plain = read_knowledge_base(config.model_copy(update={"releases": ()}))
    assert base.checksum_relation("r") == plain.checksum_relation("r")
