"""How a budget of prompts is divided over the relations."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pretexeval.primitives.errors import InputError
from tasks.evaluation.evaluation import RelationSize, divide_budget


def divide(budget: int, *n_pairs: int, n_repeats: int = 1) -> list[int]:
    """Return the pairs asked of relations a, b, … with so many pairs of 16 prompts."""
    sizes = {relation: RelationSize(n, 16) for relation, n in zip("abcdef", n_pairs, strict=False)}
    return list(divide_budget(budget, sizes, n_repeats).values())


def test_relations_are_asked_equal_numbers_of_pairs() -> None:
    assert divide(16 * 9, 100, 100, 100) == [3, 3, 3]


def test_a_small_relation_leaves_its_share_to_the_others() -> None:
    assert divide(16 * 30, 100, 4, 100) == [13, 4, 13]


def test_what_remains_goes_to_the_first_relations_by_name() -> None:
    assert divide(16 * 11 + 15, 100, 100, 3) == [4, 4, 3]
    assert divide(16 * 12, 100, 100, 3) == [5, 4, 3]


def test_repeats_cost_prompts() -> None:
    assert divide(16 * 12, 100, 100, n_repeats=3) == [2, 2]


def test_a_relation_without_test_pairs_is_asked_nothing() -> None:
    assert divide(16 * 2, 0, 1, 5) == [0, 1, 1]
    assert divide(5, 0, 0) == [0, 0]


def test_a_budget_for_less_than_a_pair_of_each_relation_is_refused() -> None:
    assert divide(48, 9, 9, 9) == [1, 1, 1]
    with pytest.raises(InputError, match=r"budget = 47 is too small: .* 3 relations .* give 48 or more"):
        divide(47, 9, 9, 9)


@given(st.lists(st.integers(1, 40), min_size=1, max_size=6), st.integers(0, 150))
def test_a_budget_is_used_up_and_a_larger_one_asks_no_relation_less(n_pairs: list[int], n: int) -> None:
    n += len(n_pairs)
    fewer, more = divide(16 * n, *n_pairs), divide(16 * n + 16, *n_pairs)
    assert sum(fewer) == min(n, sum(n_pairs))
    assert all(a <= b <= size for a, b, size in zip(fewer, more, n_pairs, strict=True))
    assert all(max(fewer) - 1 <= k or k == size for k, size in zip(fewer, n_pairs, strict=True))
