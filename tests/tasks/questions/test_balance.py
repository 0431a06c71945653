"""Under balanced negatives, an option is wrong in the ratio in which all options are."""

from collections import Counter
from collections.abc import Sequence

import polars as pl
import pytest

from pretexeval.knowledge.base import KnowledgeBase
from tasks.drawing.heads import Policy, TripletSampling
from tasks.drawing.pieces import Piece
from tasks.drawing.relation_facts import collect_facts
from tasks.edition.triplets import draw_triplets
from tasks.questions.options import Options, draw_options
from tasks.questions.points import Points, collect_points
from tests.support.small_bases import as_facts, make_facts, needs_reference, read_medlama


def draw(rows: pl.DataFrame, policy: Policy) -> tuple[Points, list[Options]]:
    """Return the points of a relation, and the options of those that are tested."""
    relation, sampling, base = rows["relation"][0], TripletSampling(1, policy), KnowledgeBase("own", rows)
    triplets = draw_triplets(base, relation, sampling)
    points = collect_points(collect_facts(base, relation), Piece(relation), triplets, sampling)
    options = draw_options(points, sampling)
    return points, [options[point.name] for point in points.tested]


def count_mcq(options: Sequence[Options]) -> tuple[Counter[str], Counter[str]]:
    """Return how often each tail is a right option of an MCQ, and how often a wrong one."""
    wrong = Counter(tail for found in options for tail in found.false)
    return Counter(found.true for found in options), wrong


def test_a_tail_is_wrong_three_times_as_often_as_it_is_right() -> None:
    right, wrong = count_mcq(draw(as_facts(make_facts(60, 20)), "balanced")[1])
    assert wrong == Counter({tail: 3 * count for tail, count in right.items()})


def test_a_tail_that_is_true_of_most_heads_is_wrong_for_all_others() -> None:
    """It cannot be wrong three times as often as it is right. Each of the other tails is wrong more often."""
    facts = {f"head {i}": ["common" if i % 3 else f"rare {i % 7}"] for i in range(63)}
    points, options = draw(as_facts(facts), "balanced")
    right, wrong = count_mcq(options)
    n_others = sum(facts[point.name] != ["common"] for point in points.tested)
    assert wrong["common"] == n_others < 3 * right["common"]
    shares = [wrong[tail] / right[tail] for tail in right if tail != "common"]
    assert min(shares) > 3
    assert max(shares) < 1.5 * min(shares)


def test_the_true_tails_of_negated_questions_follow_the_false_one() -> None:
    """Each head has all of ten tails but two, so any three of its true tails can be asked about."""
    facts = {f"head {i}": [f"tail {k}" for k in range(10) if (k - i) % 10 > 1] for i in range(60)}
    _, options = draw(as_facts(facts), "balanced")
    false = Counter(found.false[0] for found in options)
    true = Counter(tail for found in options for tail in found.true_of_negated)
    assert true.total() == 3 * false.total() == 3 * len(options)
    assert all(abs(true[f"tail {k}"] - 3 * false[f"tail {k}"]) <= 2 for k in range(10))


@pytest.mark.long
@needs_reference
@pytest.mark.parametrize("relation", ["may_treat", "disease_has_normal_cell_origin"])
def test_no_choice_of_wrong_options_of_medlama_is_better_balanced(relation: str) -> None:
    """The tails lack as many wrong uses as the bound: what each lacks if it is wrong wherever it can be."""
    points, options = draw(read_medlama().select_relation(relation), "balanced")
    assert len(options) > 900
    right, wrong = count_mcq(options)
    n_forbidding = Counter(tail for point in points.tested for tail in point.forbidden)
    lacking = {tail: 3 * count - wrong[tail] for tail, count in right.items()}
    bound = {tail: 3 * count - (len(options) - n_forbidding[tail]) for tail, count in right.items()}
    n_lacking, n_bound = (sum(max(0, count) for count in counts.values()) for counts in (lacking, bound))
    assert n_lacking == n_bound
    assert (n_bound > 0) == (relation == "disease_has_normal_cell_origin")


@pytest.mark.long
@needs_reference
def test_right_and_wrong_uses_in_multiple_answer_questions_of_medlama_are_proportional() -> None:
    _, options = draw(read_medlama().select_relation("disease_may_have_finding"), "balanced")
    right = Counter(tail for found in options for tail in found.right)
    wrong = Counter(tail for found in options for tail in found.wrong)
    ratio = wrong.total() / right.total()
    assert sum(abs(wrong[tail] - ratio * right[tail]) for tail in right | wrong) < 0.05 * wrong.total()
    assert {len(found.right) + len(found.wrong) for found in options} == {4}
