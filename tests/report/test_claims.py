"""Pages claim only what the figures bear out: claims appear in some made worlds, and not in others."""

import json
import shutil
from collections import defaultdict
from collections.abc import Container
from functools import partial
from pathlib import Path

import pytest
from scipy.stats import norm

from pretexeval.statistics import intervals
from report.certainty import adjust, order_certainly, select_certain
from report.columns import FACETS
from report.contents import Contents, Model, Row, Setting
from report.findings import describe_facets, list_answers
from report.leaders import describe_comparison, describe_lead, find_lead
from report.model_difference import (
    ComparisonQuestion,
    compare_models,
    judge,
    judge_relations,
    render_difference,
    render_difference_json,
    write_points,
)
from report.page import write_index, write_report
from report.remarks import judge_against_shortcut, list_remarks
from report.score_tables import render_scores
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from tests.support.stage_rows import change_record, digest
from tests.warehouse.conftest import EDITION
from warehouse.publishing import build_warehouse
from warehouse.records import require_record

FEW = None
"""The half-width of an interval that comes from too few facts, so that there is none."""


def measure(name: str, value: float | None, half: float | None, **other: object) -> Row:
    """Return a score or a difference with its interval, and with the p-value that belongs to it."""
    low, high, p_value = None, None, None
    if value is not None and half is not None:
        low, high = value - half, value + half
        p_value = float(2 * norm.sf(abs(value) / half * norm.isf(0.025)))
    return {name: value, f"{name}_ci_low": low, f"{name}_ci_high": high, "p_value": p_value} | other


def differ(difference: float, half: float | None = 0.1, relation: str = "r") -> Row:
    names = {"relation": relation, "measure": "mastery", "n_pairs": 13, "model_id": "a"}
    return measure("difference", difference, half, **names)


def test_one_relation_has_the_verdict_of_its_interval_and_many_are_adjusted_by_holm() -> None:
    for row in map(differ, (-0.3, -0.101, -0.099, 0.0, 0.11)):
        ((verdict, value),) = judge_relations([row])
        assert value is not None
        assert (verdict, value < 0.05) == (judge(row), verdict != "not distinguishable")
    rows = list(map(differ, [0.11, -0.11] * 10))
    assert {judge(row) for row in rows} == {"better", "worse"}
    assert {verdict for verdict, _ in judge_relations(rows)} == {"not distinguishable"}
    assert [verdict for verdict, _ in judge_relations([*rows, differ(-0.5)])][-1] == "worse"
    rows = list(map(differ, (0.12, 0.2, 0.15, 0.01)))
    first, second, third, last = sorted(row["p_value"] for row in rows)
    adjusted = {row["p_value"]: value for row, value in zip(rows, adjust(rows), strict=True)}
    expected = [4 * first, 3 * second, 2 * third, last]
    assert [adjusted[value] for value in (first, second, third, last)] == pytest.approx(expected)


def test_a_difference_without_an_interval_is_never_certain_and_no_test() -> None:
    few = differ(0.9, FEW)
    assert select_certain([few]) == []
    # Two tests, of which one passes at half the level; the third row does not count.
    near = differ(0.11)
    assert select_certain([near, few]) == [near]
    assert judge_relations([few, near])[0] == ("too few", None)
    assert write_points(few) == "+90.0 points (too few facts for an interval)"


def test_shares_have_an_order_only_where_their_intervals_are_apart() -> None:
    shares = {"low": (0.2, 0.1, 0.3), "near": (0.35, 0.25, 0.45), "high": (0.8, 0.7, 0.9)}
    assert [pair[:2] for pair in order_certainly(shares)] == [("low", "high"), ("near", "high")]
    # Of twenty-one shares, the largest and the smallest are apart by chance.
    many = {f"r{k:02}": (0.4 + k / 70, 0.32 + k / 70, 0.48 + k / 70) for k in range(21)}
    assert order_certainly(many) == []


def compare(one: str, other: str, mastery: str, half: str) -> Row:
    known = (FEW if number == "-" else float(number) for number in (mastery, half))
    measured = {f"mastery_{name}": value for name, value in measure("difference", *known).items()}
    return {"model_id": one, "other_model_id": other} | measured


def test_what_is_said_of_the_first_model() -> None:
    """Each comparison is of two models, with the difference in mastery and the half-width of its interval."""
    labels = {"a": "A", "b": "B", "c": "C"}
    _, *lines = Path(__file__).with_name("leads.tsv").read_text(encoding="utf-8").splitlines()
    for n_models, comparisons, _, *said in (line.split("\t") for line in lines):
        rows = [compare(*each.split()) for each in comparisons.split("; ") if each]
        lead = find_lead(list(labels)[: int(n_models)], rows, "mastery")
        assert lead is not None
        assert [describe_lead(lead, labels), describe_comparison(lead, labels)] == said


