"""What pages show: rows, trends, who leads, what is contradicted; and when they are written again."""

import json
import re
from datetime import date, datetime
from functools import partial
from itertools import combinations
from math import dist
from pathlib import Path

import pytest

from report.contents import EditionReader, Row, Setting, choose_setting, list_models
from report.curves import list_trends
from report.edition_differences import list_aspects
from report.formats import format_points
from report.model_difference import ComparisonQuestion, compare_models, render_difference
from report.page import are_pages_current, write_index, write_pages, write_report
from report.page_rows import N_EDITIONS_SHOWN, read_drift
from report.remarks import note_base
from tests.report.conftest import fill_pairs, read_pages
from tests.support.command import REPOSITORY
from tests.support.data_folder import DataFolder, always_true, expert, polarity
from tests.support.parsed_page import parse
from tests.support.stage_rows import change_record
from tests.warehouse.conftest import EDITION, publish_signs
from warehouse.publishing import build_warehouse
from warehouse.query import open_warehouse

SETTING = Setting("pretexeval", "strict", 0)


def score(model_id: str, model: str, rank: int, method: str = "pretexeval", **other: object) -> Row:
    keys = {"method": method, "scoring_policy": "strict", "repeat": 0}
    return {"model_id": model_id, "model": model, "rank": rank} | keys | other


def test_the_first_method_policy_and_repeat_are_the_setting_of_the_figures() -> None:
    leaderboard = [
        score("a", "A", 1, "direct"),
        score("a", "A", 1, "prototype", scoring_policy="coin-flip"),
        score("a", "A", 1, "prototype", repeat=1),
        score("a", "A", 1, "prototype", repeat=0),
    ]
    assert choose_setting(leaderboard, ["direct"]) == (Setting("prototype", "strict", 0), 4)


def test_models_stand_by_rank_are_coloured_by_their_place_and_labelled_by_id_if_names_are_alike() -> None:
    places = {"m2": 0, "m1": 1}
    models = list_models([score("m1", "zeta", 1), score("m2", "alpha", 2)], SETTING, {}, places)
    assert [(m.label, m.colour) for m in models] == [("zeta", "var(--model-1)"), ("alpha", "var(--model-0)")]
    swapped = list_models([score("m1", "zeta", 2), score("m2", "alpha", 1)], SETTING, {}, places)
    assert {m.label: m.colour for m in swapped} == {m.label: m.colour for m in models}
    alike = [score("same-1", "same", 1), score("same-2", "same", 2), score("o-1", "other", 3)]
    places = {"same-1": 0, "same-2": 1, "o-1": 2, "asked": 3}
    models = list_models(alike, SETTING, {"asked": "other"}, places)
    assert [m.label for m in models] == ["same-1", "same-2", "o-1", "asked"]
    rows = [score(f"m{k:02}", f"m{k:02}", k + 1) for k in range(24)]
    models = list_models(rows, SETTING, {}, {row["model_id"]: k for k, row in enumerate(rows)})
    assert len({model.colour for model in models[:12]}) == 12
    assert len({(model.colour, model.mark) for model in models}) == 24
    colours = re.findall(r"--model-\d+: #(\w{6});", (REPOSITORY / "report/style.css").read_text())
    assert len(colours) == 2 * 12
    for scheme in (colours[:12], colours[12:]):
        assert min(dist(*map(bytes.fromhex, pair)) for pair in combinations(scheme, 2)) > 40


