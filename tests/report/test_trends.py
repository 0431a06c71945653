"""The trends of mastery on the list of editions."""

from datetime import date, datetime

from report.contents import Setting
from report.curves import draw_trends
from tests.support.stage_rows import Row

SETTING = Setting("pretexeval", "strict", 0)


def evaluate(label: str, first_day: date | None, evaluated_on: int) -> Row:
    row = {
        "edition_id": f"kb-{label}",
        "model_id": "m",
        "model": "m",
        "method": "pretexeval",
        "scoring_policy": "strict",
        "repeat": 0,
        "rank": 1,
        "average_accuracy": 0.75,
        "mastery": 0.5,
        "mastery_ci_low": 0.4,
        "mastery_ci_high": 0.6,
        "n_complete_pairs": 8,
    }
    return {
        "edition_id": f"kb-{label}",
        "kb": "kb",
        "label": label,
        "period_start": first_day,
        "first_evaluated_at": datetime(2026, 11, evaluated_on),
        "setting": SETTING,
        "ranked": [row],
        "has_page": True,
    }


def test_each_kind_of_period_has_a_trend_and_a_backfilled_week_stands_in_its_place() -> None:
    editions = [
        evaluate("2026-W47", date(2026, 11, 16), 17),
        evaluate("2026-11-20", date(2026, 11, 20), 20),
        evaluate("2026-11-21", date(2026, 11, 21), 21),
        evaluate("seed2", None, 2),
        evaluate("seed1", None, 3),
        evaluate("2026-W48", date(2026, 11, 23), 23),
        # Evaluated last, because somebody filled a gap.
        evaluate("2026-W46", date(2026, 11, 9), 25),
    ]
    trends = {trend.period: trend for trend in draw_trends(editions, {"m": 0})}
    labels = {period: [row["label"] for row in trend.editions] for period, trend in trends.items()}
    assert labels == {
        None: ["seed2", "seed1"],
        "week": ["2026-W46", "2026-W47", "2026-W48"],
        "day": ["2026-11-20", "2026-11-21"],
    }
    assert "2026-W47" in str(trends["week"].wide)
    assert "by week" in str(trends["week"].wide)
