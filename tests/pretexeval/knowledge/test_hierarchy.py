"""The hierarchy of a base, and the facts that are never asked, because they are general or say nothing."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import HIERARCHY, UNUSED, KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.knowledge.untested import GENERAL, NO_FACT, PLACEHOLDER, REPEATED, ROOT, leave_untested
from pretexeval.primitives.errors import InputError
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write
from tests.support.small_bases import as_rows

CIRCLES = "child_id,parent_id\nH3,H2\nH2,H1\nH1,H3\nH1,H0\nH9,H8\nH8,H9\nH0,H7\n"


@pytest.fixture
def path(tmp_path: Path) -> Path:
    rows = "epilepsy,r,Focal seizure,H3\ngout,r,Pain,H9\n"
    return write(tmp_path / "facts.csv", "head,relation,tail,tail_id\n" + rows)


def read(path: Path, hierarchy: str, name: str = "hierarchy.csv") -> KnowledgeBase:
    return read_own(path, hierarchy=write(path.parent / name, hierarchy))


def test_only_edges_above_the_tails_are_kept(path: Path) -> None:
    pairs = "child_id,parent_id\nH9,H0\nH3,H2\nH2,H1\nH2,H1\nH1,H0\nH1,H1\nH4,H3\nH8,H7\n"
    base = read(path, pairs)
    edges = [("H1", "H0"), ("H2", "H1"), ("H3", "H2"), ("H9", "H0")]
    assert base.hierarchy.rows() == [(f"id:{child}", f"id:{parent}") for child, parent in edges]
    # The names beside the ids do not count.
    named = "child_id,parent_id,child,parent\nH1,H0,a,b\nH2,H1,a,b\nH9,H0,a,b\nH3,H2,Pain,b\n"
    assert base.checksum_hierarchy() == read(path, named).checksum_hierarchy() != ""
    assert base.checksum_hierarchy() != read(path, "child_id,parent_id\nH3,H2\n").checksum_hierarchy()
    assert KnowledgeBase("own", base.triplets).checksum_hierarchy() == ""


def test_names_are_compared_as_those_of_the_base(path: Path) -> None:
    base = read(path, "child\tparent\nFOCAL  seizure\tSeizure.\nseizure\tAll\n", "hierarchy.tsv")
    assert base.hierarchy.rows() == [("name:focal seizure", "name:seizure"), ("name:seizure", "name:all")]


OBO = "http://purl.obolibrary.org/obo/"


@pytest.mark.parametrize("tail_id", ["HP:0000003", "HP_0000003", f"{OBO}HP_0000003"])
@pytest.mark.parametrize("prefix", ["HP:", "HP_", f"{OBO}HP_", "https://bioregistry.io/HP:"])
def test_an_id_of_an_ontology_is_the_same_in_each_spelling(tmp_path: Path, tail_id: str, prefix: str) -> None:
    rows = f"epilepsy,r,Focal seizure,{tail_id}\ngout,r,Pain,HP:0000009\n"
    path = write(tmp_path / "facts.csv", "head,relation,tail,tail_id\n" + rows)
    base = read(path, f"child_id,parent_id\n{prefix}0000003,{prefix}0000002\n")
    assert (base.hierarchy.rows(), base.left_out) == ([("id:HP:0000003", "id:HP:0000002")], ())
    aliases = write(tmp_path / "aliases.csv", f"id,alias\n{prefix}0000003,Partial seizure\n")
    assert read_own(path, aliases=aliases).aliases == {"Focal seizure": ("Partial seizure",)}


COLUMNS = "head_id and tail_id, or the hierarchy the columns child and parent with names"


@pytest.mark.parametrize(
    ("rows", "hierarchy", "found"),
    [
        (
            "gout,r,Pain,E00.0",
            "child_id,parent_id\nE000,E00\n",
            "ids such as 'E00', and the base has 'E00.0'",
        ),
        ("gout,r,Pain,", "child_id,parent_id\nE000,E00\n", f"no ids: give the base the columns {COLUMNS}"),
        ("gout,r,Pain,E000", "child,parent\ngouts,joint\n", "names such as 'gouts', and the base has 'pain'"),
        ("gout,r,Pain,E000", "child_id,parent_id\nE000,E00\n", None),
        ("gout,r,Pain,", "child,parent\nGOUT,joint\n", None),
    ],
)
def test_a_hierarchy_without_the_names_of_the_base_is_named(
    tmp_path: Path, rows: str, hierarchy: str, found: str | None
) -> None:
    base = read(write(tmp_path / "facts.csv", f"head,relation,tail,tail_id\n{rows}\n"), hierarchy)
    assert [(item.where, item.reason) for item in base.left_out] == [("hierarchy.csv", UNUSED)] * bool(found)
    for item in base.left_out:
        assert "0 of 2 heads and tails are in it" in item.what
        assert str(found) in item.what


def test_a_circle_is_an_error_with_its_members_or_is_left_out(path: Path) -> None:
    hierarchy = write(path.parent / "hierarchy.csv", CIRCLES)
    assert "csv: H1, H2, H3\n    hierarchy.csv: H8, H9" in read_error(path, hierarchy=hierarchy)
    base = read_own(path, hierarchy=hierarchy, conflicts="leave_out")
    assert base.hierarchy.rows() == [("id:H0", "id:H7"), ("id:H1", "id:H0")]
    assert [item.what for item in base.left_out] == ["H1, H2, H3", "H8, H9"]


def test_a_query_for_the_hierarchy_needs_a_path(tmp_path: Path) -> None:
    with pytest.raises(InputError, match="needs a path of"):
        read_knowledge_base(KnowledgeConfig(hierarchy=tmp_path / "edges.sql"))


def leave(
    facts: Iterable[tuple[str, str]], edges: Iterable[tuple[str, str]] = (), *, is_possible: bool = False
) -> KnowledgeBase:
    rows = as_rows({"head": head, "tail": tail} for head, tail in facts).sort("relation", "head", "tail")
    keys = [(f"name:{child}", f"name:{parent}") for child, parent in edges]
    base = KnowledgeBase("own", rows, hierarchy=pl.DataFrame(keys, schema=HIERARCHY, orient="row"))
    return leave_untested(base, ["r"] if is_possible else [], 0.05)


def test_a_tail_that_repeats_its_head_or_says_nothing_is_not_asked() -> None:
    asked = [("Pain, Back", "stiffness"), ("flu", "Otherness"), ("flu", "influenza")]
    unasked = [("Pain, Back", "back pain"), ("gout", "Unknown Physiological Effect"), ("scabies", "other")]
    base = leave([*asked, *unasked])
    assert list_tested(base) == asked
    assert base.triplets.height == 6
    assert [(item.where, item.what, item.reason) for item in base.left_out] == [
        ("r", "Unknown Physiological Effect", f"{PLACEHOLDER} (heads: 1)"),
        ("r", "back pain", f"{REPEATED} (heads: 1)"),
        ("r", "other", f"{PLACEHOLDER} (heads: 1)"),
        ("r", "gout", NO_FACT.format(PLACEHOLDER)),
        ("r", "scabies", NO_FACT.format(PLACEHOLDER)),
    ]
    rows = as_rows([{"head": "a", "head_id": "1", "tail": "b", "tail_id": "1"}, {"head": "a", "tail": "c"}])
    assert list_tested(leave_untested(KnowledgeBase("own", rows), [], 0.05)) == [("a", "c")]


def test_the_root_and_what_is_above_all_tails_are_not_asked() -> None:
    """ "all" is the root; "abnormality" is above all other tails; "unrelated" is not in the hierarchy."""
    edges = [("abnormality", "all"), ("seizure", "abnormality"), ("focal seizure", "seizure")]
    edges.append(("tremor", "abnormality"))
    tails = ("all", "abnormality", "seizure", "focal seizure", "unrelated", "tremor")
    base = leave([(f"h{i}", tail) for i, tail in enumerate(tails)], edges)
    assert {tail for _, tail in list_tested(base)} == {"seizure", "focal seizure", "unrelated", "tremor"}
    assert {item.reason for item in base.left_out} == {f"{ROOT} (heads: 1)", NO_FACT.format(ROOT)}


def test_general_tails_are_not_asked_in_relations_of_possibility() -> None:
    """Of 200 heads, 11 have "pain" (5.5 %) and 10 have "fever" (5 %)."""
    facts = [(f"h{i:03}", f"t{i}") for i in range(200)]
    facts += [(f"h{i:03}", "pain") for i in range(11)] + [(f"h{i:03}", "fever") for i in range(10)]
    general, base = {"pain", "fever"}, leave(facts, is_possible=True)
    assert general & {tail for _, tail in list_tested(leave(facts))} == general
    assert general & {tail for _, tail in list_tested(base)} == {"fever"}
    assert [item.reason for item in base.left_out] == [f"{GENERAL.format(5)} (heads: 11)"]
    # A tail of few heads is not general in a small relation.
    small = [(f"h{i}", f"t{i}") for i in range(20)] + [(f"h{i}", "pain") for i in range(9)]
    assert leave(small, is_possible=True).left_out == ()