def evaluate(
    label: str, first_day: date | None, evaluated_on: int, n_pairs: int = 8, **changed: object
) -> Row:
    shares = {"average_accuracy": 0.75, "mastery": 0.5, "mastery_ci_low": 0.4, "mastery_ci_high": 0.6}
    row = score("m", "m", 1, n_complete_pairs=8, edition_id=f"kb-{label}") | shares
    return {
        "edition_id": f"kb-{label}",
        "kb": "kb",
        "label": label,
        "period_start": first_day,
        "first_evaluated_at": datetime(2026, 11, evaluated_on),
        "setting": SETTING,
        "ranked": [row],
        "configuration": json.dumps({"seed": evaluated_on, "rephraser": {"kind": "reviewed"}} | changed),
        "pool": "revised",
        "negatives": "balanced",
        "n_drawn_pairs": n_pairs,
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
    trends = {trend.period: trend for trend in list_trends(editions, {"m": 0})}
    labels = {period: [row["label"] for row in trend.editions] for period, trend in trends.items()}
    assert labels == {
        None: ["seed2", "seed1"],
        "week": ["2026-W46", "2026-W47", "2026-W48"],
        "day": ["2026-11-20", "2026-11-21"],
    }
    assert trends["week"].labels == ["2026-W46", "2026-W47", "2026-W48"]
    assert ", by week. m: mastery 50.0" in trends["week"].text


def test_a_line_joins_only_editions_of_one_configuration() -> None:
    days = [date(2026, 11, day) for day in range(2, 7)]
    editions = [
        evaluate("2026-11-02", days[0], 2, knowledge={"signs": "1"}, series={"seed": 1, "number": 1}),
        evaluate("2026-11-03", days[1], 3, knowledge={"signs": "1"}, rephraser={"kind": "model"}),
        # The base was updated since.
        evaluate("2026-11-04", days[2], 4, knowledge={"signs": "2"}, series={"seed": 1, "number": 3}),
        evaluate("2026-11-05", days[3], 5, knowledge={"signs": "2", "drugs": "1"}),
        evaluate("2026-11-06", days[4], 6, knowledge={"signs": "2"}, n_pairs=11),
    ]
    (trend,) = list_trends(editions, {"m": 0})
    lines = [[share.place for share in line] for line in trend.curves[0].list_lines()]
    assert lines == [[0, 2], [1], [3], [4]]
    assert [list_aspects(editions[0], other) for other in editions] == [
        [],
        ["rephraser"],
        ["knowledge base"],
        ["relations", "knowledge base"],
        ["knowledge base", "number of facts"],
    ]


def test_the_page_and_the_command_say_the_same_difference_is_detectable(root: Path) -> None:
    page = parse(write_report(root, EDITION).read_text(encoding="utf-8"))
    shown = {(row[0], row[1]): row[5] for row in page.table_with("Model", "Against")[1:]}
    assert len(shown) == 3
    ids = {"Guess_More": "guess_more", "Guess_Some": "guess_some", "Always_True": "always_true"}
    for (one, other), detectable in shown.items():
        found = compare_models(root, ComparisonQuestion(ids[one], ids[other], "mastery"))
        points = f"{100 * found.whole['detectable_difference']:.1f}"
        assert detectable == points
        assert f"A true difference of {points} points" in render_difference(found)


def test_the_nearest_editions_of_the_same_base_are_shown(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    data.add_pair("symptoms", "Influenza", "Fever", "Itch")
    data.write_model("expert")
    for week in range(10, 18):
        data.write_edition(f"tiny-2026w{week}")
        if week != 12:
            data.write_answers(f"tiny-2026w{week}", "expert", expert)
    change_record(tmp_path / "editions" / "tiny-2026w14" / "manifest.json", kb="another")
    build_warehouse(tmp_path)
    with open_warehouse(tmp_path) as connection:
        rows, n_others = read_drift(EditionReader(connection, "tiny-2026w13"), SETTING)
        first, n_first = read_drift(EditionReader(connection, "tiny-2026w10"), SETTING)
    assert {row["edition_id"] for row in rows} == {"tiny-2026w13"}
    # No model answered week 12, and week 14 has another base.
    assert [row["other_edition_id"][-2:] for row in rows] == ["10", "11", "15", "16"]
    assert len(rows) == N_EDITIONS_SHOWN
    assert [row["other_edition_id"][-2:] for row in first] == ["11", "13", "15", "16"]
    assert n_others == n_first == 5


@pytest.mark.long
def test_pages_are_current_until_the_warehouse_changes_or_a_page_is_missing(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    data.write_model("changing")
    data.write_answers(EDITION, "changing", expert)
    build_warehouse(data.root)
    assert not are_pages_current(data.root, [EDITION])
    (page,) = write_pages(data.root, [EDITION])
    assert are_pages_current(data.root, [EDITION])
    assert "masters 100.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text
    for path in (page.with_name("validity.html"), page.parent / "samples" / "index.html"):
        path.unlink()
        assert not are_pages_current(data.root, [EDITION])
        write_pages(data.root, [EDITION])
        assert are_pages_current(data.root, [EDITION])
    # A file of the samples that somebody removed is written again.
    file = next((page.parent / "samples" / "data").glob("*/*.js"))
    file.unlink()
    write_pages(data.root, [EDITION])
    assert file.is_file()
    data.write_answers(EDITION, "changing", polarity)
    build_warehouse(data.root)
    assert not are_pages_current(data.root, [EDITION])
    write_pages(data.root, [EDITION])
    assert "masters 0.0\u00a0%" in parse(page.read_text(encoding="utf-8")).text


def test_a_difference_that_rounds_to_zero_has_no_sign() -> None:
    assert [format_points(x) for x in (-0.0001, 0.0001, -0.148, 0.148)] == ["0.0", "0.0", "−14.8", "+14.8"]


SHORTCUTS = "the best shortcuts without medical knowledge"


def guess_some(sample: Row) -> bool | None:
    return bool(sample["label"]) if int(sample["head"][4:]) % 3 == 0 else True


def guess_more(sample: Row) -> bool | None:
    return bool(sample["label"]) if sample["head"] == "head1" else guess_some(sample)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a warehouse with two models that are alike, and one that is far behind."""
    rules = (always_true, guess_some, guess_more)
    return publish_signs(tmp_path_factory.mktemp("leaders"), 60, rules).root


def test_a_score_that_is_clearly_another_one_for_the_base_is_noted() -> None:
    ranked = [score(name, name.upper(), 1, mastery=0.5, average_accuracy=0.8) for name in ("a", "b", "c")]
    measures = {"average_accuracy": 0.81, "average_accuracy_ci_low": 0.78, "average_accuracy_ci_high": 0.84}
    near = measures | {"mastery": 0.519, "mastery_ci_low": 0.4, "mastery_ci_high": 0.6}
    far = measures | {"mastery": 0.43, "mastery_ci_low": 0.38, "mastery_ci_high": 0.48}
    of_base = [{"model_id": "a"} | near, {"model_id": "b"} | far]
    (note,) = note_base(ranked, of_base, {"a": "A", "b": "B", "c": "C"})
    assert note.replace("\N{NO-BREAK SPACE}", " ") == (
        "Common and rare facts were not tested as often as the knowledge base lists them. For a fact of the "
        "base, the mastery of B is estimated at 43.0 % (38.0–48.0), 7.0 points lower."
    )


def test_the_page_and_the_index_name_both_that_lead(root: Path) -> None:
    text = parse(write_report(root, EDITION).read_text(encoding="utf-8")).text
    assert "Guess_More masters 35.0\u00a0% of 60 facts, which is not distinguishable from the best" in text
    assert "shortcut without medical knowledge, and is not distinguishable from Guess_Some in" in text
    assert "Guess_More cannot be told apart from Guess_Some in mastery" in text
    assert "At least 99 % of the answers of Always_True are True." in text
    assert f"Always_True masters fewer facts than {SHORTCUTS}." in text
    # Alike remarks are one sentence.
    level = "a share of the facts that is not distinguishable from that of"
    assert f"Guess_More and Guess_Some master {level} {SHORTCUTS}." in text
    head, row = parse(write_index(root).read_text(encoding="utf-8")).tables[0]
    cells = dict(zip(head, row, strict=True))
    assert cells["Leading models"] == "Guess_More and Guess_Some\nnot distinguishable"
    assert cells["Against thebest shortcut"] == "not distinguishable\nthe shortcut masters 25.0\u00a0%"


def contradict(name: str, sample: Row) -> bool:
    """Contradict twelve labels, and those of the facts on which this model errs alone."""
    k = int(sample["head"].split()[1])
    is_wrong = not sample["is_positive"] if k < 12 else k % 10 == len(name)
    return bool(sample["label"] != is_wrong)


def contradict_more(sample: Row) -> bool:
    """Contradict those, and the labels of one form."""
    return contradict("contrary", sample) if sample["transformation"] != "inv_dn" else not sample["label"]


def test_the_page_lists_what_is_contradicted_and_counts_the_rest(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    heads = [f"disease {k}" for k in range(120)]
    for k, head in enumerate(heads):
        data.add_pair("signs", head, f"sign {'ABCDE'[k % 5]}", f"sign {'BCDEA'[k % 5]}")
    data.write_edition(EDITION)
    data.write_model("contrary", [{"relation": "signs", "head": head} for head in heads])
    data.write_answers(EDITION, "contrary", contradict_more)
    for name in ("ann", "mary", "peter"):
        data.write_model(name)
        data.write_answers(EDITION, name, partial(contradict, name))
    build_warehouse(data.root)
    pages = read_pages(write_report(data.root, EDITION))
    page = parse(pages["Validity"])
    text = " ".join(page.text.split())
    assert "Contradicted prototypes: signs, inverted, denied (0 of 240 right, Contrary)." in text
    assert "By the answers of all models, an estimated 5" in text
    listed = text.split("The most doubtful: ")[1].split(". Answers cannot tell")[0]
    *shown, rest = listed.split("; ")
    assert (len(shown), rest) == (10, "and 2 more")
    assert re.fullmatch(
        r"disease \d+ – sign [A-E] \(signs, labelled false, wrong with a probability of \d+ %, "
        r"contradicted by 4 of 4 models, all that can tell\)",
        shown[0],
    )
    rows = {row[0]: row for row in page.table_with("Model", "Mastery", "If they are wrong")}
    # Ann masters 97 of 120 pairs, and 109 if the twelve labels are wrong.
    assert (rows["Ann"][1][:4], rows["Ann"][2][:4]) == ("80.8", "90.8")
    first = parse(pages["Results"]).text
    assert "If the 12 labels most likely wrong are wrong, " in first
