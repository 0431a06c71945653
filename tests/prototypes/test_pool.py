from pathlib import Path

import pytest

from pretexeval.primitives.errors import InputError
from prototypes.__main__ import main
from prototypes.pool import Pool, check_pool, check_pool_wordings, load_pool
from prototypes.question_wording import BUNDLED_FILE
from prototypes.templates import Cell
from schemas.transformations import NAMES

OWN = """
[may_cure]
instance = ["TakesDrug", "HasCurableDisease"]
none = ["The drug [X] may cure [Y].", "Use of [X] is known to end [Y]."]
inv = ["The disease [Y] may be cured by [X].", "What ends [Y] can be [X]."]
ins = "If a patient takes [X], then [Y] is among the diseases it may cure."
inv_ins = "If a patient has [Y], then [X] is among the drugs that may cure it."
dn = ["The drug [X] cannot cure [Y].", "Use of [X] is not known to end [Y]."]
inv_dn = ["The disease [Y] cannot be cured by [X].", "What ends [Y] can never be [X]."]
ins_dn = "If a patient takes [X], then [Y] is not among the diseases it may cure."
inv_ins_dn = "If a patient has [Y], then [X] is not among the drugs that may cure it."
"""


def write_pool(folder: Path, text: str) -> str:
    path = folder / "own.toml"
    path.write_text(text, encoding="utf-8")
    return str(path)


def read_error(folder: Path, text: str) -> str:
    with pytest.raises(InputError) as caught:
        load_pool(write_pool(folder, text))
    return str(caught.value)


@pytest.fixture(scope="module")
def revised() -> Pool:
    return load_pool("revised")


def test_the_bundled_pool_is_complete_and_has_its_wordings(revised: Pool) -> None:
    assert len(revised.relations) == 34
    assert check_pool(revised, revised.relations) == []
    assert check_pool_wordings(revised, revised.relations) == []
    for prototypes in revised.relations.values():
        assert tuple(prototypes.cells) == NAMES
        assert all(len(cell.wordings) >= 4 for cell in prototypes.cells.values())


def test_no_text_of_the_bundled_pool_is_in_two_cells(revised: Pool) -> None:
    for relation, prototypes in revised.relations.items():
        texts = [text for cell in prototypes.cells.values() for text in cell.texts]
        assert len(set(texts)) == len(texts), relation


def test_a_relation_of_ones_own_is_one_table(tmp_path: Path) -> None:
    pool = load_pool(write_pool(tmp_path, OWN))
    assert pool.name == "own"
    prototypes = pool.select_relation("may_cure")
    assert prototypes.instance == ("TakesDrug", "HasCurableDisease")
    assert prototypes.cells["dn"] == Cell(
        "The drug [X] cannot cure [Y].", ("Use of [X] is not known to end [Y].",)
    )
    assert prototypes.cells["ins"].wordings == ()


def test_a_pool_may_extend_a_bundled_one(tmp_path: Path, revised: Pool) -> None:
    pool = load_pool(write_pool(tmp_path, 'extends = "revised"\n' + OWN))
    assert pool.relations.keys() == {*revised.relations, "may_cure"}
    assert pool.checksum_relation("may_treat") == revised.checksum_relation("may_treat")
    assert "extends 'nothing'; bundled pools: revised" in read_error(tmp_path, 'extends = "nothing"\n' + OWN)


def test_a_relation_without_prototypes_is_named(tmp_path: Path) -> None:
    pool = load_pool(write_pool(tmp_path, OWN))
    (problem,) = check_pool(pool, ["may_cure", "may_treat"])
    assert problem.startswith("pool 'own' has no prototypes for relation 'may_treat': add a table")
    with pytest.raises(InputError, match="no prototypes for relation 'may_treat'"):
        pool.select_relation("may_treat")


def test_all_problems_of_a_pool_are_named_at_once(tmp_path: Path) -> None:
    text = """
        [may_cure]
        none = ["The drug [X] may cure it."]
        inv = ["The disease [Y] may be cured by [X]."]
        inv_dn = ["The disease [Y] may be healed by [X]."]
        ins = []
        other = "x"
        """
    message = read_error(tmp_path, text)
    assert "own.toml has 6 problems:" in message
    assert "[may_cure] instance is missing: name the two predicates" in message
    assert "[may_cure] lacks inv_ins, dn, ins_dn, inv_ins_dn: a relation needs" in message
    assert "[may_cure] has unknown other; allowed: instance, status, origin, none" in message
    assert "[may_cure] ins is not a list of texts" in message
    assert "[may_cure] none entry 0 holds [Y] 0 times instead of once" in message
    assert "[may_cure] inv_dn entry 0 does not deny its positive form" in message


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        ("", "holds no relation"),
        ("may_cure = 3", "[may_cure] is not a table of cells"),
        ("[may_cure", "is not valid TOML"),
        ("extends = 3\n" + OWN, "extends is 3: give the name of a bundled pool"),
        (OWN.replace('"TakesDrug", ', ""), "instance is ['HasCurableDisease']"),
        (OWN.replace("instance", 'status = "final"\ninstance'), "status is 'final': write status ="),
    ],
)
def test_a_file_that_is_no_pool_is_an_error(tmp_path: Path, text: str, expected: str) -> None:
    assert expected in read_error(tmp_path, text)


@pytest.mark.parametrize(
    ("name", "expected"),
    [
        ("revisd", r"no prototype pool 'revisd': name a bundled one \(revised\) or give the path"),
        ("pool.json", r"no prototype pool 'pool\.json'"),
        ("nowhere.toml", r"nowhere\.toml does not exist"),
    ],
)
def test_an_unknown_pool_is_an_error(name: str, expected: str) -> None:
    with pytest.raises(InputError, match=expected):
        load_pool(name)


@pytest.mark.parametrize(
    ("old", "new"),
    [
        ("may cure [Y].", "might cure [Y]."),
        ("is known to end", "has been known to end"),
        ('"TakesDrug"', '"SwallowsDrug"'),
    ],
)
def test_a_checksum_sees_prototypes_wordings_and_predicates(tmp_path: Path, old: str, new: str) -> None:
    other = OWN.replace("may_cure", "other")
    before = load_pool(write_pool(tmp_path, OWN + other))
    after = load_pool(write_pool(tmp_path, OWN.replace(old, new) + other))
    assert before.checksum_relation("may_cure") != after.checksum_relation("may_cure")
    assert before.checksum_relation("other") == after.checksum_relation("other")


def test_checksum_of_a_relation_stays_the_same(tmp_path: Path) -> None:
    """The ids of stored editions depend on it."""
    pool = load_pool(write_pool(tmp_path, OWN))
    assert pool.checksum_relation("may_cure") == "9a139077b0715a70f1b97f42f0bab95a"


def test_command_prints_problems_and_fails(tmp_path: Path, capsys: pytest.CaptureFixture[str]) -> None:
    wording = tmp_path / "questions.toml"
    wording.write_text("[a.MCQ]\nquestion = 1", encoding="utf-8")
    assert main([write_pool(tmp_path, OWN), str(wording), str(tmp_path / "none.toml")]) == 1
    shown = capsys.readouterr().out
    assert "[may_cure] none has 1 further wordings" in shown
    assert "[a.MCQ] question is 1: give a text" in shown
    assert "none.toml cannot be read" in shown
    assert main(["revised", str(BUNDLED_FILE)]) == 0
