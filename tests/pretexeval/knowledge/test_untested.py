"""Facts that are never asked, because they say nothing or because their tail is general."""

from collections.abc import Iterable

import polars as pl

from pretexeval.knowledge.base import HIERARCHY, KnowledgeBase
from pretexeval.knowledge.untested import GENERAL, NO_FACT, PLACEHOLDER, REPEATED, ROOT, leave_untested
from tests.support.small_bases import as_rows


def leave(
    facts: Iterable[tuple[str, str]], edges: Iterable[tuple[str, str]] = (), *, is_possible: bool = False
) -> KnowledgeBase:
    rows = as_rows({"head": head, "tail": tail} for head, tail in facts).sort("relation", "head", "tail")
    keys = [(f"name:{child}", f"name:{parent}") for child, parent in edges]
    base = KnowledgeBase("own", rows, hierarchy=pl.DataFrame(keys, schema=HIERARCHY, orient="row"))
    return leave_untested(base, ["r"] if is_possible else [], 0.05)


def list_tested(base: KnowledgeBase) -> set[tuple[str, str]]:
    return set(base.triplets.filter(~pl.col("also_true")).select("head", "tail").iter_rows())


def test_a_tail_that_repeats_its_head_or_says_nothing_is_not_asked() -> None:
    base = leave(
        [
            ("Pain, Back", "back pain"),
            ("Pain, Back", "stiffness"),
            ("gout", "Unknown Physiological Effect"),
            ("scabies", "other"),
            ("flu", "Otherness"),
            ("flu", "influenza"),
        ]
    )
    assert list_tested(base) == {("Pain, Back", "stiffness"), ("flu", "Otherness"), ("flu", "influenza")}
    assert base.triplets.height == 6
    assert [(item.where, item.what, item.reason) for item in base.left_out] == [
        ("r", "Unknown Physiological Effect", f"{PLACEHOLDER} (1 heads)"),
        ("r", "back pain", f"{REPEATED} (1 heads)"),
        ("r", "other", f"{PLACEHOLDER} (1 heads)"),
        ("r", "gout", NO_FACT),
        ("r", "scabies", NO_FACT),
    ]


def test_a_tail_with_the_id_of_its_head_is_not_asked() -> None:
    rows = as_rows([{"head": "a", "head_id": "1", "tail": "b", "tail_id": "1"}, {"head": "a", "tail": "c"}])
    assert list_tested(leave_untested(KnowledgeBase("own", rows), [], 0.05)) == {("a", "c")}


def test_the_root_and_what_is_above_all_tails_are_not_asked() -> None:
    """ "all" is the root; "abnormality" is above all other tails; "unrelated" is not in the hierarchy."""
    edges = [("abnormality", "all"), ("seizure", "abnormality"), ("focal seizure", "seizure")]
    edges.append(("tremor", "abnormality"))
    tails = ("all", "abnormality", "seizure", "focal seizure", "unrelated", "tremor")
    base = leave([(f"h{i}", tail) for i, tail in enumerate(tails)], edges)
    assert {tail for _, tail in list_tested(base)} == {"seizure", "focal seizure", "unrelated", "tremor"}
    assert {item.reason for item in base.left_out} == {f"{ROOT} (1 heads)", NO_FACT}


def test_general_tails_are_not_asked_in_relations_of_possibility() -> None:
    """Of 200 heads, 11 have "pain" (5.5 %) and 10 have "fever" (5 %)."""
    facts = [(f"h{i:03}", f"t{i}") for i in range(200)]
    facts += [(f"h{i:03}", "pain") for i in range(11)] + [(f"h{i:03}", "fever") for i in range(10)]
    assert {"pain", "fever"} <= {tail for _, tail in list_tested(leave(facts))}
    base = leave(facts, is_possible=True)
    assert "pain" not in {tail for _, tail in list_tested(base)}
    assert "fever" in {tail for _, tail in list_tested(base)}
    assert [item.reason for item in base.left_out] == [f"{GENERAL.format(5)} (11 heads)"]
    # A tail of few heads is not general in a small relation.
    small = [(f"h{i}", f"t{i}") for i in range(20)] + [(f"h{i}", "pain") for i in range(9)]
    assert leave(small, is_possible=True).left_out == ()
