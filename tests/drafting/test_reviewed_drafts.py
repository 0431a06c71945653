"""The filled sheet of a draft is read back: only texts that pass every check reach the pool."""

import csv
import tomllib
from pathlib import Path

import pytest

from cli.main import main
from drafting.denials import deny_sentence
from prototypes.pool import check_drafts, load_pool
from schemas.transformations import NAMES, POSITIVE_OF
from tests.drafting.test_drafts import BAD, GIVEN_SENTENCES, GOOD

Verdicts = dict[str, tuple[str, str]]


@pytest.fixture
def pool(tmp_path: Path) -> Path:
    """Draft three relations by rule alone, so that six cells of each are empty."""
    file = tmp_path / "pool.toml"
    for relation, sentence in GIVEN_SENTENCES.items():
        assert main(["draft", relation, "--from", sentence, "--output", str(file)]) == 1
    return file


def write_all(relation: str) -> Verdicts:
    """Accept what was drafted, and write what no rule could."""
    texts = GOOD[relation] | {
        name: deny_sentence(GOOD[relation][partner]) or ""
        for name, partner in POSITIVE_OF.items()
        if partner in GOOD[relation]
    }
    return {name: ("no", texts[name]) if name in texts else ("yes", "") for name in NAMES}


def review(pool: Path, relation: str, verdicts: Verdicts) -> int:
    """Fill the sheet as a spreadsheet saves it in some countries, and import it."""
    sheet = pool.with_name(f"pool-{relation}.csv")
    with sheet.open(encoding="utf-8-sig", newline="") as file:
        rows = list(csv.DictReader(file))
    for row in rows:
        row["is_good"], row["correction"] = verdicts[row["row_id"]]
    filled = sheet.with_name("filled.csv")
    with filled.open("w", encoding="utf-8", newline="") as file:
        writer = csv.DictWriter(file, list(rows[0]), delimiter=";")
        writer.writeheader()
        writer.writerows(rows)
    return main(["review", "drafts", str(filled), str(pool), "--reviewer", "ann"])


def read(pool: Path) -> dict[str, dict[str, object]]:
    return tomllib.loads(pool.read_text(encoding="utf-8"))


@pytest.mark.parametrize("relation", GOOD)
def test_an_accepted_draft_is_none_any_more_and_the_others_stay(pool: Path, relation: str) -> None:
    before = read(pool)
    assert review(pool, relation, write_all(relation)) == 0
    table = read(pool)[relation]
    assert (table.get("status"), table["reviewed_by"]) == (None, "ann")
    assert {name: table[name] for name in GOOD[relation]} == {n: [t] for n, t in GOOD[relation].items()}
    assert read(pool) == before | {relation: table}
    # The comment of a draft stands above the two that are left, and not above the reviewed one.
    assert pool.read_text(encoding="utf-8").count("# Drafts: ") == 2


def test_a_run_accepts_the_reviewed_relation(pool: Path) -> None:
    for relation in GOOD:
        assert review(pool, relation, write_all(relation)) == 0
    text = pool.read_text(encoding="utf-8")
    pool.write_text(text[: text.index("# Drafts: ")], encoding="utf-8")
    loaded = load_pool(str(pool))
    assert check_drafts(loaded, GOOD) == []
    assert loaded.relations["causes"].cells["inv"].prototype == GOOD["causes"]["inv"]


def test_a_rejected_cell_leaves_a_draft_that_a_second_sheet_completes(
    pool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    verdicts = write_all("causes")
    assert review(pool, "causes", verdicts | {"inv": ("no", "")}) == 2
    assert "row_id inv_dn: inv, which it denies, is not accepted" in capsys.readouterr().err
    rejected: Verdicts = {"inv": ("no", ""), "inv_dn": ("no", "")}
    assert review(pool, "causes", verdicts | rejected) == 1
    assert "still a draft, write inv, inv_dn" in capsys.readouterr().out
    table = read(pool)["causes"]
    assert (table["status"], set(NAMES) - set(table)) == ("draft", {"inv", "inv_dn"})
    assert review(pool, "causes", verdicts) == 0
    assert review(pool, "causes", verdicts) == 2
    assert "was reviewed already" in capsys.readouterr().err


@pytest.mark.parametrize(("cell", "text"), [(cell, texts[0]) for cell, texts in BAD.items()])
def test_nothing_bad_comes_in_by_the_sheet(pool: Path, cell: str, text: str) -> None:
    before = pool.read_bytes()
    assert review(pool, "causes", write_all("causes") | {cell: ("yes", text)}) == 2
    assert pool.read_bytes() == before


@pytest.mark.parametrize(
    ("cell", "verdict", "said"),
    [
        ("dn", ("", ""), "is_good: '' is not one of yes, no"),
        ("ins", ("yes", ""), "there is no text to accept"),
        ("none", ("no", ""), "the other texts are compared with this one"),
    ],
)
def test_a_sheet_that_is_not_filled_changes_nothing(
    pool: Path, capsys: pytest.CaptureFixture[str], cell: str, verdict: tuple[str, str], said: str
) -> None:
    before = pool.read_bytes()
    assert review(pool, "causes", write_all("causes") | {cell: verdict}) == 2
    assert said in capsys.readouterr().err
    assert pool.read_bytes() == before


def test_what_was_changed_in_the_pool_by_hand_is_not_overwritten(
    pool: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    text = pool.read_text(encoding="utf-8").replace("may cause [Y].", "may give rise to [Y].")
    pool.write_text(text, encoding="utf-8")
    assert review(pool, "causes", write_all("causes")) == 2
    assert "the pool now says 'The agent [X] may give rise to [Y].'" in capsys.readouterr().err
