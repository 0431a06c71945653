"""Pools of prototypes and texts of questions: those that are bundled, of one's own, and of the authors."""

import csv
import os
from dataclasses import replace
from pathlib import Path

import polars as pl
import pytest
from hypothesis import given

from benchmarks.naturalness import N_FACTS, list_filled, rank_wordings
from pretexeval.primitives.errors import InputError
from prototypes.pool import INSTANCE, check_pool, check_pool_wordings, load_pool
from prototypes.question_wording import (
    KEYS,
    QuestionTexts,
    QuestionWording,
    check_question_wording,
    load_question_wording,
)
from prototypes.templates import Cell
from schemas.transformations import NAMES
from tests.support.small_bases import names

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


def test_the_bundled_pool_is_complete_and_no_text_is_in_two_cells() -> None:
    revised = load_pool("revised")
    assert len(revised.relations) == 34
    assert check_pool(revised, revised.relations) == []
    assert check_pool_wordings(revised, revised.relations) == []
    for relation, prototypes in revised.relations.items():
        assert tuple(prototypes.cells) == NAMES
        assert all(len(cell.wordings) >= 4 for cell in prototypes.cells.values())
        texts = [text for cell in prototypes.cells.values() for text in cell.texts]
        assert len(set(texts)) == len(texts), relation
    assert revised.relations["affected_sites"].origin == "The affected sites of [X] include [Y]."
    assert revised.relations["may_treat"].origin == "[X] may treat [Y]."


def test_a_relation_of_ones_own_is_one_table_and_may_extend_a_bundled_pool(tmp_path: Path) -> None:
    pool, revised = load_pool(write_pool(tmp_path, OWN)), load_pool("revised")
    assert pool.name == "own"
    prototypes = pool.select_relation("may_cure")
    assert prototypes.instance == ("TakesDrug", "HasCurableDisease")
    quoted = load_pool(write_pool(tmp_path, OWN.replace("[may_cure]", '["may cure"]')))
    assert quoted.relations == pool.relations
    denial = Cell("The drug [X] cannot cure [Y].", ("Use of [X] is not known to end [Y].",))
    assert prototypes.cells["dn"] == denial
    assert prototypes.cells["ins"].wordings == ()
    (problem,) = check_pool(pool, ["may_cure", "may_treat"])
    assert problem.startswith("pool 'own' has no prototypes for 'may_treat': write those of a relation with")
    assert problem.endswith('relations = ["may_cure"]')
    with pytest.raises(InputError, match="no prototypes for 'may_treat'"):
        pool.select_relation("may_treat")
    extended = load_pool(write_pool(tmp_path, 'extends = "revised"\n' + OWN))
    assert extended.relations.keys() == {*revised.relations, "may_cure"}
    assert extended.checksum_relation("may_treat") == revised.checksum_relation("may_treat")
    problems = check_pool_wordings(pool, ["may_cure", "unknown"])
    remedy = 'write them, or write kind = "none" in [rephraser] to test the prototypes themselves'
    few = "pool 'own' has fewer than 4 further wordings beside the prototypes of"
    assert problems[0] == f"{few} [may_cure]: {remedy}"
    assert not any(problem.startswith(few) for problem in problems[1:])
    cells = prototypes.cells | {"none": Cell("prototype", ("one", "two", "three", "four"))}
    enough = replace(pool, relations={"may_cure": replace(prototypes, cells=cells)})
    (problem,) = check_pool_wordings(enough, ["may_cure"])
    assert problem == f"{few} [may_cure] inv ins inv_ins dn inv_dn ins_dn inv_ins_dn: {remedy}"


SEVERAL_PROBLEMS = """
[may_cure]
none = ["The drug [X] may cure it."]
inv = ["The disease [Y] may be cured by [X]."]
inv_dn = ["The disease [Y] may be healed by [X]."]
ins = []
other = "x"
"""