def answer(section: str, *models: str, **views: list[Row]) -> str:
    """Return the heading of a section of a page with these rows of views; empty without the section."""
    labelled = [Model(name, name.upper(), place) for place, name in enumerate(models)]
    edition = {"n_pairs": 100}
    rows = defaultdict(list, views)
    contents = Contents(edition, Setting("pretexeval"), 1, labelled, [], [], [], 0, rows, None)
    return list_answers(contents).get(section, "")


def know(relation: str, model: str, mastery: float, half: float | None = 0.05) -> Row:
    return measure("mastery", mastery, half, relation=relation, model_id=model)


# The half-widths of the differences of six relations -> the heading.
BETWEEN_MODELS = {
    # The largest difference is that of the relation with the fewest facts, and means nothing.
    (0.9, FEW, 0.1, 0.1, 0.1, 0.1): (
        "No relation tells the models apart for certain; 1 of 6 has too few facts"
    ),
    (FEW, FEW, FEW, FEW, FEW, FEW): "The models share too few facts of a relation to be told apart in one",
    # One interval of six does not contain 0, but that is no surprise among six.
    (0.9, FEW, 0.019, 0.1, 0.1, 0.1): (
        "No relation tells the models apart for certain; 1 of 6 has too few facts"
    ),
    (0.3, FEW, 0.1, 0.1, 0.01, 0.1): (
        "Models differ for certain in 2 of 6 relations, most in “r 0”: 80.0 points of mastery on 13 pairs; "
        "1 of 6 has too few facts"
    ),
    (0.3, FEW, FEW, FEW, FEW, FEW): (
        "Models differ for certain in 1 of 6 relations, most in “r 0”: 80.0 points of mastery on 13 pairs; "
        "5 of 6 have too few facts"
    ),
    (0.3, 0.9, 0.1, 0.1, 0.01, 0.1): (
        "Models differ for certain in 2 of 6 relations, most in “r 0”: 80.0 points of mastery on 13 pairs"
    ),
    (0.9, 0.9, 0.1, 0.1, 0.1, 0.1): "No relation tells the models apart for certain",
}


@pytest.mark.parametrize(("halves", "heading"), BETWEEN_MODELS.items())
def test_relations_of_two_models(halves: tuple[float | None, ...], heading: str) -> None:
    differences = [0.8, 0.75, 0.02, 0.0, 0.04, -0.03]
    known = [know(f"r_{k}", model, 0.5) for k in range(6) for model in "ab"]
    rows = [
        differ(difference, half, f"r_{k}")
        for k, (difference, half) in enumerate(zip(differences, halves, strict=True))
    ]
    said = answer("relations", "a", "b", accuracy_by_relation=known, relation_differences=rows)
    assert said == heading


def test_models_that_share_no_fact_differ_in_none() -> None:
    known = [know(f"r_{k}", "ab"[k], 0.5) for k in range(2)]
    assert answer("relations", "a", "b", accuracy_by_relation=known) == (
        "The models share too few facts of a relation to be told apart in one"
    )


def test_relations_of_one_model() -> None:
    by_chance = [know(f"r_{k}", "a", 0.4 + k / 50, 0.1) for k in range(10)]
    vague = "No relation is certainly better known to A than another"
    assert answer("relations", "a", accuracy_by_relation=by_chance) == vague
    assert (
        answer("relations", "a", accuracy_by_relation=[know("r", "a", 0.9, FEW), know("s", "a", 0.1)])
        == "No relation is certainly better known to A than another; 1 of 2 has too few facts"
    )
    clear = "A knows “r s” better than “r 0”: mastery of 90\u00a0% against 40\u00a0%"
    # The other model has answered only questions.
    for models in ("a", "ab"):
        rows = [*by_chance, know("r_s", "a", 0.9)]
        assert answer("relations", *models, accuracy_by_relation=rows) == clear
    no_mastery = [
        measure("average_accuracy", share, 0.05, relation=name, model_id="a", mastery=0.0)
        for name, share in (("r", 0.9), ("s", 0.5))
    ]
    assert answer("relations", "a", accuracy_by_relation=no_mastery) == (
        "A knows “r” better than “s”: average accuracy of 90\u00a0% against 50\u00a0%"
    )
    assert (
        answer("relations", "a", accuracy_by_relation=by_chance[:1]) == "All facts are of the relation “r 0”"
    )


