"""The facts of a relation: which tails can be tested with a head, and which may not be false of it."""

from typing import Any

import polars as pl

from tasks.drawing.relation_facts import RelationFacts, SameNames
from tests.support.small_bases import as_facts, as_rows, find_excluded, index_facts


def find(facts: RelationFacts, head: str) -> tuple[list[str], list[str]]:
    """Return the tails that may be the head's positive, and those that may not be its negative."""
    tested = facts.list_tested(pl.DataFrame({"head": [head]}))["tail"]
    return sorted(tested), sorted(find_excluded(facts)[head])


def test_heads_and_tails_are_sorted_and_distinct() -> None:
    facts = index_facts(as_facts({"b": ["z", "y"], "a": ["y"], "B": ["y"]}))
    assert facts.heads["head"].to_list() == ["B", "a", "b"]
    assert facts.tails.to_list() == ["y", "z"]
    assert find(facts, "b")[0] == ["y", "z"]


def test_truth_is_tested_on_folded_names() -> None:
    names = {"Angina": ["chest pain"], "angina.": ["Dyspnea"], "Gout": ["Chest-Pain", "Itch"]}
    assert find(index_facts(as_facts(names)), "Angina") == (
        ["chest pain"],
        ["Chest-Pain", "Dyspnea", "chest pain"],
    )


def test_truth_is_tested_on_the_tails_of_all_heads_with_an_id_of_the_head() -> None:
    rows = [
        {"head": "a", "head_id": "1", "tail": "t"},
        {"head": "a", "head_id": "2", "tail": "t"},
        {"head": "b", "head_id": "1", "tail": "u"},
        {"head": "c", "head_id": "2", "tail": "v"},
        {"head": "d", "head_id": "3", "tail": "w"},
    ]
    for ordered in (rows, rows[::-1]):
        assert find(index_facts(as_rows(ordered)), "a") == (["t"], ["t", "u", "v"])
        assert find(index_facts(as_rows(ordered)), "d") == (["w"], ["w"])


def test_tails_with_the_same_id_are_excluded_together() -> None:
    rows = [
        {"head": "a", "tail": "t", "tail_id": "9"},
        {"head": "b", "tail": "tau", "tail_id": "9"},
        {"head": "c", "tail": "u", "tail_id": "8"},
    ]
    assert find(index_facts(as_rows(rows)), "a")[1] == ["t", "tau"]


def test_also_true_tails_are_neither_tested_nor_negatives() -> None:
    rows: list[dict[str, Any]] = [
        {"head": "a", "tail": "t"},
        {"head": "a", "tail": "u", "also_true": True},
        {"head": "a", "tail": "only also true", "also_true": True},
        {"head": "b", "tail": "u"},
    ]
    facts = index_facts(as_rows(rows))
    assert facts.tails.to_list() == ["t", "u"]
    assert find(facts, "a") == (["t"], ["t", "u"])


def test_head_is_never_its_own_negative() -> None:
    rows = [
        {"head": "Pain", "head_id": "1", "tail": "t"},
        {"head": "b", "tail": "pain"},
        {"head": "c", "tail": "ache", "tail_id": "1"},
        {"head": "d", "tail": "D"},
        {"head": "e", "tail": "E"},
        {"head": "e", "tail": "t"},
    ]
    facts = index_facts(as_rows(rows))
    assert find(facts, "Pain")[1] == ["ache", "pain", "t"]
    assert find(facts, "e")[1] == ["E", "t"]


def test_names_are_the_same_through_shared_keys() -> None:
    keys = [("Fever", "fever"), ("fever", "fever"), ("fever", "1"), ("Pyrexia", "1"), ("Pyrexia", "2")]
    same = SameNames([*keys, ("Hot", "2"), ("Cough", "cough"), ("Itch", "itch")])
    assert same.find_groups(["Fever", "fever", "Pyrexia", "Hot"]) == {"Fever"}
    assert same.list_same(["Hot", "Cough", "never seen"]) == {
        *("Fever", "fever", "Pyrexia", "Hot"),
        *("Cough", "never seen"),
    }