@pytest.mark.parametrize(
    ("text", "expected"),
    [
        (
            SEVERAL_PROBLEMS,
            [
                "own.toml has 6 problems:",
                "[may_cure] instance is missing: name the two predicates",
                "[may_cure] lacks inv_ins, dn, ins_dn, inv_ins_dn: a relation needs",
                "[may_cure] has unknown other; allowed: instance, origin, none",
                "[may_cure] ins is not a list of texts",
                "[may_cure] none entry 0 holds [Y] 0 times instead of once",
                "[may_cure] inv_dn entry 0 does not deny its positive form",
            ],
        ),
        ("", ["holds no relation"]),
        ("may_cure = 3", ["own.toml has 1 problem:\n", "[may_cure] is not a table of cells"]),
        ("[may_cure", ["is not valid TOML"]),
        ("extends = 3\n" + OWN, ["extends is 3: give the name of a bundled pool"]),
        ('extends = "revised"\n[r]\norigin = "The [X]."', ["[r] origin is 'The [X].': give a sentence with"]),
        ('extends = "nothing"\n' + OWN, ["extends 'nothing'; bundled pools: revised"]),
        (OWN.replace('"TakesDrug", ', ""), ["instance is ['HasCurableDisease']"]),
        (OWN.replace("TakesDrug", "P").replace("HasCurableDisease", "P"), ["instance is ['P', 'P']"]),
    ],
)
def test_a_file_that_is_no_pool_is_an_error(tmp_path: Path, text: str, expected: list[str]) -> None:
    with pytest.raises(InputError) as caught:
        load_pool(write_pool(tmp_path, text))
    assert [words for words in expected if words not in str(caught.value)] == []


def test_an_unknown_pool_is_an_error() -> None:
    for name, expected in {
        "revisd": r"no prototype pool 'revisd': name a bundled one \(revised\) or give the path",
        "pool.json": r"no prototype pool 'pool\.json'",
        "nowhere.toml": r"nowhere\.toml does not exist",
    }.items():
        with pytest.raises(InputError, match=expected):
            load_pool(name)


def test_a_checksum_sees_prototypes_wordings_and_predicates_of_its_relation(tmp_path: Path) -> None:
    """The ids of stored editions depend on it."""
    other = OWN.replace("may_cure", "other")

    def checksum(text: str) -> tuple[str, str]:
        pool = load_pool(write_pool(tmp_path, text + other))
        return pool.checksum_relation("may_cure"), pool.checksum_relation("other")

    own, of_other = checksum(OWN)
    assert own == "9a139077b0715a70f1b97f42f0bab95a"
    changed = [
        checksum(OWN.replace(*change))
        for change in (
            ("may cure [Y].", "might cure [Y]."),
            ("is known to end", "has been known to end"),
            ('"TakesDrug"', '"SwallowsDrug"'),
        )
    ]
    assert len({own, *(of_own for of_own, _ in changed)}) == 4
    assert {of_other for _, of_other in changed} == {of_other}


FOLDER = os.environ.get("PRETEXEVAL_REFERENCE_DATA", "")
PROTOTYPES = Path(FOLDER) / "prototypes.parquet"
HEADER = ["pid", "default_prompt", "human_prompt", *(f"prompt{i}" for i in range(2, 9))]
# In the order of the CSV.
ORDER = ("none", "dn", "inv", "inv_dn", "ins", "ins_dn", "inv_ins", "inv_ins_dn")
TEXTS = [f"{i} [X] and [Y] ." for i in range(8)]


def write_csv(folder: Path, *rows: list[str], header: list[str] = HEADER) -> str:
    path = folder / "authors.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def test_the_columns_of_the_csv_are_the_transformations(tmp_path: Path) -> None:
    # Faults of the authors are kept. MedLAMA's default prompt is the name of the relation between the slots.
    faulty = ["may_prevent", "", "[Y]  may be associate with [X]", *TEXTS[1:]]
    pool = load_pool(write_csv(tmp_path, ["may_treat", "[Y] by [X] .", *TEXTS], faulty))
    prototypes = pool.relations["may_treat"]
    assert {name: cell.prototype for name, cell in prototypes.cells.items()} == {
        name: f"{i} [X] and [Y]." for i, name in enumerate(ORDER)
    }
    assert prototypes.instance == INSTANCE
    assert prototypes.origin == "[Y] by [X]."
    assert all(cell.wordings == () for cell in prototypes.cells.values())
    assert pool.relations["may_prevent"].cells["none"].prototype == "[Y]  may be associate with [X]"
    assert pool.relations["may_prevent"].origin == "[X] may prevent [Y]."


