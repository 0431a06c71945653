"""The data and the links of the sample browser, without a browser."""

from pathlib import Path

import pytest

from report.browser import writer
from report.links import name_samples
from report.page import write_report
from tests.report.conftest import fill_pairs
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from warehouse.publishing import build_warehouse

EDITION = "tiny-seed1-00000001"


def list_data(data: DataFolder) -> dict[str, int]:
    """Publish and write the page; return the time of each of its folders of data."""
    build_warehouse(data.root)
    write_report(data.root, EDITION)
    folder = data.root / "report" / EDITION / "samples"
    return {path.name: path.stat().st_mtime_ns for path in folder.glob("data/*")}


@pytest.mark.long
def test_only_changed_data_is_written_and_that_of_the_page_before_stays(tmp_path: Path) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_edition(EDITION)
    for name, rule in (("changing", simulated_models.erratic), ("same", simulated_models.polarity)):
        data.write_model(name)
        data.write_answers(EDITION, name, rule)
    first = list_data(data)
    assert list_data(data) == first
    data.write_answers(EDITION, "changing", simulated_models.expert)
    second = list_data(data)
    assert first.items() <= second.items()
    # The outcomes and the replies of one model.
    assert len(second) - len(first) == 2
    assert len(list_data(data)) == len(first)


@pytest.mark.long
def test_of_many_facts_those_come_first_that_a_model_was_asked_about(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    data = fill_pairs(DataFolder(tmp_path / "data"))
    data.write_model("expert")
    data.write_answers(EDITION, "expert", simulated_models.expert)
    for number in range(4):
        data.add_pair("symptoms", f"Disease {number}", "Cough", "Itch")
    data.write_edition(EDITION)
    build_warehouse(data.root)
    folder = data.root / "report" / EDITION / "samples"

    def show(n_groups: int) -> tuple[str, str]:
        """Return the page that shows so many facts, and its data."""
        monkeypatch.setattr(writer, "MAX_GROUPS", n_groups)
        write_report(data.root, EDITION)
        page = (folder / "index.html").read_text(encoding="utf-8")
        return page, "".join(path.read_text(encoding="utf-8") for path in folder.glob("data/*/*.js"))

    page, shown = show(4)
    assert "4 of 8 facts are here" in page
    assert "Influenza" in shown
    assert "Disease" not in shown
    page, shown = show(8)
    assert "facts are here" not in page
    assert "Disease 3" in shown


def test_a_link_names_what_its_row_is_about() -> None:
    of_questions = {"setting": "answer_only", "facets": ["comparison", "verification"]}
    rows: dict[str, dict[str, object]] = {
        "model=a%26b": {"model_id": "a&b", "scoring_policy": "strict", "repeat": 0},
        "method=direct&policy=excluded": {"method": "direct", "scoring_policy": "excluded"},
        "setting=answer_only&facet=comparison&method=questions": {
            "setting": "answer_only",
            "facet": "comparison",
        },
        "form=none%2Cinv": {"transformations": ["none", "inv"], "mastery": 0.5},
        "negative=other": {"grouping_by": "negative", "group_name": "not in the base"},
        "age=2021": {"grouping_by": "release", "group_name": "2021"},
        "taught=pool": {"grouping_by": "taught", "group_name": "pool"},
        "setting=answer_only&method=questions&form=MCQ%2CTFQ&polarity=affirmed": {
            "facet": "verification",
            "is_negated_included": False,
        }
        | of_questions,
    }
    assert [name_samples(row) for row in rows.values()] == list(rows)
