"""The verdicts of the gate on labelled texts, and the estimate of a writer's wrong texts that follows."""

from pathlib import Path

import polars as pl
import pytest
from scipy.stats import beta

from benchmarks.gate import count_calibration, read_labelled, read_rewordings
from pretexeval.gate import check_rewordings
from schemas.stages import MAX_WRONG_RATE
from tasks.judging.writer_errors import (
    LIMITS,
    Limit,
    Verdicts,
    WrongRate,
    count_lost_names,
    count_verdicts,
    estimate_after_reading,
    estimate_wrong_rate,
    judge_panel,
    read_calibration,
    read_panel,
)
from tests.support.published_bases import FOLDER, needs_reference

LABELLED = Path(FOLDER) / "rephrasings_labelled.parquet"


def test_calibration_is_what_the_gate_does_to_the_labelled_texts() -> None:
    """After a change of the gate: python -m benchmarks --only gate --calibrate."""
    assert read_calibration().equals(count_calibration())


def test_estimate_is_the_one_of_rogan_and_gladen_where_the_rates_are_well_known() -> None:
    """One large relation leaves no doubt about f = 0.2, c = 0.9 and g = 0.1."""
    counts = {"n_sound": 10**6, "n_rejected": 200_000, "n_wrong": 10**6, "n_caught": 900_000}
    known = pl.DataFrame(counts | {"n_passed": 10**6, "n_passed_4": 100_000})
    found = estimate_wrong_rate(Verdicts(100_000, 40_000, 40_000, None), known)
    assert found is not None
    rate = (0.6 - 0.2) / (0.9 - 0.2) * (1 - 0.9) / 0.4
    assert found.wrong_rate == pytest.approx(rate, abs=1e-3)
    assert found.high - found.low < 0.01
    limited = estimate_wrong_rate(Verdicts(100_000, 40_000, 10_000, 3), known)
    assert limited is not None
    assert limited.wrong_rate == pytest.approx(rate * 0.1 / 0.25, abs=1e-3)


def test_interval_contains_the_estimate_and_every_acceptance_has_one() -> None:
    for limit in LIMITS:
        for n_passed in (1, 2, 7, 25, 40):
            found = estimate_wrong_rate(Verdicts(40, n_passed, max(n_passed // 2, 1), limit))
            assert found is not None
            assert 0 <= found.low <= found.wrong_rate <= found.high <= 1
            assert found.high > 0 or limit is not None
        assert estimate_wrong_rate(Verdicts(40, 3, 0, limit)) is None


def test_reasons_are_counted_without_copies_and_empty_texts() -> None:
    reasons = [(), ("new words",), ("polarity", "new words"), ("roles",), ("unchanged",), ("no text",)]
    assert count_verdicts(reasons, 4) == Verdicts(4, 2, 1, 4)


def find_rates(
    rows: pl.DataFrame, limit: Limit = None, known: pl.DataFrame | None = None
) -> tuple[pl.Series, WrongRate]:
    """Return the errors of the accepted texts, null for a sound one, and the estimate of their share."""
    reasons = check_rewordings(rows, limit)
    found = estimate_wrong_rate(count_verdicts(reasons, limit), known)
    assert found is not None
    return rows.filter(pl.Series([not each for each in reasons]))["error"], found


def test_estimate_from_other_relations_agrees_with_the_truth_of_labelled_writers() -> None:
    """Half of the relations have few texts, so the interval must overlap that of their own share."""
    strong, weak = (read_rewordings(f"{name}_rewordings.tsv") for name in ("labelled", "weak_writer"))
    weak = weak.filter(sample="attempts")
    for rows, limit in ((strong, None), (weak, None), (weak, 0)):
        errors, found = find_rates(rows, limit)
        assert found.low <= errors.count() / len(errors) <= found.high
    for rows in (strong, weak):
        for half in (0, 1):
            relations = rows["relation"].unique(maintain_order=True)[half::2]
            is_chosen = pl.col("relation").is_in(relations.to_list())
            errors, found = find_rates(rows.filter(is_chosen), known=read_calibration().filter(~is_chosen))
            share = beta(errors.count() + 0.5, errors.null_count() + 0.5)
            assert found.low <= share.ppf(0.975)
            assert found.high >= share.ppf(0.025)


@needs_reference
def test_gate_and_estimate_hold_for_a_strong_writer_outside_the_calibration() -> None:
    rows = read_labelled(LABELLED)
    verdicts = rows.select(
        is_wrong=pl.col("error").is_not_null(), is_rejected=pl.Series(map(bool, check_rewordings(rows)))
    )
    rates = dict(verdicts.group_by("is_wrong").agg(pl.col("is_rejected").mean()).iter_rows())
    assert rates[True] >= 0.75
    assert rates[False] <= 0.25
    errors, found = find_rates(rows)
    assert found.low <= errors.count() / len(errors) <= found.high
    assert found.wrong_rate <= MAX_WRONG_RATE


def reword_panel(n_sound: int) -> tuple[str | None, ...]:
    """Return sound rewordings of the first statements of the panel, and nonsense for the others."""
    texts = [f"It is true that {text[0].lower()}{text[1:]}" for text in read_panel()["statement"]]
    nonsense = "The medical term is a medical term of the body."
    return (*texts[:n_sound], *[nonsense] * (len(texts) - n_sound))


def test_panel_leaves_a_strong_writer_free_and_limits_a_weak_one() -> None:
    n = read_panel().height
    limits = {n: None, n * 3 // 4: None, n // 8: 0, 0: 0}
    assert {n_sound: judge_panel(reword_panel(n_sound)).limit for n_sound in limits} == limits
    assert judge_panel((None,) * n).limit == 0
    # A writer that only copies gives no evidence.
    copied = judge_panel(tuple(read_panel()["statement"]))
    assert (copied.limit, copied.verdicts.n_attempts) == (0, 0)
    shouted = judge_panel(tuple(text.upper() for text in read_panel()["statement"]))
    assert (shouted.limit, shouted.verdicts.n_attempts) == (0, 0)
    assert count_lost_names([(), ("head lost",), ("head lost", "tail lost"), ("roles",)]) == 2


def test_panel_has_traps_of_every_kind_and_distinct_statements_that_hold_their_names() -> None:
    panel = read_panel()
    assert panel["statement"].is_unique().all()
    assert {"negation", "direction", "similar names", "hedge"} < set(panel["trap"])
    for head, tail, statement in panel.select("head", "tail", "statement").iter_rows():
        assert (head in statement, tail in statement) == (True, True), statement


def test_texts_that_people_read_replace_the_estimate() -> None:
    verdicts = Verdicts(100, 40, 40, None)
    before = estimate_wrong_rate(verdicts)
    assert before is not None
    clean, wrong = (estimate_after_reading(verdicts, 20, n_wrong) for n_wrong in (0, 20))
    assert clean.wrong_rate < 0.02
    assert clean.high < before.high
    assert wrong.wrong_rate == pytest.approx((20 + 20 * before.wrong_rate) / 40, abs=2e-3)
    assert estimate_after_reading(verdicts, 40, 10).wrong_rate == 0.25