@pytest.mark.parametrize(
    ("rows", "header", "expected"),
    [
        ([], HEADER, ["holds no relation"]),
        ([["r", "", *TEXTS]] * 2, HEADER, ["holds r none twice: keep one"]),
        ([["r", "", *TEXTS[:3]]], HEADER[:5], ["has no column prompt4, prompt5"]),
        ([["r", "[X] may treat .", *TEXTS]], HEADER, ["r default_prompt holds [Y] 0 times"]),
        # All problems are named at once.
        (
            [["r", "", "", "[X] does not treat it.", *TEXTS[2:]]],
            HEADER,
            ["r lacks none", "r dn holds [Y] 0 times instead of once"],
        ),
    ],
)
def test_a_csv_that_is_no_pool_is_an_error(
    tmp_path: Path, rows: list[list[str]], header: list[str], expected: list[str]
) -> None:
    with pytest.raises(InputError) as caught:
        load_pool(write_csv(tmp_path, *rows, header=header))
    assert [words for words in expected if words not in str(caught.value)] == []


def test_a_table_falls_back_on_its_second_column(tmp_path: Path) -> None:
    names = ["None", "DN", "Inv", "Inv+DN", "Ins", "Ins+DN", "Inv+Ins", "Inv+Ins+DN"]
    path = tmp_path / "table.parquet"
    frame = pl.DataFrame(
        {
            "relation": ["Affected  Sites"] * 8,
            "transformation": names,
            "pretex_csv": [*TEXTS[:7], None],
            "table_002": ["other [X] [Y].", *TEXTS[1:]],
        }
    )
    frame.write_parquet(path)
    cells = load_pool(str(path)).relations["affected_sites"].cells
    assert cells["none"].prototype == "0 [X] and [Y]."
    assert cells["inv_ins_dn"].prototype == "7 [X] and [Y]."
    for wrong, message in (
        (frame.with_columns(transformation=pl.lit("Twist")), "unknown transformation 'twist'"),
        (frame.drop("transformation"), "is not a table of prototypes: it needs relation"),
    ):
        wrong.write_parquet(path)
        with pytest.raises(InputError, match=message):
            load_pool(str(path))


