"""Marks of rows and verdicts of a person: which of them count, and what happens to contradictions."""

import random
from pathlib import Path
from typing import Any

import pytest

from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.primitives.hashing import hash_text
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write

HEADER = "head,relation,tail,also_true,also_false,undecided,head_id,tail_id\n"
TRUE_ROWS = "gout,r,colchicine,,,,,\nasthma,r,salbutamol,,,,C1,D1\n"
TESTED = {("gout", "colchicine"): "tested", ("asthma", "salbutamol"): "tested"}
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


def write_facts(folder: Path, rows: str) -> Path:
    return write(folder / "facts.csv", HEADER + rows)


def read_verdicts(folder: Path, facts: str, verdicts: str) -> KnowledgeBase:
    path = write(folder / "verdicts.csv", "relation,head,tail,head_id,verdict\n" + verdicts)
    return read_own(write_facts(folder, TRUE_ROWS + facts), verdicts=path)


def list_marks(base: KnowledgeBase) -> dict[tuple[str, str], str]:
    """Return head and tail -> how the base holds the triplet."""
    rows = base.triplets.select("head", "tail", "also_true").rows()
    true = {(head, tail): "never asked" if is_marked else "tested" for head, tail, is_marked in rows}
    false = dict.fromkeys(base.also_false.select("head", "tail").iter_rows(), "false")
    assert true.keys().isdisjoint(false)
    return true | false


def test_rows_marked_also_false_are_not_true_and_not_repeated(tmp_path: Path) -> None:
    rows = "asthma,r,propranolol,,true,,C1,D2\nasthma,r,propranolol,,TRUE,,C1,D2\n"
    base = read_own(write_facts(tmp_path, TRUE_ROWS + rows))
    assert list_marks(base) == TESTED | {("asthma", "propranolol"): "false"}
    assert base.select_false("r").rows() == [("r", "asthma", "propranolol", "C1", "D2")]
    assert base.select_false("s").is_empty()


def test_the_checksum_changes_only_if_a_row_is_marked(tmp_path: Path) -> None:
    plain = read_own(write(tmp_path / "plain.csv", "head,relation,tail\ngout,r,colchicine\n"))
    empty = read_own(write_facts(tmp_path, "gout,r,colchicine,,false,false,,\n"))
    marked = read_own(write_facts(tmp_path, "gout,r,colchicine,,,,,\ngout,r,thiazide,,true,,,\n"))
    cells = ("r", "gout", "colchicine", "", "", "false")
    assert plain.checksum_relation("r") == empty.checksum_relation("r") == hash_text(*cells, digits=32)
    assert marked.checksum_relation("r") != plain.checksum_relation("r")


def test_an_undecided_triplet_is_never_asked_whatever_other_rows_say(tmp_path: Path) -> None:
    marks = ("", "true,,", ",true,", ",,true")
    rows = ["asthma,r,x,,,TRUE,,D3", "asthma,r,y,,,,,D3"]
    for k, mark in enumerate(marks):
        rows += [f"Gout,r,Thiazide {k}.,,,true,,", f"gout,r,thiazide {k},{mark or ',,'},,"]
    base = read_own(write_facts(tmp_path, TRUE_ROWS + "\n".join(rows) + "\n"))
    found = {pair: held for pair, held in list_marks(base).items() if not pair[1].startswith("thiazide")}
    never_asked = [("asthma", "x"), *(("Gout", f"Thiazide {k}.") for k in range(len(marks)))]
    assert found == TESTED | dict.fromkeys(never_asked, "never asked")
    said = "another row marks the triplet as undecided"
    assert LeftOut("facts.csv, line 5", "r: asthma → y", said) in base.left_out


def test_all_contradictions_are_one_error(tmp_path: Path) -> None:
    path = write_facts(tmp_path, TRUE_ROWS + CONFLICTS + MORE_CONFLICTS)
    aliases = write(tmp_path / "aliases.csv", "id,alias\nC2,pyrexia\nC1,croup\n")
    assert read_error(path, aliases=aliases).splitlines()[1:] == [
        "  alias that is the name of something else: 1",
        "    aliases.csv, line 3: r: 'croup' is an alias of C1, and the name of the head C4",
        "  true, and marked also_false: 8",
        *(
            f"    facts.csv, line {line} and facts.csv, line {other}: r: {what} is true"
            for line, other, what in [
                (4, 2, "Gout → COLCHICINE. is false, gout → colchicine"),
                (11, 3, "asthma [C1] → y0 [D1] is false, asthma [C1] → salbutamol [D1]"),
                (9, 10, "croup [C3] → steam [D3] is false, croup [C4] → steam [D3]"),
                (6, 5, "gout → paracetamol is false, gout → paracetamol"),
                (8, 7, "pyrexia → aspirin [D2] is false, fever [C2] → aspirin [D2]"),
            ]
        ),
        "    and 3 more",
    ]