def cost(form: str, model: str, difference: float, half: float | None) -> Row:
    return measure("difference", difference, half, transformation=form, model_id=model)


def test_forms() -> None:
    models, none = (
        [f"m{k}" for k in range(12)],
        "No form of a statement is certainly harder than the plain one",
    )
    # Of twelve models with seven forms each, a few intervals exclude 0 by chance.
    by_chance = [cost("dn", model, -0.02 if k < 4 else 0.0, 0.0195) for k, model in enumerate(models)]
    assert answer("forms", *models, form_effects=by_chance) == none
    assert (
        answer("forms", "a", form_effects=[cost("dn", "a", -0.5, FEW)])
        == "Too few facts to tell what a form costs"
    )
    # A gain is no cost.
    assert answer("forms", "a", form_effects=[cost("dn", "a", 0.5, 0.1)]) == none
    real = [*by_chance, cost("inv", "m0", -0.2, 0.05)]
    assert (
        answer("forms", *models, form_effects=real)
        == "Inverted forms cost M0 20.0 points of average accuracy"
    )


def of_side(model: str, side: str, accuracy: float, half: float | None) -> Row:
    return measure("average_accuracy", accuracy, half, model_id=model, group_name=side)


def test_true_facts_and_false_twins() -> None:
    def said(*rows: Row) -> str:
        return answer("facts", "a", "b", true_and_false=list(rows))

    near = [
        of_side(m, side, share, 0.1)
        for m in "ab"
        for side, share in (("true fact", 0.6), ("false twin", 0.7))
    ]
    assert said(*near) == "No model is certainly better at true facts, or at false twins"
    apart = [of_side("a", "true fact", 0.5, 0.1), of_side("a", "false twin", 0.9, 0.1)]
    # Nothing is known about the other model.
    assert said(*apart) == "A is better at false twins than at true facts"
    both = [*apart, of_side("b", "true fact", 0.2, 0.1), of_side("b", "false twin", 0.9, 0.1)]
    assert said(*both) == "All models are better at false twins than at true facts"
    other = [*apart, of_side("b", "true fact", 0.9, 0.1), of_side("b", "false twin", 0.2, 0.1)]
    assert said(*other) == (
        "A is better at false twins than at true facts; B is better at true facts than at false twins"
    )
    # Two intervals that are just apart are no surprise among twelve models.
    by_chance = [
        of_side(f"m{k}", side, share, 0.1)
        for k in range(12)
        for side, share in (("true fact", 0.5), ("false twin", 0.71 if k == 0 else 0.5))
    ]
    models = [f"m{k}" for k in range(12)]
    assert answer("facts", *models, true_and_false=by_chance).startswith("No model is certainly better")
    assert answer("facts", "m0", true_and_false=by_chance[:2]).startswith("M0 is better at false twins")
    assert said(of_side("a", "true fact", 0.2, FEW), of_side("a", "false twin", 0.9, FEW)) == ""


def drift(difference: float, half: float | None, *aspects: str) -> Row:
    known = {"model_id": "a", "other_edition_id": "e", "aspects": list(aspects), "n_heads": 13}
    return measure("difference", difference, half, **known)


def test_other_editions() -> None:
    assert answer("drift", "a", edition_drift=[drift(0.1, 0.2)]) == (
        "No model has a certainly different average accuracy on another edition"
    )
    assert answer("drift", "a", edition_drift=[drift(0.1, FEW)]) == (
        "Too few shared facts to compare the scores with those on another edition"
    )
    assert answer("drift", "a", edition_drift=[drift(0.1, 0.05, "rephraser", "methods")]) == (
        "The average accuracy of A on 13 shared heads is 10.0 points higher here than on e, which differs in "
        "its rephraser and methods"
    )
    assert answer("drift", "a", edition_drift=[drift(-0.1, 0.05)]) == (
        "The average accuracy of A on 13 shared heads is 10.0 points lower here than on e, of the same "
        "configuration"
    )


def test_repeats_differ_by_what_rounds_to_nothing() -> None:
    rows = [{"model_id": "a", "average_accuracy_sd": 1e-17}]
    assert answer("drift", "a", repeats=rows) == (
        "Between repeats, average accuracy has a standard deviation of 0.0 points at most"
    )


