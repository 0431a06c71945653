"""`pretexeval diff`: the tables and the page say what two editions share, and hostile texts stay texts."""

import csv
import io
import json
from pathlib import Path

import pytest

from cli.main import main
from tests.support import simulated_models
from tests.support.data_folder import DataFolder
from tests.support.parsed_page import Parsed, parse
from warehouse.publishing import build_warehouse

OLD, NEW = "tiny-spring-00000001", "tiny-autumn-00000002"
HOSTILE = '<script>alert("x")</script>'


@pytest.fixture(scope="module")
def root(tmp_path_factory: pytest.TempPathFactory) -> Path:
    """Return a folder with two editions.

    Scabies is gone, Gout is new, Influenza has another false tail, Scurvy has hostile texts. `expert` answers
    both; `polarity` only the old one.
    """
    old = DataFolder(tmp_path_factory.mktemp("editions") / "data", label="spring")
    old.add_pair("symptoms", "Influenza", "Fever", "Itch")
    old.add_pair("symptoms", "Scabies", "Itch", "Chest pain")
    old.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    new = DataFolder(old.root, label="autumn", wordings={"Scurvy": HOSTILE})
    new.add_pair("symptoms", "Influenza", "Fever", HOSTILE)
    new.add_pair("symptoms", "Gout", "Swelling", "Itch")
    new.add_pair("drugs", "Scurvy", "Vitamin C", "Quinine")
    old.write_edition(OLD)
    new.write_edition(NEW)
    for rule in (simulated_models.expert, simulated_models.polarity):
        old.write_model(rule.__name__)
        old.write_answers(OLD, rule.__name__, rule)
    new.write_answers(NEW, "expert", simulated_models.expert)
    build_warehouse(old.root)
    return old.root


def diff(root: Path, *arguments: str) -> int:
    return main(["diff", *arguments, "--root", str(root)])


def read_csv(root: Path, capsys: pytest.CaptureFixture[str], part: str) -> list[dict[str, str]]:
    assert diff(root, "spring", "autumn", "--show", part, "--format", "csv") == 0
    return list(csv.DictReader(io.StringIO(capsys.readouterr().out)))


def test_the_tables_say_what_is_shared(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(root, "spring", "autumn") == 0
    lines = capsys.readouterr().out.splitlines()
    assert lines[:2] == [f"first:  {OLD}", f"second: {NEW}"]
    cells = [line.split() for line in lines]
    assert ["fact", "all", "3", "3", "2", "1", "1", "0"] in cells
    assert ["negative", "symptoms", "2", "2", "0", "2", "2", "1"] in cells
    assert ["text", "drugs", "16", "16", "0", "16", "16", "16"] in cells
    # Nothing changed in the facts about drugs.
    assert ["fact", "drugs"] not in [line[:2] for line in cells]
    assert any(line[0] == "Expert" and line[-3:] == ["not", "distinguishable", "1"] for line in cells if line)
    assert "Only one of the editions has scores of Polarity (polarity), tiny-spring-00000001." in lines
    assert "0 of 8 samples with the same text" not in "\n".join(lines)
    assert "8 of 8 samples with the same text have the same prompt" in "\n".join(lines)


def test_json_has_counts_scores_and_notes(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(root, OLD[:8], "autumn", "--format", "json") == 0
    found = json.loads(capsys.readouterr().out)
    assert (found["first"], found["second"]) == (OLD, NEW)
    assert len(found["counts"]) == 3 * 3
    assert [row["measure"] for row in found["scores"]] == ["average_accuracy", "joint_accuracy", "mastery"]
    (mastery,) = (row for row in found["scores"] if row["measure"] == "mastery")
    assert (mastery["n_pairs"], mastery["first_score"], mastery["second_score"]) == (1, 1.0, 1.0)
    assert (mastery["n_texts"], mastery["n_same_answers"]) == (8, 8)
    assert mastery["second_is"] == "not distinguishable"


def test_the_lists_hold_every_item_once(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    changed, same = (read_csv(root, capsys, part) for part in ("changes", "same"))
    facts = [(row["change"], row["head"]) for row in changed if row["item"] == "fact"]
    assert facts == [("gone", "Scabies"), ("new", "Gout")]
    assert [row["head"] for row in same if row["item"] == "fact"] == ["Scurvy", "Influenza"]
    counts = {row["item"]: row for row in read_csv(root, capsys, "counts") if row["relation"] == "all"}
    for item, total in counts.items():
        n_changed = int(total["n_gone"]) + int(total["n_new"]) - int(total["n_replaced"])
        assert sum(row["item"] == item for row in changed) == n_changed
        assert sum(row["item"] == item for row in same) == int(total["n_same"])


def test_markdown_has_both_tables(root: Path, capsys: pytest.CaptureFixture[str]) -> None:
    assert diff(root, "spring", "autumn", "--format", "markdown") == 0
    lines = capsys.readouterr().out.splitlines()
    assert sum(line.startswith("| ---") for line in lines) == 2


@pytest.fixture(scope="module")
def page(root: Path) -> Parsed:
    for _ in range(2):
        assert diff(root, "spring", "autumn", "--html", str(root / "pages" / "diff.html")) == 0
    return parse((root / "pages" / "diff.html").read_text(encoding="utf-8"))


def test_the_page_has_no_script_and_loads_nothing(root: Path, page: Parsed) -> None:
    text = (root / "pages" / "diff.html").read_text(encoding="utf-8")
    assert page.find("script") == []
    assert "http" not in text
    assert {link.get("href") for link in page.find("a")} <= {
        *("#items", "#scores", "#fact", "#negative", "#text", "#demonstration"),
    }
    assert {str(link["href"])[1:] for link in page.find("a")} <= {
        each.get("id") for each in page.find("section")
    }
    assert HOSTILE in page.text


def test_the_page_shows_items_and_scores(page: Parsed) -> None:
    counts = {tuple(row[:2]): row[2:] for row in page.table_with("Item", "Relation")[1:]}
    assert counts["facts", "all"] == ["3", "3", "2", "1", "1", "0"]
    scores = page.table_with("Model", "Method, scoring", "Measure")[1:]
    assert [row[0] for row in scores] == ["Expert"] * 3
    assert [row[7] for row in scores] == ["not distinguishable"] * 3
    assert scores[2][8] == "8\nof 8 texts"
    rows = [table for table in page.tables if table[0][:3] == ["Change", "Relation", "Head"]]
    assert rows[0][1:] == [
        ["gone", "symptoms", "Scabies", "Itch", "–"],
        ["new", "symptoms", "Gout", "–", "Swelling"],
    ]
    assert ["replaced", "symptoms", "Influenza", "Itch", HOSTILE] in rows[1]


@pytest.mark.parametrize(
    ("editions", "message"),
    [
        (("spring", "tiny-spring"), f"are the same edition, {OLD}"),
        (("tiny", "spring"), f"the edition 'tiny' may be any of {NEW}, {OLD}: give its id"),
        (("spring", "winter"), f"no edition 'winter'; it contains: {NEW}, {OLD}"),
        (("", "spring"), "no edition ''"),
    ],
)
def test_editions_that_are_not_meant_clearly(
    root: Path, capsys: pytest.CaptureFixture[str], editions: tuple[str, str], message: str
) -> None:
    assert diff(root, *editions) == 2
    assert message in capsys.readouterr().err
