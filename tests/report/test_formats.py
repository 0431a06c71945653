import pytest

from report import formats


@pytest.mark.parametrize(("share", "text"), [(0.6484, "64.8\u00a0%"), (1.0, "100.0\u00a0%"), (None, "–")])
def test_format_percent(share: float | None, text: str) -> None:
    assert formats.format_percent(share) == text


@pytest.mark.parametrize(
    ("difference", "text"),
    [(0.148, "+14.8"), (-0.02, "−2.0"), (0.0, "0.0"), (-0.0001, "0.0"), (None, "–")],
)
def test_format_points(difference: float | None, text: str) -> None:
    assert formats.format_points(difference) == text


def test_format_points_whole() -> None:
    assert [formats.format_points(d, 0) for d in (0.148, -0.02, 0.004, None)] == ["+15", "−2", "0", "–"]


def test_format_span() -> None:
    assert formats.format_span(-0.012, 0.094) == "−1.2 to +9.4"
    assert formats.format_span(None, None) == ""


@pytest.mark.parametrize(
    ("p", "text"), [(1.0, "1.000"), (0.0234, "0.023"), (0.0009, "<\u00a00.001"), (None, "–")]
)
def test_format_p(p: float | None, text: str) -> None:
    assert formats.format_p(p) == text


def test_format_decimal() -> None:
    assert [formats.format_decimal(v) for v in (0.876, -0.1, None)] == ["0.88", "−0.10", "–"]
    assert formats.format_magnitude(-0.1234) == "12.3"


def test_format_interval() -> None:
    assert formats.format_interval(0.621, 0.6741) == "62.1–67.4"
    assert formats.format_interval(None, None) == ""


def test_format_count() -> None:
    assert formats.format_count(1234567) == "1\u202f234\u202f567"
    assert formats.format_count(None) == "–"


def test_shorten() -> None:
    assert formats.shorten("may treat", 9) == "may treat"
    assert formats.shorten("may prevent", 5) == "may…"