# The cost of each of two models, and the prompts of which no tokens are known -> the heading.
ASKED = {
    ((None, 0), (None, 0)): "2 models were asked 2\u202f000 prompts",
    ((1.5, 0), (0.75, 0)): "2 models were asked 2\u202f000 prompts, at a cost of 2.25",
    ((1.5, 0), (None, 0)): "2 models were asked 2\u202f000 prompts, 1 of them at a cost of 1.50",
    ((1.5, 0), (0.0, 1000)): "2 models were asked 2\u202f000 prompts, 1 of them at a cost of 1.50",
    ((0.0, 1000),): "One model was asked 1\u202f000 prompts",
}


@pytest.mark.parametrize(("costs", "heading"), ASKED.items())
def test_a_cost_is_that_of_the_models_of_which_it_is_known(
    costs: tuple[tuple[float | None, int], ...], heading: str
) -> None:
    rows = [
        {"model_id": name, "n_prompts": 1000, "cost": cost, "n_unknown": n}
        for name, (cost, n) in zip("ab", costs, strict=False)
    ]
    assert answer("asked", *"ab"[: len(rows)], cost=rows) == heading


def above(model: str, points: float) -> Row:
    limits = measure("mastery_above_shortcut", points, 0.1, constant_answer=None)
    return {"model_id": model, "model": model.upper()} | limits


def test_among_many_models_one_is_below_the_shortcut_by_chance() -> None:
    rows = [above(f"m{k}", 0.5 if k else -0.101) for k in range(12)]
    assert list_remarks(rows[:1])[0].startswith("M0 masters fewer facts than the best shortcuts")
    assert list_remarks(rows)[0].startswith("M0 masters a share of the facts that is not ")
    assert judge_against_shortcut(above("m0", 0.2), 12) == "above"
    constant = [above(name, 0.2) | {"constant_answer": False} for name in ("m0", "m1")]
    assert list_remarks(constant) == ["At least 99 % of the answers of M0 and M1 are False."]


RANDOM = dict(zip(FACETS, (0.25, 0.25, 1 / 15, 0.5), strict=True))


def score_facets(half: float, **accuracies: float) -> Row:
    shares = {k: v for facet in FACETS for k, v in measure(facet, accuracies[facet], half).items()}
    return shares | {f"{facet}_random": RANDOM[facet] for facet in FACETS}


def test_types_of_questions() -> None:
    # The raw accuracy of discrimination is the lowest, but so is the accuracy of random answers.
    raw = score_facets(0.05, comparison=0.63, rectification=0.62, discrimination=0.52, verification=0.735)
    assert (
        describe_facets([raw]) == "No type of question is certainly harder than another, corrected for chance"
    )
    hard = score_facets(0.03, comparison=0.9, rectification=0.9, discrimination=0.2, verification=0.95)
    assert describe_facets([hard]) == (
        "Discrimination is the hardest type of question: 14\u00a0% of the way from chance to all right, "
        "others 87\u00a0% or more"
    )
    two = score_facets(0.03, comparison=0.9, rectification=0.3, discrimination=0.15, verification=0.9)
    assert describe_facets([two]).startswith("Rectification is harder than comparison: 7\u00a0% of the way ")
    # A second model, about which little is known, makes the means uncertain.
    vague = score_facets(0.6, comparison=0.9, rectification=0.9, discrimination=0.2, verification=0.95)
    assert describe_facets([hard, vague]).startswith("No type of question ")
    assert describe_facets([hard, hard]) == f"{describe_facets([hard])} (mean of 2 models)"


def answer_except(heads: Container[str], sample: Row) -> bool | None:
    return None if sample["head"] in heads else bool(sample["label"])


def leave_unfinished(_: list[Row], requests: list[Row], __: list[Row]) -> None:
    for row in requests:
        row["is_unfinished_reasoning"] = row["answer"] is None or None


