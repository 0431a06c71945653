"""Marks of rows and verdicts of a person: which of them count, and what happens to contradictions."""

import random
from pathlib import Path

import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError
from pretexeval.primitives.hashing import hash_text

HEADER = "head,relation,tail,also_true,also_false,undecided,head_id,tail_id\n"
TRUE_ROWS = "gout,r,colchicine,,,,,\nasthma,r,salbutamol,,,,C1,D1\n"
CONFLICTS = """\
Gout,r,COLCHICINE.,,true,,,
gout,r,paracetamol,true,,,,
gout,r,paracetamol,,true,,,
fever,r,aspirin,,,,C2,D2
pyrexia,r,aspirin,,true,,,D2
croup,r,steam,,true,,C3,D3
croup,r,steam,,,,C4,D3
"""
MORE_CONFLICTS = "asthma,r,y0,,true,,C1,D1\n" + "".join(f"x{i},r,y{i},,true,,C1,D1\n" for i in range(1, 4))


def read(tmp_path: Path, text: str, **settings: object) -> KnowledgeBase:
    (tmp_path / "facts.csv").write_text(text, encoding="utf-8")
    own = {"name": "own", "format": "table", "path": tmp_path / "facts.csv"}
    return read_knowledge_base(KnowledgeConfig.model_validate(own | settings))


def read_conflicts(tmp_path: Path, text: str, **settings: object) -> KnowledgeBase:
    (tmp_path / "aliases.csv").write_text("id,alias\nC2,pyrexia\nC1,croup\n")
    return read(tmp_path, text, aliases=tmp_path / "aliases.csv", **settings)


def read_verdicts(tmp_path: Path, facts: str, verdicts: str) -> KnowledgeBase:
    (tmp_path / "verdicts.csv").write_text("relation,head,tail,head_id,verdict\n" + verdicts)
    return read(tmp_path, HEADER + TRUE_ROWS + facts, verdicts=tmp_path / "verdicts.csv")


def list_marks(base: KnowledgeBase) -> dict[tuple[str, str], str]:
    """Return head and tail -> how the base holds the triplet."""
    rows = base.triplets.select("head", "tail", "also_true").rows()
    true = {(head, tail): "never asked" if is_marked else "tested" for head, tail, is_marked in rows}
    false = dict.fromkeys(base.also_false.select("head", "tail").iter_rows(), "false")
    assert true.keys().isdisjoint(false)
    return true | false


def test_rows_marked_also_false_are_not_true_and_not_repeated(tmp_path: Path) -> None:
    rows = "asthma,r,propranolol,,true,,C1,D2\nasthma,r,propranolol,,TRUE,,C1,D2\n"
    base = read(tmp_path, HEADER + TRUE_ROWS + rows)
    assert base.triplets["tail"].to_list() == ["salbutamol", "colchicine"]
    assert base.select_false("r").rows() == [("r", "asthma", "propranolol", "C1", "D2")]
    assert base.select_false("s").is_empty()


def test_the_checksum_changes_only_if_a_row_is_marked(tmp_path: Path) -> None:
    plain = read(tmp_path, "head,relation,tail\ngout,r,colchicine\n")
    empty = read(tmp_path, HEADER + "gout,r,colchicine,,false,false,,\n")
    marked = read(tmp_path, HEADER + "gout,r,colchicine,,,,,\ngout,r,thiazide,,true,,,\n")
    cells = ("r", "gout", "colchicine", "", "", "false")
    assert plain.checksum_relation("r") == empty.checksum_relation("r") == hash_text(*cells, digits=32)
    assert marked.checksum_relation("r") != plain.checksum_relation("r")


