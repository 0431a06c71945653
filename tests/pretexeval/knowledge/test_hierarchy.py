"""The hierarchy of a base, and the facts that are never asked, because they are general or say nothing."""

from collections.abc import Iterable
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import HIERARCHY, KnowledgeBase
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
        ("r", "Unknown Physiological Effect", f"{PLACEHOLDER} (1 heads)"),
        ("r", "back pain", f"{REPEATED} (1 heads)"),
        ("r", "other", f"{PLACEHOLDER} (1 heads)"),
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
    assert {item.reason for item in base.left_out} == {f"{ROOT} (1 heads)", NO_FACT.format(ROOT)}


def test_general_tails_are_not_asked_in_relations_of_possibility() -> None:
    """Of 200 heads, 11 have "pain" (5.5 %) and 10 have "fever" (5 %)."""
    facts = [(f"h{i:03}", f"t{i}") for i in range(200)]
    facts += [(f"h{i:03}", "pain") for i in range(11)] + [(f"h{i:03}", "fever") for i in range(10)]
    general, base = {"pain", "fever"}, leave(facts, is_possible=True)
    assert general & {tail for _, tail in list_tested(leave(facts))} == general
    assert general & {tail for _, tail in list_tested(base)} == {"fever"}
    assert [item.reason for item in base.left_out] == [f"{GENERAL.format(5)} (11 heads)"]
    # A tail of few heads is not general in a small relation.
    small = [(f"h{i}", f"t{i}") for i in range(20)] + [(f"h{i}", "pain") for i in range(9)]
    assert leave(small, is_possible=True).left_out == ()
