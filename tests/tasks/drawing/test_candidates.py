from random import Random

from hypothesis import given
from hypothesis import strategies as st

from tasks.drawing.candidates import Candidates, collect_candidates
from tests.support.small_bases import as_facts, as_rows, row_lists


def find(candidates: Candidates, head: str) -> tuple[tuple[str, ...], frozenset[str]]:
    """Return the tails that may be the head's positive, and those that may not be its negative."""
    return next((h.tails, h.excluded) for h in candidates.heads if h.name == head)


def test_heads_and_pool_are_sorted_and_distinct() -> None:
    found = collect_candidates("r", as_facts({"b": ["z", "y"], "a": ["y"], "B": ["y"]}))
    assert found.relation == "r"
    assert [h.name for h in found.heads] == ["B", "a", "b"]
    assert found.pool == ("y", "z")
    assert find(found, "b")[0] == ("y", "z")


def test_truth_is_tested_on_folded_names() -> None:
    facts = {"Angina": ["chest pain"], "angina.": ["Dyspnea"], "Gout": ["Chest-Pain", "Itch"]}
    found = collect_candidates("r", as_facts(facts))
    assert find(found, "Angina") == (
        ("chest pain",),
        frozenset({"chest pain", "Chest-Pain", "Dyspnea"}),
    )


def test_truth_is_tested_on_the_tails_of_all_heads_with_the_same_id() -> None:
    rows = [
        {"head": "a", "head_id": "1", "tail": "t"},
        {"head": "b", "head_id": "1", "tail": "u"},
        {"head": "c", "head_id": "2", "tail": "v"},
    ]
    found = collect_candidates("r", as_rows(rows))
    assert find(found, "a") == (("t",), frozenset({"t", "u"}))
    assert find(found, "c") == (("v",), frozenset({"v"}))


def test_name_with_several_ids_excludes_the_tails_of_all_of_them() -> None:
    rows = [
        {"head": "a", "head_id": "1", "tail": "t"},
        {"head": "a", "head_id": "2", "tail": "t"},
        {"head": "b", "head_id": "1", "tail": "u"},
        {"head": "c", "head_id": "2", "tail": "v"},
        {"head": "d", "head_id": "3", "tail": "w"},
    ]
    for ordered in (rows, rows[::-1]):
        found = collect_candidates("r", as_rows(ordered))
        assert find(found, "a")[1] == {"t", "u", "v"}


def test_tails_with_the_same_id_are_excluded_together() -> None:
    rows = [
        {"head": "a", "tail": "t", "tail_id": "9"},
        {"head": "b", "tail": "tau", "tail_id": "9"},
        {"head": "c", "tail": "u", "tail_id": "8"},
    ]
    assert find(collect_candidates("r", as_rows(rows)), "a")[1] == {"t", "tau"}


def test_also_true_tails_are_neither_tested_nor_negatives() -> None:
    rows: list[dict[str, object]] = [
        {"head": "a", "tail": "t"},
        {"head": "a", "tail": "u", "also_true": True},
        {"head": "a", "tail": "only also true", "also_true": True},
        {"head": "b", "tail": "u"},
    ]
    found = collect_candidates("r", as_rows(rows))
    assert found.pool == ("t", "u")
    assert find(found, "a") == (("t",), frozenset({"t", "u"}))


def test_head_is_never_its_own_negative_and_its_own_positive_only_if_it_has_no_other() -> None:
    rows = [
        {"head": "Pain", "head_id": "1", "tail": "t"},
        {"head": "b", "tail": "pain"},
        {"head": "c", "tail": "ache", "tail_id": "1"},
        {"head": "d", "tail": "D"},
        {"head": "e", "tail": "E"},
        {"head": "e", "tail": "t"},
    ]
    found = collect_candidates("r", as_rows(rows))
    assert find(found, "Pain")[1] == {"t", "pain", "ache"}
    assert find(found, "d")[0] == ("D",)
    assert find(found, "e") == (("t",), frozenset({"E", "t"}))


@given(row_lists(), st.randoms(use_true_random=False))
def test_order_of_rows_does_not_matter(rows: list[dict[str, object]], random: Random) -> None:
    shuffled = list(rows)
    random.shuffle(shuffled)
    assert collect_candidates("r", as_rows(rows)) == collect_candidates("r", as_rows(shuffled))
