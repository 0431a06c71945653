"""The thresholds of a judge, chosen with relations left out."""

from hypothesis import given
from hypothesis import strategies as st

from tasks.judging.calibration import (
    JudgedRewording,
    Limits,
    calibrate,
    choose_lift,
    choose_threshold,
    choose_thresholds,
    count_outcome,
    render_calibration,
)
from tasks.judging.judge import Thresholds


def judge(
    relation: str, is_sound: bool, *scores: float | None, reasons: tuple[str, ...] = ()
) -> list[JudgedRewording]:
    return [JudgedRewording(relation, is_sound, reasons, score) for score in scores]


def test_the_threshold_catches_most_within_the_allowed_share() -> None:
    """One of four sound ones may be lost: 0.3, so 0.1, 0.2 and 0.45 can be caught, and 0.8 cannot."""
    rows = judge("r", True, 0.3, 0.5, 0.9, 0.95) + judge("r", False, 0.1, 0.2, 0.45, 0.8)
    assert choose_threshold(rows, 0.25) == (0.45 + 0.5) / 2
    assert choose_threshold(rows, 0.0) == (0.2 + 0.3) / 2


def test_what_the_rules_reject_does_not_count() -> None:
    rejected = judge("r", True, *[None] * 50, reasons=("polarity",))
    rows = judge("r", True, 0.5, 0.9) + judge("r", False, 0.6) + rejected
    assert choose_threshold(rows, 0.05) == 0.0
    outcome = count_outcome(rows, Thresholds(0.55))
    assert (outcome.n_sound, outcome.n_rejected_by_rules, outcome.n_rejected) == (52, 50, 51)
    assert (outcome.n_wrong, outcome.n_caught_by_rules, outcome.n_caught) == (1, 0, 0)


def test_an_answer_that_is_missing_is_a_rejection() -> None:
    outcome = count_outcome(judge("r", True, None, 0.4) + judge("r", False, None), Thresholds(0.0))
    assert (outcome.n_rejected, outcome.n_caught) == (1, 1)


def test_a_judge_lifts_most_within_the_allowed_share_of_wrong_ones() -> None:
    """One of four wrong ones may pass: 0.8, so the sound ones above 0.6 are lifted. Polarity stays."""
    lost, flipped = ("tail lost",), ("tail lost", "polarity")
    rows = judge("r", True, 0.5, 0.7, 0.9, reasons=lost) + judge("r", True, 1.0, reasons=flipped)
    rows += judge("r", False, 0.8, 0.6, 0.1, reasons=lost) + judge("r", False, 0.9)
    assert choose_lift(rows, 0.25) == (0.7 + 0.6) / 2
    assert choose_lift(rows, 0.0) == (0.9 + 0.8) / 2
    outcome = count_outcome(rows, Thresholds(0.0, 0.65))
    assert (outcome.n_rejected_by_rules, outcome.n_rejected) == (4, 2)
    assert (outcome.n_caught_by_rules, outcome.n_caught) == (3, 2)
    assert choose_lift(judge("r", True, 0.5) + judge("r", False, 0.4, reasons=lost), 0.0) is None


def test_a_relation_is_measured_with_the_thresholds_from_the_others() -> None:
    rows = (
        judge("a", True, 0.6, 0.9) + judge("a", False, 0.5) + judge("b", True, 0.6) + judge("b", False, 0.1)
    )
    calibration = calibrate(rows, Limits(0.0, 0.0))
    (of_a, a), (of_b, b) = calibration.relations["a"], calibration.relations["b"]
    assert (of_a.accept, a.n_caught, a.n_rejected) == (0.35, 0, 0)
    assert (of_b.accept, b.n_caught, b.n_rejected) == (0.55, 1, 0)
    assert calibration.thresholds == Thresholds(0.55)
    assert (calibration.pooled.n_caught, calibration.pooled.n_rejected) == (1, 0)
    table = render_calibration(calibration).splitlines()
    assert "".join(table[3].split()) == "a0.35nothing10(0.0%)0(0.0%)20(0.0%)0(0.0%)"
    assert "thresholds from all relations: rejects below 0.55, lifts from nothing" in table


def test_a_judge_does_not_do_what_does_not_help_on_relations_left_out() -> None:
    """Of each relation it can learn to reject and to lift, and what it learned is wrong for the other."""
    lost = ("tail lost",)
    rows = judge("a", False, 0.5) + judge("a", True, 0.6) + judge("b", False, 0.1) + judge("b", True, 0.2)
    rows += judge("a", False, 0.9, reasons=lost) + judge("a", True, 0.95, reasons=lost)
    rows += judge("b", False, 0.7, reasons=lost) + judge("b", True, 0.8, reasons=lost)
    calibration = calibrate(rows, Limits(0.0, 0.0))
    assert calibration.thresholds == Thresholds(0.0)
    assert {thresholds for thresholds, _ in calibration.relations.values()} == {Thresholds(0.0)}
    assert choose_thresholds(rows[:2] + rows[4:6], Limits(0.0, 0.0)) == Thresholds(0.55, 0.925)


def test_a_judge_lifts_what_helps_on_relations_left_out() -> None:
    lost = ("tail lost",)
    rows = [
        row
        for relation in "ab"
        for row in judge(relation, True, 0.9, reasons=lost) + judge(relation, False, 0.1, reasons=lost)
    ]
    assert calibrate(rows, Limits(0.0, 0.0)).thresholds == Thresholds(0.0, 0.5)


SCORES = st.lists(st.integers(0, 1000).map(lambda thousandths: thousandths / 1000), max_size=30)


@given(sound=SCORES, wrong=SCORES, share=st.floats(0, 0.5))
def test_no_more_sound_ones_are_rejected_than_allowed(
    sound: list[float], wrong: list[float], share: float
) -> None:
    rows = judge("r", True, *sound) + judge("r", False, *wrong)
    threshold = choose_threshold(rows, share)
    outcome = count_outcome(rows, Thresholds(threshold))
    assert outcome.n_rejected <= share * len(sound) + 1e-6
    # Every other threshold within the share catches at most as many.
    for other in {*sound, *wrong, 1.0}:
        if count_outcome(rows, Thresholds(other)).n_rejected <= share * len(sound):
            assert count_outcome(rows, Thresholds(other)).n_caught <= outcome.n_caught
