"""Who leads, what answers are constant or below shortcuts, and what reference models contradict."""

from pathlib import Path

import pytest

from report.leaders import describe_lead, find_lead
from report.page import write_index, write_report
from tests.report.conftest import read_pages
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from tests.support.stage_rows import Row
from tests.warehouse.conftest import EDITION, publish_signs
from warehouse.publishing import build_warehouse

RANKED = [{"model_id": model_id, "mastery": 0.5} for model_id in "abc"]
SHORTCUTS = "the best shortcuts without medical knowledge"


def difference(other: str, value: float | None, low: float | None, high: float | None) -> Row:
    limits = {"difference_ci_low": low, "difference_ci_high": high}
    return {"other_model_id": other, "difference": value} | limits


def test_what_is_said_of_the_first_model() -> None:
    """It is ahead where the interval excludes zero; an unknown interval distinguishes nothing."""
    unknown, near = difference("b", 0.4, None, None), difference("b", 0.1, -0.1, 0.3)
    ahead, of_third = difference("b", 0.4, 0.2, 0.6), difference("c", 0.4, 0.2, 0.6)
    level = "is not distinguishable from B"
    cases: list[tuple[list[Row], int, str]] = [
        ([], 1, ""),
        # Nothing is known about the others.
        ([difference("b", None, None, None)], 3, ""),
        ([near], 2, level),
        ([unknown], 2, level),
        ([difference("b", 0.0, 0.0, 0.0), of_third], 3, level),
        ([ahead], 2, "is ahead of B"),
        ([ahead], 3, "is ahead of 1 of 2 others"),
        ([ahead, of_third], 3, "is ahead of all 2 others"),
    ]
    labels = {"a": "A", "b": "B", "c": "C"}
    said = []
    for differences, n_ranked, _ in cases:
        lead = find_lead(RANKED[:n_ranked], differences)
        assert lead is not None
        said.append(describe_lead(lead, labels, n_ranked))
    assert said == [expected for *_, expected in cases]


def guess_some(sample: Row) -> bool | None:
    return bool(sample["label"]) if int(sample["head"][4:]) % 3 == 0 else True


def guess_more(sample: Row) -> bool | None:
    return bool(sample["label"]) if sample["head"] == "head1" else guess_some(sample)


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a warehouse with two models that are alike, and one that is far behind."""
    rules = (simulated_models.always_true, guess_some, guess_more)
    return publish_signs(tmp_path_factory.mktemp("leaders"), 60, rules).root


def test_the_page_and_the_index_name_both_that_lead(root: Path) -> None:
    text = parse(write_report(root, EDITION).read_text(encoding="utf-8")).text
    assert "Guess_More masters 35.0\u00a0% of 60 facts, which the best shortcut without medical" in text
    assert "knowledge may do as well, and is not distinguishable from Guess_Some." in text
    assert "Guess_More and Guess_Some cannot be told apart" in text
    assert "Always_True always answers True, whatever the statement says." in text
    assert f"Always_True masters fewer facts than {SHORTCUTS}." in text
    # Alike remarks are one sentence.
    level = "a share of the facts that is not distinguishable from that of"
    assert f"Guess_More and Guess_Some master {level} {SHORTCUTS}." in text
    head, row = parse(write_index(root).read_text(encoding="utf-8")).tables[0]
    cells = dict(zip(head, row, strict=True))
    assert cells["Leading models"] == "Guess_More and Guess_Some\nnot distinguishable"
    assert cells["Against the bestshortcut"] == "not distinguishable\n25.0\u00a0%"


def contradict(sample: Row) -> bool:
    is_wrong = not sample["is_positive"] and int(sample["head"].split()[1]) < 12
    return bool(sample["label"] != is_wrong)


def contradict_more(sample: Row) -> bool:
    """Contradict those, and the labels of one form."""
    return contradict(sample) if sample["transformation"] != "inv_dn" else not sample["label"]


def test_the_page_lists_what_is_contradicted_and_counts_the_rest(tmp_path: Path) -> None:
    data = DataFolder(tmp_path)
    heads = [f"disease {k}" for k in range(40)]
    for k, head in enumerate(heads):
        data.add_pair("signs", head, f"sign {'ABCDE'[k % 5]}", f"sign {'BCDEA'[k % 5]}")
    data.write_edition(EDITION)
    data.write_model("contrary", [{"relation": "signs", "head": head} for head in heads])
    data.write_answers(EDITION, "contrary", contradict_more)
    for name in ("ann", "bob"):
        data.write_model(name)
        data.write_answers(EDITION, name, contradict)
    build_warehouse(data.root)
    page = parse(read_pages(write_report(data.root, EDITION))["Validity"])
    text = " ".join(page.text.split())
    assert "Contradicted prototypes: signs, inverted, denied (0 of 80 right, Contrary)." in text
    listed = {
        "Contradicted facts: ": "disease 0 – sign B (signs, Contrary)",
        "contradict these labels in all forms: ": "disease 0 – sign B (signs, labelled false, 2 of 2 models)",
    }
    for title, first in listed.items():
        *shown, rest = text.split(title)[1].split(".")[0].split("; ")
        assert (len(shown), shown[0], rest) == (10, first, "and 2 more")
    (row,) = (
        row for row in page.table_with("Model", "Mastery", "without thedisputed pairs") if row[0] == "Ann"
    )
    assert (row[1], row[2].split("\n")[0], *row[5:]) == ("70.0\u00a0%", "100.0\u00a0%", "40", "12")
