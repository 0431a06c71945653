"""Templates: their checks, drafts of all eight from one sentence, and the names that fill them."""

from itertools import chain, combinations
from pathlib import Path

import polars as pl
import pytest

from commands.main import main
from pretexeval.gate import check_rewording
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.toml_files import write_toml
from prototypes import templates
from prototypes.capitals import write_within_sentence
from prototypes.drafting import add_draft, draft_prototypes, place_slots
from prototypes.pool import Pool, load_pool
from prototypes.templates import check_cells, fill_slots
from schemas.transformations import NAMES, POSITIVE_OF
from tests.support.command import make_rows, write_base, write_config


def test_a_template_is_checked_on_its_own() -> None:
    expected: dict[str, list[str]] = {
        "The drug [X] may treat [Y].": [],
        "Infection with E. coli has [X] as a sign of St. [Y] disease.": [],
        "The drug [X] may treat it.": ["holds [Y] 0 times instead of once"],
        **{
            f"The drug {other} [X] may treat [Y].": [f"holds {other}"]
            for other in ("[x]", "[Z]", "{Y}", "{{ head }}", "<tail>", "%s", "___", "$X")
        },
        "[X] and [X] may treat [Y].": ["holds [X] 2 times instead of once"],
        "The drug [X] may treat [Y]": ["does not end in one full stop"],
        "The drug [X] may treat [Y]..": ["does not end in one full stop"],
        "The drug [X] may treat [Y] .": ["has stray white space"],
        "The drug  [X] may treat [Y].": ["has stray white space"],
        "There is [X]. It may treat [Y].": ["is more than one sentence"],
        "This is a drug. [X] may treat [Y].": ["is more than one sentence"],
    }
    problems = {text: [each.partition(":")[0] for each in templates.check_text(text)] for text in expected}
    assert problems == expected


@pytest.mark.parametrize(
    ("positive", "negated", "expected"),
    [
        ("[X] may treat [Y].", "[X] cannot treat [Y].", None),
        ("[X] is a cause of [Y].", "[X] isn't a cause of [Y].", None),
        ("[X] has no link to [Y].", "[X] is not without a link to [Y].", None),
        ("[X] inhibits [Y].", "[X] does not inhibit [Y].", None),
        ("[X] has [Y].", "[X] does not have [Y].", None),
        ("[X] may treat [Y].", "[X] may really treat [Y].", "does not deny"),
        ("[X] may treat [Y].", "It is not never that [X] may treat [Y].", "does not deny"),
        ("[X] may well treat [Y].", "No link joins [X] and [Y].", "shares only 0%"),
    ],
)
def test_a_negation_denies_its_partner_and_nothing_else(
    positive: str, negated: str, expected: str | None
) -> None:
    problems = list(templates.check_negation(positive, negated))
    assert len(problems) == (0 if expected is None else 1)
    assert all(expected is not None and problem.startswith(expected) for problem in problems)


def test_wordings_must_differ() -> None:
    """Shared words are counted with their repeats and without slots."""
    measure = templates.measure_shared_words
    assert measure("the drug [X] treats [Y].", "[Y], the disease the drug treats") == 1.0
    assert measure("a a b [X]", "a c d [Y]") == pytest.approx(1 / 3)
    cell = ["[X] may treat [Y].", "[Y] may be what [X] does treat.", "Use of [X] helps in [Y]."]
    (alike,) = templates.check_alike(cell)
    assert alike.startswith("entries 0 and 1 share 100% of their words (at most 70%)")


def test_dn_entries_are_compared_with_their_partners() -> None:
    cells = {
        "none": ["[X] may treat [Y].", "[X] may be used against [Y]."],
        "dn": ["[X] cannot treat [Y].", "[X] may be used with [Y].", "[X] never treats [Y]."],
    }
    count, polarity = check_cells(cells)
    assert count == "dn has 3 entries and none 2: entry i of dn denies entry i of none"
    assert polarity.startswith("dn entry 1 does not deny its positive form")


def list_cells(pool: Pool, relation: str) -> dict[str, list[str]]:
    return {name: list(cell.texts) for name, cell in pool.relations[relation].cells.items()}


def exchange(cells: dict[str, list[str]], *names: str, entry: int | None = None) -> dict[str, list[str]]:
    """Return the cells with head and tail exchanged in all texts of these cells, or in one entry of them."""
    exchanged = {
        name: [fill_slots(t, "[Y]", "[X]") if entry in (None, i) else t for i, t in enumerate(cells[name])]
        for name in names
    }
    return cells | exchanged


