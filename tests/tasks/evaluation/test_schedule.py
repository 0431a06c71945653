"""The schedule of evaluations on the cards of a host."""

import pytest

from tasks.evaluation.schedule import LOAD_S, Job, measure_idleness, plan_parts

N_PROMPTS = 236_336


def list_models_of_paper(cards_of_70b: int, speed: float) -> list[Job]:
    """Return the twelve models of PretexEval.

    Args:
        cards_of_70b: those that take 120 prompts a second together.
        speed: that of a card as a multiple of an A100's, which takes 250 prompts a second of a 7B model.
    """
    return [
        *(Job(f"70b-{k}", cards_of_70b, N_PROMPTS / 120) for k in range(5)),
        *(Job(f"7b-{k}", 1, N_PROMPTS / 250 / speed) for k in range(4)),
        Job("13b", 1, N_PROMPTS / 140 / speed),
        *(Job(f"endpoint-{k}", 0, 3000.0) for k in range(2)),
    ]


A100S, H100S = list_models_of_paper(4, 1), list_models_of_paper(2, 2)


@pytest.mark.parametrize(
    ("jobs", "n_cards", "hours", "idle_percent"),
    [
        (A100S, 8, 1.8, 4),
        # A card is dead: the others hold one model of four cards at a time.
        (A100S, 7, 2.9, 34),
        (A100S, 16, 1.0, 5),
        (H100S, 2, 3.3, 1),
    ],
)
def test_the_cards_of_a_host_are_busy_with_the_models_of_the_paper(
    jobs: list[Job], n_cards: int, hours: float, idle_percent: float
) -> None:
    parts = plan_parts(jobs, n_cards)
    for moment_s in (part.begin_s for part in parts):
        assert sum(p.job.n_cards for p in parts if p.begin_s <= moment_s < p.end_s) <= n_cards
    for number, job in enumerate(jobs):
        own = [part for part in parts if part.job_number == number]
        assert [part.number for part in sorted(own, key=lambda part: part.number)] == [
            k + 1 for k in range(own[0].of)
        ]
        asked_s = sum(part.end_s - part.begin_s - (LOAD_S if job.n_cards else 0) for part in own)
        assert asked_s == pytest.approx(job.asking_s)
    whole_s, idle = measure_idleness(parts, n_cards)
    assert (round(whole_s / 3600, 1), round(100 * idle)) == (hours, idle_percent)
    if n_cards == 7:
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
