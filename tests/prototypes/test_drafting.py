"""Drafts: a denial is the contradictory or none, nothing bad passes without a mark, and no run uses one."""

import tomllib
from pathlib import Path

import pytest

from commands.main import main
from pretexeval.primitives.errors import InputError
from prototypes.drafting import DraftedCell, add_draft, check_denial, deny_sentence, draft_relation
from prototypes.pool import load_pool
from schemas.transformations import NAMES, POSITIVE_OF
from tests.support.command import make_rows, write_base, write_config

GIVEN = {
    "none": "The agent [X] may cause [Y].",
    "inv": "[Y] may be caused by the agent [X].",
    "ins": "If a patient is exposed to [X], then this agent is among those that may cause [Y].",
    "inv_ins": "If a patient has [Y], then [X] is among the agents that may cause it.",
}
DENIALS = {
    "dn": "The agent [X] cannot cause [Y].",
    "inv_dn": "[Y] cannot be caused by the agent [X].",
    "ins_dn": "If a patient is exposed to [X], then this agent is not among those that may cause [Y].",
    "inv_ins_dn": "If a patient has [Y], then [X] is not among the agents that may cause it.",
}


def list_options(sentences: dict[str, str]) -> list[str]:
    return [part for name, text in sentences.items() for part in (f"--{name.replace('_', '-')}", text)]


def test_the_denials_are_written_and_no_run_uses_them(
    tmp_path: Path, capsys: pytest.CaptureFixture[str]
) -> None:
    pool = tmp_path / "pool.toml"
    pool.write_text('extends = "revised"\n')
    assert main(["draft", "causes", str(pool), *list_options(GIVEN)]) == 0
    cells = load_pool(str(pool)).relations["causes"].cells
    assert {name: cells[name].prototype for name in NAMES} == GIVEN | DENIALS
    base = write_base(tmp_path / "own.tsv", make_rows("causes"))
    knowledge = {"name": "own", "format": "table", "path": str(base)}
    edition = {"pool": str(pool), "methods": ["prototype"]}
    config = write_config(tmp_path / "c.toml", tmp_path / "data", knowledge=knowledge, edition=edition)
    assert main(["validate", str(config)]) == 2
    assert "are a draft that nobody has reviewed" in capsys.readouterr().err
    before = pool.read_bytes()
    assert main(["draft", "causes", str(pool), *list_options(GIVEN)]) == 2
    assert pool.read_bytes() == before


@pytest.mark.parametrize(
    ("cell", "text", "message"),
    [
        ("none", "[Y] may cause [X].", r"names \[Y\] first"),
        ("none", "The drug [X] cannot cause [Y].", "denies something"),
        ("none", "Consider [X] for [Y].", "not one plain statement"),
        ("none", "[X]!", "holds"),
        ("inv", "[X] may cause [Y] in general.", r"inv names \[X\] first"),
        ("inv", "\x1b[31m[Y] may be caused by [X].", "control characters"),
        ("ins", "The person [X] may cause [Y].", "is not of the form"),
        ("ins", "If a patient has [Y], then [X] may cause it.", r"names \[Y\] first"),
        ("inv_ins", "If a patient does not have [Y], then [X] is among its causes.", "denies something"),
    ],
)
def test_a_sentence_without_the_form_of_its_cell_is_refused(cell: str, text: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        draft_relation(GIVEN | {cell: text})


def test_a_sentence_that_says_something_else_is_marked() -> None:
    for cell, text in (
        ("inv", "[Y] is unlikely to be caused by [X]."),
        ("inv", "[Y] may be treated by the agent [X]."),
        ("inv", "Resistance to [Y] may be caused by the agent [X]."),
        ("ins", "If a patient takes [X], then this patient will get [Y]."),
        ("inv_ins", "If a patient has [Y], then [X] is the cause."),
    ):
        drafted = draft_relation(GIVEN | {cell: text})[cell]
        assert drafted.marks, text
        assert drafted.text == text


def test_a_denial_that_no_rule_gives_is_a_comment(tmp_path: Path) -> None:
    """The relation is not complete before somebody writes the cell."""
    cells = draft_relation(GIVEN | {"inv_ins": "If a patient has [Y], then [X] causes it in some patients."})
    assert cells["inv_ins_dn"].text is None
    path = tmp_path / "pool.toml"
    add_draft(path, "causes", cells)
    text = path.read_text(encoding="utf-8")
    assert "# inv_ins_dn is missing (no rule is sure" in text
    assert tomllib.loads(text)["causes"].keys() == {*NAMES, "status", "instance"} - {"inv_ins_dn"}


@pytest.mark.parametrize(("name", "file"), [("a b", "p.toml"), ("extends", "p.toml"), ("causes", "p.csv")])
def test_a_place_that_cannot_hold_a_draft_is_refused(tmp_path: Path, name: str, file: str) -> None:
    with pytest.raises(InputError):
        add_draft(tmp_path / file, name, draft_relation(GIVEN))
    assert not list(tmp_path.iterdir())


def test_a_denial_is_the_contradictory_or_nothing() -> None:
    whole = "It is not true that "
    denials: dict[str, str | None] = {
        "The agent [X] may cause [Y].": "The agent [X] cannot cause [Y].",
        "The condition [Y] is due to [X].": "The condition [Y] is not due to [X].",
        "If a patient takes [X], then this drug is among those that may cause [Y].": (
            "If a patient takes [X], then this drug is not among those that may cause [Y]."
        ),
        "The drug [X] treats [Y].": f"{whole}the drug [X] treats [Y].",
        "[X] treats [Y].": f"{whole}[X] treats [Y].",
        # A denied auxiliary would leave "is safe", or the patients that are not meant, undenied.
        "The drug [X] may cause [Y] and is safe.": f"{whole}the drug [X] may cause [Y] and is safe.",
        "The drug [X] may cause [Y] in some people.": f"{whole}the drug [X] may cause [Y] in some people.",
        "It is known that [X] may cause [Y].": f"{whole}it is known that [X] may cause [Y].",
        # No rule is sure: the verb of a claim after a condition, an unknown first word, a denial.
        "If a patient takes [X], then this drug causes [Y].": None,
        "If a patient, or anybody else, takes [X], then this drug may cause [Y].": None,
        "Parkinson lists [X] for [Y].": None,
        "The drug [X] lacks the effect [Y].": None,
    }
    assert {sentence: deny_sentence(sentence) for sentence in denials} == denials


def test_the_rules_deny_every_prototype_of_the_bundled_pool() -> None:
    """The checks find nothing against them, and most are the denials that people wrote."""
    equal = []
    for prototypes in load_pool("revised").relations.values():
        cells = {name: DraftedCell(cell.prototype) for name, cell in prototypes.cells.items()}
        for name, partner in POSITIVE_OF.items():
            denial = deny_sentence(cells[partner].text or "")
            assert denial is not None
            others = {each: cell for each, cell in cells.items() if each in (partner, "dn") and each != name}
            assert check_denial(name, denial, others) == []
            equal.append(denial == cells[name].text)
    assert sum(equal) > 0.75 * len(equal)
