"""Which sections a page has, and that each is complete."""

from pathlib import Path

import pytest

from report.page import write_report
from tests.report.conftest import EDITION, ODD_NAME, ODD_REASON, fill_pairs
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse

NEW = ("comparison", "methods", "components", "steps", "probabilities", "policies", "drift", "quality")


@pytest.fixture(scope="module")
def page(compared_text: str) -> Parsed:
    return parse(compared_text)


def section_ids(page: Parsed) -> set[str]:
    return {str(a["id"]) for a in page.find("section") if "id" in a}


def test_all_sections_are_there_and_linked(page: Parsed) -> None:
    assert set(NEW) <= section_ids(page)
    assert {f"#{name}" for name in NEW} <= {a["href"] for a in page.find("a")}


def test_nothing_is_unescaped(compared_text: str, page: Parsed) -> None:
    assert "<script" not in compared_text
    assert "<u>" not in compared_text
    assert ODD_NAME in page.text
    assert ODD_REASON in page.text


def test_heads_of_tables_and_texts_of_figures(page: Parsed) -> None:
    assert all(head.get("scope") in ("col", "row") for head in page.find("th"))
    drawn = [svg for svg in page.find("svg") if svg.get("aria-hidden") != "true"]
    assert all(svg["role"] in ("img", "group") and svg["aria-label"] for svg in drawn)
    assert len(page.find("figure")) == len(page.find("figcaption"))
    for table in page.tables:
        head = " ".join(table[0])
        if "ccuracy" in head:
            assert "answer" in head
            assert "n pairs" in head


def test_without_data_nothing_is_said(unanswered: Path) -> None:
    page = parse(write_report(unanswered, EDITION).read_text(encoding="utf-8"))
    assert section_ids(page) & set(NEW) == {"quality"}
    assert [row[0] for row in page.table_with("Method", "Rephraser", "n samples")[1:]] == ["pretexeval"]
    for absent in ("Diversity", "What people say", "attempts to reword", "Why attempts"):
        assert absent not in page.text


def test_one_model_one_method_one_policy(tmp_path: Path) -> None:
    small = fill_pairs(DataFolder(tmp_path / "data"))
    small.write_edition(EDITION)
    small.write_model("erratic")
    small.write_answers(EDITION, "erratic", simulated_models.erratic, weigh=lambda sample: (None, None))
    build_warehouse(small.root)
    page = parse(write_report(small.root, EDITION).read_text(encoding="utf-8"))
    assert section_ids(page) & set(NEW) == {"comparison", "components", "steps", "quality"}
    assert "finds a true difference between two models" in page.text
    assert "minus each other model" not in page.text
    assert "Under every method" not in page.text
    links = {str(a["href"])[1:] for a in page.find("a") if str(a["href"]).startswith("#")}
    assert links <= section_ids(page)