def test_remarks_tell_models_of_one_name_apart_and_name_what_is_left_out(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.add_pairs("signs", 24)
    data.write_edition(EDITION)
    for model_id, n_open in (("twin_a", 1), ("twin_b", 2)):
        data.write_model(model_id)
        change_record(tmp_path / "responses" / model_id / "model.json", name="Twin")
        is_open = {f"head{k}" for k in range(n_open)}
        data.write_answers(
            EDITION,
            model_id,
            partial(answer_except, is_open),
            change=leave_unfinished,
        )
    data.write_model("failing")
    lost = ("head0", "none")
    data.write_answers(
        EDITION,
        "failing",
        lambda sample: sample["label"],
        fail=lambda sample: "HTTP 500" if (sample["head"], sample["transformation"]) == lost else None,
    )
    limited = DataFolder(tmp_path, pairs=data.pairs[:12])
    limited.write_model("limited")
    limited.write_answers(EDITION, "limited", lambda sample: sample["label"])
    build_warehouse(tmp_path)
    page = parse(write_report(tmp_path, EDITION).read_text(encoding="utf-8"))
    console = render_scores(tmp_path, EDITION)
    for text in (page.text, console):
        assert "twin_a (pretexeval): in 4.2 % of the replies the thought did not end" in text
        assert "twin_b (pretexeval): in 8.3 % of the replies the thought did not end" in text
        assert "Twin" not in text
    assert "4.2\u00a0% of the pairs of Failing are incomplete, and do not count for mastery." in page.text
    assert page.table_with("Relation")[1][-1] == "12–24"
    assert {row[1]: row[-1] for row in page.table_with("#", "Model")[1:]} == {
        "Failing": "23",
        "Limited": "12",
        "twin_a": "24",
        "twin_b": "24",
    }


def know_half(sample: Row) -> bool:
    return bool(sample["label"]) if int(digest(sample["head"]), 16) % 2 else False


def know_fewer(sample: Row) -> bool:
    return bool(sample["label"]) if int(digest(sample["head"]), 16) % 6 == 1 else False


@pytest.mark.parametrize("aspect", ["", "rephraser", "number of facts"])
def test_a_lower_score_is_the_sign_of_a_leak_only_between_editions_of_one_configuration(
    tmp_path: Path, aspect: str
) -> None:
    is_same = not aspect
    old, fresh = DataFolder(tmp_path), DataFolder(tmp_path, wording="fresh ", seed=2)
    for data in (old, fresh):
        data.add_pairs("signs", 60)
    if aspect == "number of facts":
        old.add_pairs("drugs", 60)
    other = "tiny-seed2-00000002"
    old.write_edition(EDITION)
    fresh.write_edition(other)
    manifest = tmp_path / "editions" / other / "manifest.json"
    configuration = require_record(manifest)["configuration"]
    if aspect == "rephraser":
        change_record(manifest, configuration=configuration | {"rephraser": {"kind": "writer"}})
    old.write_model("reader")
    old.write_answers(EDITION, "reader", know_half)
    fresh.write_answers(other, "reader", know_fewer)
    build_warehouse(tmp_path)
    text = parse(write_report(tmp_path, other).read_text(encoding="utf-8")).text
    assert "points lower here than on tiny-seed1-00000001" in text
    assert ("of the same configuration" in text) is is_same
    assert ("a sign of a leaked edition" in text) is is_same
    assert (f"which differs in its {aspect}" in text) is not is_same


@pytest.mark.long
def test_a_difference_from_too_few_facts_is_shown_as_such(
    compared: Path, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    root = tmp_path / "data"
    shutil.copytree(compared, root, ignore=shutil.ignore_patterns("warehouse.duckdb", "scores", "report"))
    monkeypatch.setattr(intervals, "MIN_CLUSTERS", 10)
    build_warehouse(root)
    page = parse(write_report(root, EDITION).read_text(encoding="utf-8"))
    headings = ("Too few facts to tell how far the models differ", "Too few facts to tell what a form costs")
    assert all(heading in page.text for heading in headings)
    assert not any(claim in page.text for claim in ("is ahead of", "cannot be told apart from", " cost "))
    assert {row[0] for row in page.table_with("#", "Model")[1:]} == {"1–3"}
    assert "Models that cannot be told apart in mastery share ranks" in page.text
    (first, *_) = page.table_with("Model", "Against")[1:]
    assert first[2].endswith("\ntoo few")
    pairs = page.table_with("Recallminus")
    assert pairs[1][1] == "+100.0\ntoo few: 3 pairs"
    # The map of all pairs marks none of them.
    cells = [attributes.get("class", "") for name, attributes in page.elements if name == "td"]
    assert [css for css in cells if css in ("gain", "loss")] == []
    index = parse(write_index(root).read_text(encoding="utf-8")).tables[0]
    assert "Recall\ntoo few facts about 2 others" in {row[1] for row in index[1:]}
    found = compare_models(root, ComparisonQuestion("silent", "recall", "mastery", edition=EDITION))
    assert (found.verdict, found.is_regression) == ("too few", False)
    text = render_difference(found)
    assert "share too few facts to be compared in mastery: +100.0 points (too few facts" in text
    assert "100.0 [too few]" in text
    assert json.loads(render_difference_json(found))["all"]["difference_ci_low"] is None
