from report.axes import scale_points
from report.contents import Row
from report.curves import draw_curves
from report.drawings import draw_dots
from report.figures import order_relations
from report.shares import AVERAGE, MASTERY, Curve, Difference, DotRow, Share, build_all_right_measure
from tests.support.parsed_page import parse

HALF = Share(AVERAGE, 0.5, 0.4, 0.6, "8 samples")
NOTHING = Share(MASTERY, None, None, None, "0 pairs")


def test_dots_have_their_places_names_and_tooltips() -> None:
    svg = draw_dots("Title", [DotRow("a <b> & c", "var(--model-2)", (HALF, NOTHING))], 340)
    parsed = parse(str(svg))
    assert parsed.elements[0][1]["viewbox"] == "0 0 340 66"
    assert "a <b> & c: average accuracy 50.0\u00a0% (95 % interval 40.0–60.0; 8 samples)" in (parsed.texts)
    assert "●\u200950\u2002◆\u2009\u2007–" in parsed.texts
    # The scale is 300 pixels wide: the dot is in its middle, and its bar is 60 long.
    dots = [a for a in parsed.find("path") if a.get("fill") == "var(--model-2)"]
    assert [a["transform"] for a in dots] == ["translate(150,21)"]
    bars = [a for a in parsed.find("line") if a.get("stroke") == "var(--model-2)"]
    assert [(a["transform"], a["x2"]) for a in bars] == [("translate(120,21)", "60")]


def test_differences_stand_around_zero() -> None:
    ahead = Difference(AVERAGE, 0.05, -0.05, 0.15, "8 samples")
    behind = Difference(MASTERY, -0.1, -0.2, 0.0, "4 facts")
    svg = draw_dots("Title", [DotRow("a", "red", (ahead, behind))], 340, scale=scale_points([0.15, -0.2]))
    parsed = parse(str(svg))
    # The scale goes from −20 to +20 points on 300 pixels, so a point has 7.5 pixels.
    marks = [a["transform"] for a in parsed.find("path") if a.get("fill") == "red"]
    assert marks == ["translate(187.5,21)", "translate(75,29)"]
    bars = [(a["transform"], a["x2"]) for a in parsed.find("line") if a.get("stroke") == "red"]
    assert bars == [("translate(112.5,21)", "150"), ("translate(0,29)", "150")]
    ticks = ["−20", "−10", "0", "+10", "+20"]
    assert [text for text in parsed.texts if text in ticks] == ticks
    assert "●\u2009\u2007+5\u2002◆\u2009−10" in parsed.texts
    assert (
        "a: mastery −10.0 points (95 % interval −20.0 to 0.0; 4 facts), not distinguishable from 0"
        in parsed.texts
    )


def test_curves_are_named_at_their_ends() -> None:
    shares = tuple(Share(build_all_right_measure(n), 0.9**n, 0.8**n, 1.0, "10 triplets") for n in range(1, 9))
    curve = Curve("model", "var(--model-0)", (6, 3), shares)
    wide = parse(str(draw_curves("Title", [curve], 660, 170)))
    assert "model" in wide.texts
    assert any(a.get("stroke-dasharray") == "6,3" for a in wide.find("path"))
    assert wide.texts.count("n = 1") == 1
    narrow = parse(str(draw_curves("Title", [curve], 340)))
    assert "model" not in narrow.texts
    assert "NaN" not in str(draw_curves("Title", [curve], 340))


def test_relations_are_ordered_by_mastery_over_the_models() -> None:
    rows: list[Row] = [
        {"relation": "b", "mastery": 0.5, "average_accuracy": 0.7},
        {"relation": "b", "mastery": 0.1, "average_accuracy": 0.7},
        {"relation": "a", "mastery": 0.3, "average_accuracy": 0.6},
        {"relation": "a", "mastery": 0.3, "average_accuracy": 0.6},
        {"relation": "c", "mastery": None, "average_accuracy": None},
    ]
    assert order_relations(rows) == ["b", "a", "c"]
