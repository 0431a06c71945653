"""The mean of the models' joint accuracy by method."""

import pytest

from report.method_curves import average_curves
from tests.support.stage_rows import Row


def make_rows(model_id: str, method: str, *values: float | None) -> list[Row]:
    return [
        {"model_id": model_id, "method": method, "n": n, "joint_accuracy": value}
        for n, value in enumerate(values, start=1)
    ]


def test_only_models_that_every_method_asked_are_averaged() -> None:
    rows = [
        *make_rows("a", "pretexeval", 0.8, 0.4),
        *make_rows("b", "pretexeval", 0.6, 0.2),
        *make_rows("c", "pretexeval", 1.0, 1.0),
        *make_rows("a", "direct", 0.9),
        *make_rows("b", "direct", 0.7),
        *make_rows("c", "direct", None),
    ]
    means, n_models = average_curves(rows[::-1])
    assert n_models == 2
    assert means == {"pretexeval": [pytest.approx(0.7), pytest.approx(0.3)], "direct": [pytest.approx(0.8)]}
    assert average_curves([*make_rows("a", "direct", 1.0), *make_rows("b", "llmeval", 1.0)]) == ({}, 0)
