import pytest

from preflight.estimates import Span
from preflight.run_plan import RunPlan
from preflight.run_plan_text import render_cost, render_duration, render_plan, render_span


@pytest.mark.parametrize(
    ("written", "expected"),
    [
        (render_span(Span.of(1200)), "1,200"),
        (render_span(Span(1200, 2_500_000)), "1,200 to 2.5M"),
        (render_cost(Span(1, 2.5), "USD"), "1.00 to 2.50 USD"),
        (render_duration(Span(30, 600)), "30 s to 10 min"),
        (render_duration(Span.of(9000)), "2.5 h"),
    ],
)
def test_numbers_read_well(written: str, expected: str) -> None:
    assert written == expected


def test_a_plan_without_models_says_so() -> None:
    plan = RunPlan("own-seed1-00000000", True, {"direct": 1200}, {"MCQ": 30}, 33_000_000, (), ())
    assert render_plan(plan).splitlines() == [
        "edition own-seed1-00000000: complete: nothing to build",
        "",
        "method  samples",
        "------  -------",
        "direct    1,200",
        "",
        "type  questions",
        "----  ---------",
        "MCQ          30",
        "",
        "disk: at most about 33 MB",
        "",
        "no models",
    ]
