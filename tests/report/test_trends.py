"""The list of editions shows how the mastery of models changes, in the colours of the pages."""

import re
from pathlib import Path

from report.page import write_index, write_report
from tests.report.conftest import EDITION, FRESH, ODD_NAME
from tests.support.parsed_page import parse


def test_the_index_draws_the_editions_of_a_base(compared: Path) -> None:
    text = write_index(compared).read_text(encoding="utf-8")
    page = parse(text)
    assert ODD_NAME in page.text
    assert "<script" not in text
    rows = page.table_with("Edition", "Model", "Mastery")[1:]
    editions = (f"1: {EDITION}", f"2: {FRESH}")
    assert sorted(row[:2] for row in rows) == [
        [e, m] for e in editions for m in (ODD_NAME, "Recall", "Silent")
    ]
    (label, narrow) = page.labels
    assert label == narrow
    assert label.startswith("Mastery over the editions of starter")
    assert f"pairs of {FRESH}" in label


def swatches(text: str) -> dict[str, str]:
    """Return model -> colour as the cells of a page show them."""
    found = re.findall(r'<span class="swatch" style="background:([^"]+)"></span>([^<]+)<', text)
    return {name: colour for colour, name in found}


def test_a_model_has_one_colour_on_all_pages(compared: Path) -> None:
    pages = [write_report(compared, edition).read_text(encoding="utf-8") for edition in (EDITION, FRESH)]
    colours = [swatches(text) for text in (*pages, write_index(compared).read_text(encoding="utf-8"))]
    assert len(set(colours[0].values())) == 3
    assert colours[0] == colours[1] == colours[2]


def test_one_edition_has_no_trend(published: Path) -> None:
    page = parse(write_index(published).read_text(encoding="utf-8"))
    assert page.labels == []
    assert "Trend" not in page.text
