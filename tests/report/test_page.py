import subprocess
import sys
from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from report.formats import format_percent, format_points
from report.page import write_index, write_report
from tests.report.conftest import EDITION, ODD_HEAD, ODD_NAME
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse
from warehouse.query import run_query

REPOSITORY = Path(__file__).parents[2]
ADDRESSES = ("href", "src", "action", "data", "poster", "srcset", "xlink:href")


@pytest.fixture(scope="module")
def text(published: Path) -> str:
    return write_report(published, EDITION).read_text(encoding="utf-8")


@pytest.fixture(scope="module")
def page(text: str) -> Parsed:
    return parse(text)


def test_the_page_is_small_and_asks_for_no_address_outside(text: str, page: Parsed) -> None:
    lowered = text.lower()
    assert len(text.encode()) < 450_000
    assert "http" not in lowered
    assert "url(" not in lowered
    assert "@import" not in lowered
    assert page.find("script") == []
    for _, attributes in page.elements:
        for name in ADDRESSES:
            value = attributes.get(name) or ""
            assert value.startswith(("#", "samples/index.html#")) or value in (
                "",
                "data:,",
                "../index.html",
                "samples/index.html",
            )


def test_every_link_has_its_target_and_every_id_is_unique(page: Parsed) -> None:
    ids = [attributes["id"] for _, attributes in page.elements if "id" in attributes]
    assert len(ids) == len(set(ids))
    links = [href for a in page.find("a") if (href := a["href"]) and href.startswith("#")]
    assert len(links) >= 9
    assert {link[1:] for link in links} <= set(ids)


def test_the_leaderboard_has_the_numbers_of_the_view(published: Path, page: Parsed) -> None:
    table = page.table_with("Model", "Method", "Scoring, repeat")
    expected = run_query(
        published,
        "select model, method, scoring_policy, mastery, mastery_ci_low, mastery_ci_high, "
        "average_accuracy, ci_low, ci_high, no_answer_rate, n_samples, n_complete_pairs, "
        "mastery_above_shortcut, true_rate "
        "from leaderboard",
    )[1]
    # No prompt failed, so there is no column for failures.
    assert "Failed" not in table[0]
    # The setting of the figures comes first, by rank.
    assert [row[:3] for row in table[1:3]] == [
        ["Expert", "pretexeval", "strict, 0"],
        [ODD_NAME, "pretexeval", "strict, 0"],
    ]
    by_key = {tuple(row[:3]): row for row in table[1:]}
    assert len(by_key) == len(expected) == 16
    for row in expected:
        cells = by_key[row[0], row[1], f"{row[2]}, 0"]
        for cell, (share, low, high) in ((cells[3], row[3:6]), (cells[6], row[6:9])):
            if share is None:
                assert cell == "–"
            else:
                assert cell == f"{100 * share:.1f}\u00a0%\n{100 * low:.1f}–{100 * high:.1f}"
        assert cells[4].split("\n")[0] == format_points(row[12])
        assert cells[9] == f"{100 * row[9]:.1f}\u00a0%"
        assert cells[10] == format_percent(row[13])
        assert [cells[11], cells[13]] == [str(row[10]), str(row[11])]


def test_the_finding_names_the_first_model_and_its_lead(page: Parsed) -> None:
    assert "Expert masters 100.0\u00a0% of 4 facts" in page.text
    assert "It is ahead of all 3 other models: no 95 % interval of a difference in mastery" in page.text
    assert "method pretexeval under scoring policy strict, repeat 0" in page.text
    ranking = page.table_with("Model", "Mastery(joint, by pair)")
    assert [row[0] for row in ranking[1:]] == ["Expert", ODD_NAME, "Polarity", "Silent"]


def test_names_are_escaped(text: str, page: Parsed) -> None:
    assert "<script" not in text
    assert "<b>disease" not in text
    assert ODD_NAME in page.text
    assert ODD_HEAD in [row[0] for table in page.tables for row in table]


def test_the_same_warehouse_gives_the_same_bytes(published: Path, text: str) -> None:
    again = "import sys; from pathlib import Path; from report.page import write_report; "
    again += "write_report(Path(sys.argv[1]), sys.argv[2])"
    subprocess.run([sys.executable, "-c", again, str(published), EDITION], cwd=REPOSITORY, check=True)
    build_warehouse(published)
    path = published / "report" / EDITION / "index.html"
    assert path.read_text(encoding="utf-8") == text
    assert write_report(published, EDITION).read_text(encoding="utf-8") == text


def test_an_edition_that_nobody_has_answered(unanswered: Path) -> None:
    page = parse(write_report(unanswered, EDITION).read_text(encoding="utf-8"))
    assert "No model has answered this edition yet." in page.text
    assert "pretexeval evaluate CONFIG" in page.text
    assert page.table_with("Shortcut")[1][0] == "always true"
    assert [row[0] for row in page.table_with("Form")[1:]][:2] == ["none", "inv"]
    assert "masters" not in page.text.split("No model has answered")[0].split("All editions")[0]


def test_an_unknown_edition_is_named_with_those_there_are(unanswered: Path) -> None:
    with pytest.raises(InputError, match=f"'other'.*it contains: {EDITION}"):
        write_report(unanswered, "other")
    assert not (unanswered / "report").exists()


def test_a_damaged_warehouse(tmp_path: Path) -> None:
    (tmp_path / "warehouse.duckdb").write_bytes(b"not a database" * 1000)
    with pytest.raises(InputError, match=r"warehouse\.duckdb: cannot be read"):
        write_report(tmp_path, EDITION)


def test_the_index_lists_editions_and_links_those_with_a_page(unanswered: Path) -> None:
    before = parse(write_index(unanswered).read_text(encoding="utf-8"))
    assert before.tables[0][1][0] == EDITION
    assert before.find("a") == []
    write_report(unanswered, EDITION)
    path = write_index(unanswered)
    after = parse(path.read_text(encoding="utf-8"))
    assert [link["href"] for link in after.find("a")] == [f"{EDITION}/index.html"]
    assert (path.parent / str(after.find("a")[0]["href"])).is_file()
    assert "http" not in path.read_text(encoding="utf-8")