@pytest.mark.skipif(
    not (FOLDER and PROTOTYPES.is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with prototypes.parquet",
)
def test_the_published_pool_is_read() -> None:
    pool = load_pool(str(PROTOTYPES))
    assert len(pool.relations) == 21
    assert {"symptoms", "affected_sites", "therapeutic_drugs", "surgical_procedures"} <= pool.relations.keys()
    published = pl.read_parquet(PROTOTYPES)["pretex_csv"].drop_nulls().str.replace(r"\s+\.$", ".")
    read = {cell.prototype for p in pool.relations.values() for cell in p.cells.values()}
    assert set(published) <= read


def test_the_least_natural_wording_of_a_relation_comes_first() -> None:
    """A relation with long names surprises the model in its plain statement, too."""
    rows = [
        ("short", "none", 0, "plain", 3.0),
        ("short", "none", 0, "plain", 5.0),
        ("short", "dn", 1, "stilted", 6.0),
        ("long", "none", 0, "plain", 8.0),
        ("long", "ins", 2, "fluent", 7.5),
    ]
    columns = ["relation", "transformation", "entry", "template", "surprisal"]
    ranked = rank_wordings(pl.DataFrame(rows, columns, orient="row"))
    excess = [("stilted", 2.0), ("plain", 0.0), ("plain", 0.0), ("fluent", -0.5)]
    assert ranked.select("template", "excess").rows() == excess


def test_every_wording_of_a_relation_is_filled_with_several_facts() -> None:
    rows = list_filled(load_pool("revised")).filter(relation="may_treat")
    assert rows.group_by("transformation", "entry").len()["len"].to_list() == [N_FACTS] * 40
    for head, tail, text in rows.select("head", "tail", "text").iter_rows():
        assert head.lower() in text.lower()
        assert tail.lower() in text.lower()


QUESTIONS = """
[may_cure.MCQ]
question = "Which of the following may be cured with [X]?"
negated = "Which of the following cannot be cured with [X]?"
[may_cure.MAQ]
question = "Which of the following are diseases that [X] may cure?"
negated = "Which of the following are diseases that [X] cannot cure?"
[may_cure.TFQ]
statement = "The drug [X] may cure [Y]."
negated = "The drug [X] cannot cure [Y]."
"""


def load_own(folder: Path, text: str) -> QuestionWording:
    return load_question_wording(Path(write_pool(folder, text)))


def test_the_bundled_questions_are_complete_and_state_the_prototypes() -> None:
    """A TFQ and a sample of the first method then differ in nothing but the task."""
    wording, pool = load_question_wording(), load_pool("revised")
    assert check_question_wording(wording, pool.relations) == []
    assert len(wording.relations) == 34
    texts = set[str]()
    for name, relation in wording.relations.items():
        assert tuple(relation.texts) == tuple(KEYS)
        cells = pool.relations[name].cells
        assert relation.texts["TFQ"] == QuestionTexts(cells["none"].prototype, cells["dn"].prototype), name
        texts |= {text for found in relation.texts.values() for text in (found.affirmed, found.negated)}
    assert len(texts) == 34 * 6


def test_own_relations_replace_and_extend_the_bundled_ones(tmp_path: Path) -> None:
    alone = load_own(tmp_path, QUESTIONS)
    assert (alone.name, list(alone.relations)) == ("own", ["may_cure"])
    (problem,) = check_question_wording(alone, ["may_cure", "heals"])
    assert "'own' has no texts for relation 'heals'" in problem
    assert "add the tables [heals.MCQ], [heals.MAQ], [heals.TFQ]" in problem
    with pytest.raises(InputError, match="no texts for relation 'heals'"):
        alone.select_relation("heals")
    extended = load_own(tmp_path, 'extends = "bundled"\n' + QUESTIONS.replace("may_cure.", "may_treat."))
    assert len(extended.relations) == 34
    assert extended.relations["may_treat"].texts == alone.relations["may_cure"].texts
    assert extended.relations["may_prevent"] == load_question_wording().relations["may_prevent"]


@pytest.mark.parametrize(
    ("old", "new", "expected"),
    [
        (QUESTIONS, "", "holds no relation: add the tables"),
        (QUESTIONS, "may_cure = 1", "may_cure is not a table: write [may_cure.MCQ]"),
        (QUESTIONS, 'extends = "revised"' + QUESTIONS, "extends is 'revised': write extends = \"bundled\""),
        ("[may_cure.MAQ]", "[may_cure.XYZ]", "[may_cure] has unknown XYZ; allowed: MCQ, MAQ, TFQ"),
        ("statement =", "text =", "[may_cure.TFQ] has unknown text; allowed: statement, negated"),
        ("statement =", "text =", "[may_cure.TFQ] statement is missing: give a text"),
        ("be cured with [X]", "be cured", "[may_cure.MCQ] question holds [X] 0 times instead of once"),
        ("cured with [X]", "cured with [X] of [Y]", "question holds [Y], but the tails are its options"),
        ("cure [Y].", "cure it.", "[may_cure.TFQ] statement holds [Y] 0 times instead of once"),
        ("cannot be cured", "may be cured", "[may_cure.MCQ] negated does not deny its positive form"),
        ("The drug [X] cannot cure [Y]", "No link joins [X] and [Y]", "[may_cure.TFQ] negated shares only"),
    ],
)
def test_errors_name_the_file_the_table_and_the_remedy(
    tmp_path: Path, old: str, new: str, expected: str
) -> None:
    assert old in QUESTIONS
    with pytest.raises(InputError) as caught:
        load_own(tmp_path, QUESTIONS.replace(old, new))
    assert str(tmp_path / "own.toml") in str(caught.value)
    assert expected in str(caught.value)


@given(names(), names())
def test_slots_are_filled_in_one_pass(head: str, tail: str) -> None:
    texts = QuestionTexts("a [Y] b [X] c", "no [X] d [Y]")
    assert texts.fill(is_negated=False, head=head, tail=tail) == f"a {tail} b {head} c"
    assert texts.fill(is_negated=True, head=head, tail=tail) == f"no {head} d {tail}"


def test_the_checksum_is_that_of_the_relations_own_texts(tmp_path: Path) -> None:
    one = load_own(tmp_path, QUESTIONS).relations["may_cure"]
    other = load_own(tmp_path, QUESTIONS.replace("may cure [Y]", "may well cure [Y]")).relations["may_cure"]
    extended = load_own(tmp_path, 'extends = "bundled"\n' + QUESTIONS).relations["may_cure"]
    assert len(one.checksum) == 32
    assert one.checksum == extended.checksum != other.checksum