def test_contradicting_facts_are_neither_true_nor_false_and_listed(tmp_path: Path) -> None:
    path = write_facts(tmp_path, "gout,r,rest,,,,,\n" + CONFLICTS)
    aliases = write(tmp_path / "aliases.csv", "id,alias\nC2,pyrexia\nC1,croup\n")
    base = read_own(path, aliases=aliases, conflicts="leave_out")
    assert list_tested(base) == [("gout", "rest")]
    never_asked = {("gout", "paracetamol"), ("fever", "aspirin"), ("pyrexia", "aspirin"), ("croup", "steam")}
    assert never_asked < list_marks(base).keys()
    assert base.also_false.rows() == [("r", "Gout", "COLCHICINE.", None, None)]
    assert [item.where for item in base.left_out] == [
        "facts.csv, line 8 and facts.csv, line 9",
        "facts.csv, line 5 and facts.csv, line 4",
        "facts.csv, line 7 and facts.csv, line 6",
    ]


def test_a_query_in_any_order_gives_the_same_list_of_conflicts(tmp_path: Path) -> None:
    rows = [f"x{i % 3},r,y{i % 7},,{'true' if i % 2 else ''},,C{i % 5},\n" for i in range(60)]
    rows += [f"a,r,b{i % 5},,,,,\n" for i in range(20)]
    query = write(tmp_path / "facts.sql", "select * from read_csv($path, all_varchar = true)")
    settings: dict[str, Any] = {"format": "sql", "query": query, "conflicts": "leave_out"}
    base, other = (
        read_own(write_facts(tmp_path, "a,r,b,,,,,\n" + "".join(order)), **settings)
        for order in (rows, random.Random(1).sample(rows, len(rows)))
    )
    assert base.left_out == other.left_out
    assert {item.where for item in base.left_out} == {"facts.sql"}
    assert base.triplets.equals(other.triplets)


@pytest.mark.parametrize("verdict", ["also_true", "also_false", "undecided"])
def test_a_verdict_outweighs_the_rows_of_its_triplet(tmp_path: Path, verdict: str) -> None:
    own = {"": "tested", "true,,": "never asked", ",true,": "false", ",,true": "never asked"}
    said = {"also_true": "never asked", "undecided": "never asked", "also_false": "false"}[verdict]
    # A row that a verdict confirms stays: a fact remains under test.
    agreeing = {"also_true": ("", "true,,"), "also_false": (",true,",), "undecided": (",,true",)}[verdict]
    facts, verdicts, expected = "", "", dict(TESTED)
    for k, mark in enumerate(own):
        facts += f"fever {k},r,aspirin,{mark or ',,'},C7{k},\n"
        verdicts += f"r,FEVER {k},aspirin,,{verdict}\nr,x {k},Aspirin.,C7{k},{verdict}\n"
        expected |= {(f"FEVER {k}", "aspirin"): said, (f"x {k}", "Aspirin."): said}
        expected |= {(f"fever {k}", "aspirin"): own[mark]} if mark in agreeing else {}
    assert list_marks(read_verdicts(tmp_path, facts, verdicts)) == expected


def test_verdicts_on_unlisted_triplets_count_and_on_unknown_names_are_listed(tmp_path: Path) -> None:
    verdicts = "r,gout,salbutamol,,also_true\nr,asthma,colchicine,C1,also_false\n"
    unknown = "r,gout,rest,,also_true\ns,gout,colchicine,,also_false\nr,mumps,colchicine,,undecided\n"
    base = read_verdicts(tmp_path, "", verdicts + unknown)
    added = {("gout", "salbutamol"): "never asked", ("asthma", "colchicine"): "false"}
    assert list_marks(base) == TESTED | added
    assert [(item.where, item.what) for item in base.left_out] == [
        ("verdicts.csv, line 4", "r: gout → rest"),
        ("verdicts.csv, line 5", "s: gout → colchicine"),
        ("verdicts.csv, line 6", "r: mumps → colchicine"),
    ]
