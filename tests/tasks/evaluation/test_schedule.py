"""The schedule of evaluations on the cards of a host."""

import pytest

from tasks.evaluation.schedule import LOAD_S, Job, Part, measure_idleness, plan_parts

# The models of PretexEval that take cards, with prompts per second as on an A100, and its two endpoints.
N_PROMPTS = 236_336
PAPER = [
    *(Job(f"70b-{k}", 4, N_PROMPTS / 120) for k in range(5)),
    *(Job(f"7b-{k}", 1, N_PROMPTS / 250) for k in range(4)),
    Job("13b", 1, N_PROMPTS / 140),
    *(Job(f"endpoint-{k}", 0, 3000.0) for k in range(2)),
]


def count_used_cards(parts: list[Part], moment_s: float) -> int:
    return sum(part.job.n_cards for part in parts if part.begin_s <= moment_s < part.end_s)


@pytest.mark.parametrize("n_cards", [4, 8, 16])
def test_the_cards_of_a_host_are_busy_with_the_models_of_the_paper(n_cards: int) -> None:
    parts = plan_parts(PAPER, n_cards)
    assert all(count_used_cards(parts, part.begin_s) <= n_cards for part in parts)
    for number, job in enumerate(PAPER):
        own = [part for part in parts if part.job_number == number]
        assert [part.number for part in sorted(own, key=lambda part: part.number)] == [
            k + 1 for k in range(own[0].of)
        ]
        asked_s = sum(part.end_s - part.begin_s - (LOAD_S if job.n_cards else 0) for part in own)
        assert asked_s == pytest.approx(job.asking_s)
    _, idle = measure_idleness(parts, n_cards)
    assert idle < 0.06


def test_with_a_dead_card_the_others_wait_for_no_model_longer_than_they_must() -> None:
    """Seven cards hold one model of four cards at a time, whose runs alone take the whole time."""
    parts = plan_parts(PAPER, 7)
    whole_s, _ = measure_idleness(parts, 7)
    assert whole_s == sum(part.end_s - part.begin_s for part in parts if part.job.n_cards == 4)


def test_one_model_is_divided_among_all_cards_and_a_small_one_is_not() -> None:
    assert measure_idleness(plan_parts([Job("7b", 1, 3600.0)], 8), 8) == (LOAD_S + 450, 0)
    (small,) = plan_parts([Job("small", 1, 60.0)], 8)
    assert (small.of, small.end_s) == (1, LOAD_S + 60)
    assert len(plan_parts([Job("given", 1, 60.0, n_shards=3)], 8)) == 3


def test_a_model_that_takes_more_cards_than_there_are_is_not_lost() -> None:
    """Its run fails with the reason; the others are asked."""
    parts = plan_parts([Job("70b", 4, 600.0), Job("7b", 1, 60.0)], 2)
    assert {part.job.name for part in parts} == {"70b", "7b"}
