"""What the page, the console and the Prefect UI say about constant answers and about shortcuts."""

from pathlib import Path

import pytest

from report.page import write_report
from report.remarks import list_remarks
from tests.report.conftest import EDITION
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import parse
from warehouse.publishing import build_warehouse

CONSTANT = "Always_True always answers True (100.0 % of its answers), whatever it is asked."
SHORTCUTS = "the best shortcuts without medical knowledge (25.0 %)"
BELOW = f"Always_True masters 0.0 % of the facts, fewer than {SHORTCUTS}."


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return the root of a warehouse with 30 pairs, a model that is always right, and a constant one."""
    data = DataFolder(tmp_path_factory.mktemp("remarks") / "data")
    for k in range(30):
        data.add_pair("signs", f"head{k}", f"tail{k}", f"tail{(k + 1) % 30}")
    data.write_edition(EDITION)
    for rule in (simulated_models.expert, simulated_models.always_true):
        data.write_model(rule.__name__)
        data.write_answers(EDITION, rule.__name__, rule)
    build_warehouse(data.root)
    return data.root


def test_the_page_names_constant_answers_and_scores_below_shortcuts(root: Path) -> None:
    text = parse(write_report(root, EDITION).read_text(encoding="utf-8")).text
    assert CONSTANT in text
    assert BELOW in text
    assert "Expert always answers" not in text
    assert "Expert masters 100.0 % of the facts, fewer" not in text
    assert "The best shortcuts without medical knowledge master 25.0\u00a0%." in text


def make_row(**values: object) -> dict[str, object]:
    row = {"mastery": 0.4, "best_shortcut_mastery": 0.3, "true_rate": 0.5, "constant_answer": None}
    limits = {"mastery_above_shortcut_ci_low": 0.02, "mastery_above_shortcut_ci_high": 0.18}
    return row | limits | values


def test_a_mastery_like_that_of_shortcuts_is_not_called_better() -> None:
    assert list_remarks(make_row(mastery_above_shortcut_ci_low=-0.01), "m") == [
        "m masters 40.0 % of the facts, which is not distinguishable from the best shortcuts without medical "
        "knowledge (30.0 %)."
    ]
