"""The hierarchy of a base: which edges are kept, as which keys, and which files are errors."""

from pathlib import Path
from typing import Literal

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError

BASE = "head,relation,tail,tail_id\nepilepsy,r,Focal seizure,H3\ngout,r,Pain,H9\n"
EDGES = [("id:H1", "id:H0"), ("id:H2", "id:H1"), ("id:H3", "id:H2"), ("id:H9", "id:H0")]
QUERY = "select child_id, parent_id, 1 as other from read_csv($path || '/hierarchy.csv', all_varchar = true)"


def read(
    folder: Path,
    hierarchy: str,
    name: str = "hierarchy.csv",
    conflicts: Literal["stop", "leave_out"] = "stop",
) -> KnowledgeBase:
    (folder / "facts.csv").write_text(BASE)
    (folder / name).write_text(hierarchy)
    path = folder / "facts.csv"
    return read_knowledge_base(
        KnowledgeConfig(name="own", format="table", path=path, hierarchy=folder / name, conflicts=conflicts)
    )


def test_only_edges_above_the_tails_are_kept(tmp_path: Path) -> None:
    pairs = "child_id,parent_id\nH9,H0\nH3,H2\nH2,H1\nH2,H1\nH1,H0\nH1,H1\nH4,H3\nH8,H7\n"
    base = read(tmp_path, pairs)
    assert base.hierarchy.rows() == EDGES
    # The names beside the ids do not count.
    named = "child_id,parent_id,child,parent\nH1,H0,a,b\nH2,H1,a,b\nH9,H0,a,b\nH3,H2,Pain,b\n"
    shuffled = read(tmp_path, named)
    assert base.checksum_hierarchy() == shuffled.checksum_hierarchy() != ""
    assert base.checksum_hierarchy() != read(tmp_path, "child_id,parent_id\nH3,H2\n").checksum_hierarchy()
    assert KnowledgeBase("own", base.triplets).checksum_hierarchy() == ""


def test_names_are_compared_as_those_of_the_base(tmp_path: Path) -> None:
    base = read(tmp_path, "child\tparent\nFOCAL  seizure\tSeizure.\nseizure\tAll\n", "hierarchy.tsv")
    assert base.hierarchy.rows() == [("name:focal seizure", "name:seizure"), ("name:seizure", "name:all")]


def test_a_query_reads_the_files_of_the_base(tmp_path: Path) -> None:
    read(tmp_path, "child_id,parent_id\nH3,H2\nH7,H6\n")
    facts, hierarchy = tmp_path / "facts.sql", tmp_path / "hierarchy.sql"
    facts.write_text("select * from read_csv($path || '/facts.csv', all_varchar = true)")
    hierarchy.write_text(QUERY)
    config = KnowledgeConfig(name="own", format="sql", path=tmp_path, query=facts, hierarchy=hierarchy)
    assert read_knowledge_base(config).hierarchy.rows() == [("id:H3", "id:H2")]
    with pytest.raises(InputError, match="needs a path of"):
        read_knowledge_base(KnowledgeConfig(hierarchy=hierarchy))


def test_a_circle_is_an_error_with_its_members_or_is_left_out(tmp_path: Path) -> None:
    pairs = "child_id,parent_id\nH3,H2\nH2,H1\nH1,H3\nH1,H0\nH9,H8\nH8,H9\nH0,H7\n"
    with pytest.raises(InputError, match=r"csv: H1, H2, H3\n    hierarchy.csv: H8, H9"):
        read(tmp_path, pairs)
    base = read(tmp_path, pairs, conflicts="leave_out")
    assert base.hierarchy.rows() == [("id:H0", "id:H7"), ("id:H1", "id:H0")]
    assert [item.what for item in base.left_out] == ["H1, H2, H3", "H8, H9"]


@pytest.mark.parametrize(
    ("table", "problem"),
    [
        ("child_id,parent_id\nH3,H2\nH2,\n", "1 rows have no child_id or no parent_id"),
        ("child_id,parent\nH3,H2\n", "has no pairs in child_id and parent_id, or in child and parent"),
        ("child,parent\nA,B,C\n", "line 2: has 3 fields"),
    ],
)
def test_a_hierarchy_that_cannot_be_used_is_an_error(tmp_path: Path, table: str, problem: str) -> None:
    with pytest.raises(InputError, match=problem):
        read(tmp_path, table)