def test_an_exchange_of_head_and_tail_is_noticed(tmp_path: Path) -> None:
    """In any cell, in a single wording, and in a cell together with its denial."""
    revised, n_exchanged = load_pool("revised"), 0
    for relation in revised.relations:
        cells = list_cells(revised, relation)
        assert not list(check_cells(cells))
        wrong = [exchange(cells, name) for name in NAMES]
        wrong += [exchange(cells, name, entry=i) for name in NAMES for i in range(len(cells[name]))]
        forms = [pair for n in range(1, 5) for pair in combinations(POSITIVE_OF.items(), n)]
        assert all(list(templates.check_slot_order(each)) for each in wrong)
        wrong += (in_forms := [exchange(cells, *chain.from_iterable(some)) for some in forms])
        assert all(any("[Y]" in each for each in check_cells(cells)) for cells in in_forms)
        n_exchanged += len(wrong)
    assert n_exchanged == 272 + 5 * 272 + 15 * 34
    path, relations = tmp_path / "pool.toml", sorted(revised.relations)[:5]
    tables = {
        r: {"instance": ["TakesIt", "HasIt"], **exchange(list_cells(revised, r), "inv")} for r in relations
    }
    write_toml(path, tables)
    with pytest.raises(InputError) as caught:
        load_pool(str(path))
    named = "[{}] inv entry 0 names [X] first; to fit none it must"
    assert [r for r in relations if named.format(r) not in str(caught.value)] == []


@pytest.mark.parametrize(
    ("plain", "turned", "problem"),
    [
        ("[X] treats [Y].", "[Y] treats [X].", "inv entry 0 exchanges [X] and [Y] of none"),
        ("[X] treats [Y].", "[Y] is treated by [X].", None),
        ("[X] interacts with [Y].", "[Y] interacts with [X].", None),
        ("The gene [X] is linked to [Y].", "[Y] is linked to the gene [X].", None),
        (
            "The drug [X] treats the disease [Y].",
            "The drug [Y] treats the disease [X].",
            "the drug [X] and the",
        ),
        ("The drug [X] treats the disease [Y].", "For the disease [Y], the drug [X] is given.", None),
        ("The disease [X] may come with [Y].", "The disease [Y] may come after [X].", None),
    ],
)
def test_an_exchange_that_keeps_the_order_is_noticed(plain: str, turned: str, problem: str | None) -> None:
    cells = {name: ["[Y] [X]"] if name.startswith("inv") else ["[X] [Y]"] for name in NAMES}
    found = list(templates.check_slot_order(cells | {"none": [plain], "inv": [turned]}))
    assert len(found) == (0 if problem is None else 1)
    assert problem is None or problem in found[0]


def read_table(name: str) -> pl.DataFrame:
    table = pl.read_csv(Path(__file__).with_name(name), separator="\t", quote_char=None)
    return table.fill_null("")


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
    knowledge = write_base(tmp_path / "own.tsv", make_rows("Is cause"))
    pool = tmp_path / "pool.toml"
    edition = {"pool": str(pool), "methods": ["prototype"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, edition=edition)
    command = ["draft", str(config), "Is cause", "The agent [X] may cause the disease [Y]."]
    assert main(command) == 0
    shown = capsys.readouterr().out
    prototypes = load_pool(str(pool)).relations["Is_cause"]
    assert prototypes.instance == ("IsExposedToAgent", "AgentMayCauseDisease")
    assert [f"{name:<10}  {prototypes.cells[name].prototype}\n" in shown for name in NAMES] == [True] * 8
    assert shown.count("\n            - ") == 12
    assert main(["validate", str(config)]) == 0
    before = pool.read_bytes()
    assert main(command) == 2
    assert main([*command[:2], "cures", command[3]]) == 2
    assert "delete its table" in (shown := capsys.readouterr().err)
    assert "the base has no relation 'cures': choose one of Is_cause" in shown
    assert pool.read_bytes() == before


@pytest.mark.parametrize(("name", "file"), [("extends", "p.toml"), ("causes", "p.csv")])
def test_a_place_that_cannot_hold_a_draft_is_refused(tmp_path: Path, name: str, file: str) -> None:
    with pytest.raises(InputError):
        add_draft(tmp_path / file, name, draft_prototypes("The agent [X] causes the disease [Y]."))
    assert not list(tmp_path.iterdir())


def test_a_name_in_a_sentence_loses_only_the_capitals_of_a_title() -> None:
    """A later word that is in no list keeps the capitals of the whole name."""
    for name, written in read_table("capitals.tsv").iter_rows():
        assert (write_within_sentence(name), write_within_sentence(written)) == (written, written)
    text = fill_slots("The drug [X] may cause [Y].", "mTOR Inhibitor", "Rash")
    assert text == "The drug mTOR inhibitor may cause rash."
