"""Drafts: a sentence gives eight sound prototypes, or a refusal that says what to write instead."""

from pathlib import Path

import polars as pl
import pytest

from commands.main import main
from pretexeval.gate import check_rewording
from pretexeval.primitives.errors import InputError
from prototypes.drafting import add_draft, draft_prototypes, place_slots
from prototypes.pool import load_pool
from prototypes.templates import check_cells, fill_slots
from schemas.transformations import NAMES, POSITIVE_OF
from tests.support.command import make_rows, write_base, write_config


def read_table(name: str) -> pl.DataFrame:
    return pl.read_csv(Path(__file__).with_name(name), separator="\t", quote_char=None)


def test_sentences_give_the_texts_that_were_read() -> None:
    """They were read one by one: grammar, meaning, and what the denial denies."""
    for row in read_table("drafted.tsv").rows(named=True):
        sentence = row.pop("sentence")
        drafted = draft_prototypes(sentence)
        assert drafted.cells == row, sentence
        assert list(check_cells({name: [text] for name, text in row.items()})) == []
        for name, partner in POSITIVE_OF.items():
            affirmed, denied = (fill_slots(row[each], "Velorak", "Tunsobar") for each in (partner, name))
            assert "polarity" in check_rewording(affirmed, denied, ("Velorak",), ("Tunsobar",))


def test_a_slot_without_a_noun_is_advised_against() -> None:
    assert draft_prototypes("The drug [X] treats the disease [Y].").advice == ()
    (advice,) = draft_prototypes("[X] treats the disease [Y].").advice
    assert advice == 'a noun before [X] makes the texts clearer, as in "the drug [X]"'


def test_a_sentence_that_is_not_understood_is_refused_with_a_remedy() -> None:
    for sentence, message in read_table("refused.tsv").iter_rows():
        with pytest.raises(InputError) as caught:
            draft_prototypes(sentence)
        assert message in str(caught.value), sentence
        assert ": write " in str(caught.value), sentence


def test_names_of_a_fact_stand_for_the_slots() -> None:
    rows = [("Aspirin", "pain"), ("aspirin", "chest pain"), ("chest pain drug", "pain")]
    facts = pl.DataFrame(rows, schema=["head", "tail"], orient="row")
    expected = {
        "The drug aspirin may treat Chest Pain.": "The drug [X] may treat [Y].",
        "Pain may respond to aspirin.": "[Y] may respond to [X].",
        "The chest pain drug treats pain.": "The [X] treats [Y].",
        "[X] treats pain.": "[X] treats pain.",
    }
    assert {sentence: place_slots(sentence, facts) for sentence in expected} == expected
    with pytest.raises(InputError, match="such as 'Aspirin' and 'pain'"):
        place_slots("Aspirins treat painful joints.", facts)


def test_the_command_writes_texts_that_are_valid_at_once(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    base = write_base(tmp_path / "own.tsv", make_rows("causes"))
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    pool = tmp_path / "pool.toml"
    edition = {"pool": str(pool), "methods": ["prototype"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, edition=edition)
    command = ["draft", str(config), "causes", "The agent [X] may cause the disease [Y]."]
    assert main(command) == 0
    shown = capsys.readouterr().out
    prototypes = load_pool(str(pool)).relations["causes"]
    assert prototypes.instance == ("IsExposedToAgent", "AgentMayCauseDisease")
    assert [f"{name:<10}  {prototypes.cells[name].prototype}\n" in shown for name in NAMES] == [True] * 8
    assert shown.count("\n            - ") == 12
    assert main(["validate", str(config)]) == 0
    before = pool.read_bytes()
    assert main(command) == 2
    assert main([*command[:2], "cures", command[3]]) == 2
    assert "delete its table" in (shown := capsys.readouterr().err)
    assert "the base has no relation 'cures': choose one of causes" in shown
    assert pool.read_bytes() == before


@pytest.mark.parametrize(("name", "file"), [("extends", "p.toml"), ("causes", "p.csv")])
def test_a_place_that_cannot_hold_a_draft_is_refused(tmp_path: Path, name: str, file: str) -> None:
    with pytest.raises(InputError):
        add_draft(tmp_path / file, name, draft_prototypes("The agent [X] causes the disease [Y]."))
    assert not list(tmp_path.iterdir())
