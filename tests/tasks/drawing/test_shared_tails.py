from collections import Counter

import pytest

from tasks.drawing import shared_tails
from tasks.drawing.relation_facts import SameNames
from tasks.drawing.shared_tails import Taker, share_tails

NO_SAME = SameNames([])


def make_taker(i: int, n_tails: int = 7, **changes: object) -> Taker:
    values: dict[str, object] = {
        "name": f"head {i}",
        "right": (f"tail {i % n_tails}",),
        "wrong": (),
        "n_wrong": 3,
    }
    values |= dict.fromkeys(("forbidden", "asserted"), frozenset())
    return Taker(**(values | changes))  # type: ignore[arg-type]


def test_large_relations_are_shared_in_parts(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(shared_tails, "MAX_HEADS", 20)
    monkeypatch.setattr(shared_tails, "FACTS_AT_ONCE", 6)
    takers = [make_taker(i) for i in range(50)]
    given = share_tails(takers, NO_SAME, "1")
    assert set(given) == {taker.name for taker in takers}
    for taker in takers:
        assert len(set(given[taker.name]) - set(taker.right)) == 3
    counts = Counter(tail for tails in given.values() for tail in tails)
    right = Counter(tail for taker in takers for tail in taker.right)
    assert all(abs(counts[tail] - 3 * right[tail]) <= 3 for tail in right)


def test_forbidden_and_same_tails_are_not_given_and_wrong_ones_stay() -> None:
    same = SameNames([("tail 0", "id:1"), ("tail 1", "id:1")])
    forbidden = frozenset({"tail 2"})
    takers = [make_taker(i, wrong=("tail 6",) if i % 7 < 3 else (), forbidden=forbidden) for i in range(28)]
    for taker in takers:
        given = share_tails(takers, same, "1")[taker.name]
        assert len(given) == 3
        assert given[: len(taker.wrong)] == taker.wrong
        assert "tail 2" not in given
        options = {*given, *taker.right}
        assert len(options) == 4
        assert not {"tail 0", "tail 1"} <= options


def test_a_head_without_enough_tails_gets_fewer() -> None:
    takers = [make_taker(i, n_tails=3) for i in range(9)]
    assert {len(tails) for tails in share_tails(takers, NO_SAME, "1").values()} == {2}


def test_asserted_tails_are_preferred_and_keep_the_balance() -> None:
    takers = [make_taker(i, asserted=frozenset({f"tail {(i + 3) % 7}"})) for i in range(35)]
    given = share_tails(takers, NO_SAME, "1")
    assert all(taker.asserted <= set(given[taker.name]) for taker in takers)
    assert set(Counter(tail for tails in given.values() for tail in tails).values()) == {15}


def test_tails_go_to_heads_that_resemble_them_as_much() -> None:
    """A pain is true of heads with which it shares a word, and an ache of heads with which it shares none."""
    words = ("renal", "lung", "liver", "skin", "heart")
    takers = []
    for i, word in enumerate(words):
        for k in range(16):
            takers.append(make_taker(0, name=f"{word} disease {k}", right=(f"{word} pain {k % 4}",)))
            takers.append(make_taker(0, name=f"{word} disorder {k}", right=(f"{words[i - 1]} ache {k % 4}",)))
    given = share_tails(takers, NO_SAME, "1")
    n_given = Counter(
        (tail.split()[1], tail.split()[0] == name.split()[0])
        for name, tails in given.items()
        for tail in tails
    )
    assert n_given["pain", True] > 10 * n_given["pain", False]
    assert n_given["ache", False] > 10 * n_given["ache", True]