@pytest.mark.parametrize(
    ("row", "message"),
    [
        ("gout,r,y,true,true,,,", "line 4: has more than one of the marks"),
        ("gout,r,y,,true,true,,", "line 4: has more than one of the marks"),
        ("gout,r,y,,maybe,,,", "line 4: also_false is 'maybe': write true or false"),
        ("gout,s,y,,true,,,", "nothing to test in s: every row is marked"),
        ("gout,s,y,,,true,,\ngout,s,y,,,,,", "nothing to test in s: every row is marked"),
    ],
)
def test_marks_that_cannot_be_used_are_an_error(tmp_path: Path, row: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read(tmp_path, HEADER + TRUE_ROWS + row + "\n")


@pytest.mark.parametrize("mark", ["", "true,,", ",true,", ",,true"])
def test_an_undecided_triplet_is_never_asked_whatever_other_rows_say(tmp_path: Path, mark: str) -> None:
    rows = [
        "Gout,r,Thiazide.,,,true,,",
        "asthma,r,x,,,TRUE,,D3",
        f"gout,r,thiazide,{mark or ',,'},,",
        "asthma,r,y,,,,,D3",
    ]
    base = read(tmp_path, HEADER + TRUE_ROWS + "\n".join(rows) + "\n")
    marks = list_marks(base)
    assert marks.pop(("Gout", "Thiazide.")) == marks.pop(("asthma", "x")) == "never asked"
    marks.pop(("gout", "thiazide"), None)
    assert marks == {("gout", "colchicine"): "tested", ("asthma", "salbutamol"): "tested"}
    assert (
        LeftOut("facts.csv, line 7", "r: asthma → y", "another row marks the triplet as undecided")
        in base.left_out
    )


def test_all_contradictions_are_one_error(tmp_path: Path) -> None:
    with pytest.raises(InputError) as caught:
        read_conflicts(tmp_path, HEADER + TRUE_ROWS + CONFLICTS + MORE_CONFLICTS)
    assert str(caught.value).splitlines()[1:] == [
        "  alias that is the name of something else: 1",
        "    aliases.csv, line 3: r: 'croup' is an alias of C1, and the name of the head C4",
        "  true, and marked also_false: 6",
        *(
            f"    facts.csv, line {line} and facts.csv, line {other}: r: {what} is true"
            for line, other, what in [
                (4, 2, "Gout → COLCHICINE. is false, gout → colchicine"),
                (11, 3, "asthma [C1] → y0 [D1] is false, asthma [C1] → salbutamol [D1]"),
                (6, 5, "gout → paracetamol is false, gout → paracetamol"),
                (12, 3, "x1 [C1] → y1 [D1] is false, asthma [C1] → salbutamol [D1]"),
                (13, 3, "x2 [C1] → y2 [D1] is false, asthma [C1] → salbutamol [D1]"),
            ]
        ),
        "    and 1 more",
        "  true, and marked also_false under an alias: 1",
        "    facts.csv, line 8 and facts.csv, line 7: r: pyrexia → aspirin [D2] is false, "
        "fever [C2] → aspirin [D2] is true",
        "  true, and marked also_false under the same name with another id: 1",
        "    facts.csv, line 9 and facts.csv, line 10: r: croup [C3] → steam [D3] is false, "
        "croup [C4] → steam [D3] is true",
    ]


def test_contradicting_facts_are_neither_true_nor_false_and_listed(tmp_path: Path) -> None:
    base = read_conflicts(tmp_path, HEADER + "gout,r,rest,,,,,\n" + CONFLICTS, conflicts="leave_out")
    assert [pair for pair, mark in list_marks(base).items() if mark == "tested"] == [("gout", "rest")]
    never_asked = {("gout", "paracetamol"), ("fever", "aspirin"), ("pyrexia", "aspirin"), ("croup", "steam")}
    assert never_asked < list_marks(base).keys()
    assert base.also_false.rows() == [("r", "Gout", "COLCHICINE.", None, None)]
    assert [item.where for item in base.left_out] == [
        "facts.csv, line 5 and facts.csv, line 4",
        "facts.csv, line 7 and facts.csv, line 6",
        "facts.csv, line 8 and facts.csv, line 9",
    ]


def test_a_query_in_any_order_gives_the_same_list_of_conflicts(tmp_path: Path) -> None:
    rows = [f"x{i % 3},r,y{i % 7},,{'true' if i % 2 else ''},,C{i % 5},\n" for i in range(60)]
    rows += [f"a,r,b{i % 5},,,,,\n" for i in range(20)]
    (tmp_path / "facts.sql").write_text("select * from read_csv($path, all_varchar = true)")
    settings = {"format": "sql", "query": tmp_path / "facts.sql", "conflicts": "leave_out"}
    base, other = (
        read(tmp_path, HEADER + "a,r,b,,,,,\n" + "".join(order), **settings)
        for order in (rows, random.Random(1).sample(rows, len(rows)))
    )
    assert base.left_out == other.left_out
    assert {item.where for item in base.left_out} == {"facts.sql"}
    assert base.triplets.equals(other.triplets)


@pytest.mark.parametrize("verdict", ["also_true", "also_false", "undecided"])
@pytest.mark.parametrize("mark", ["", "true,,", ",true,", ",,true"])
def test_a_verdict_outweighs_the_rows_of_its_triplet(tmp_path: Path, mark: str, verdict: str) -> None:
    facts = f"fever,r,aspirin,{mark or ',,'},C7,\n"
    base = read_verdicts(tmp_path, facts, f"r,FEVER,aspirin,,{verdict}\nr,x,Aspirin.,C7,{verdict}\n")
    said = {"also_true": "never asked", "undecided": "never asked", "also_false": "false"}[verdict]
    own = {"": "tested", "true,,": "never asked", ",true,": "false", ",,true": "never asked"}[mark]
    # A row that a verdict confirms stays: a fact remains under test.
    agreeing = {"also_true": ("", "true,,"), "also_false": (",true,",), "undecided": (",,true",)}[verdict]
    kept = {("fever", "aspirin"): own} if mark in agreeing else {}
    expected = {("gout", "colchicine"): "tested", ("asthma", "salbutamol"): "tested"}
    assert list_marks(base) == expected | kept | {("FEVER", "aspirin"): said, ("x", "Aspirin."): said}


def test_verdicts_on_unlisted_triplets_count_and_on_unknown_names_are_listed(tmp_path: Path) -> None:
    verdicts = "r,gout,salbutamol,,also_true\nr,asthma,colchicine,C1,also_false\n"
    unknown = "r,gout,rest,,also_true\ns,gout,colchicine,,also_false\nr,mumps,colchicine,,undecided\n"
    base = read_verdicts(tmp_path, "", verdicts + unknown)
    assert list_marks(base) == {
        ("gout", "colchicine"): "tested",
        ("asthma", "salbutamol"): "tested",
        ("gout", "salbutamol"): "never asked",
        ("asthma", "colchicine"): "false",
    }
    assert [(item.where, item.what) for item in base.left_out] == [
        ("verdicts.csv, line 4", "r: gout → rest"),
        ("verdicts.csv, line 5", "s: gout → colchicine"),
        ("verdicts.csv, line 6", "r: mumps → colchicine"),
    ]


@pytest.mark.parametrize(
    ("rows", "message"),
    [
        (
            "r,gout,colchicine,,maybe\n",
            "line 2: the verdict is 'maybe': write also_true, also_false or undecided",
        ),
        ("r,gout,colchicine,,\n", "line 2: the verdict is ''"),
        ("r,,colchicine,,undecided\n", "line 2: the head is empty"),
        (
            "r,gout,colchicine,,undecided\nr,Gout,x,,also_true\nr,GOUT,colchicine,,also_true\n",
            r"verdicts.csv, line 2, .*verdicts.csv, line 4: the verdicts on a triplet differ",
        ),
    ],
)
def test_verdicts_that_cannot_be_used_are_an_error(tmp_path: Path, rows: str, message: str) -> None:
    with pytest.raises(InputError, match=message):
        read_verdicts(tmp_path, "", rows)
