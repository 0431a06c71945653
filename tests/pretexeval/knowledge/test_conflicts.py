"""Marks of rows, verdicts of a person, and older releases: which of them count; contradictions of a base."""

import random
from pathlib import Path
from typing import Any

import pytest
from pydantic import ValidationError

from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.primitives.hashing import hash_text
from tasks.drawing.relation_facts import collect_facts
from tests.pretexeval.knowledge.own_base import list_tested, read_error, read_own, write
from tests.support.small_bases import find_excluded

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


COLUMNS = "head,relation,tail,also_true,also_false,head_id,tail_id\n"
NEW = "gout,r,colchicine,,,,\nasthma,r,salbutamol,,,C1,D1\nfever,r,aspirin,,,,\n"


def read_since(folder: Path, new: str, older: str, **settings: Any) -> KnowledgeBase:  # noqa: ANN401
    release = {"name": "older", "path": write(folder / "older.csv", COLUMNS + older), "test": "new"}
    return read_own(write(folder / "new.csv", COLUMNS + new), releases=[release], **settings)


def test_a_fact_of_the_older_release_is_known_by_name_or_id(tmp_path: Path) -> None:
    for older in (
        "Asthma,r,SALBUTAMOL.,,,,\n",
        "wheezing,r,albuterol,,,C1,D1\n",
        "asthma,r,salbutamol,true,,,\n",
    ):
        base = read_since(tmp_path, NEW, older)
        assert list_tested(base) == [("fever", "aspirin"), ("gout", "colchicine")], older
        assert base.n_known == 1, older


def test_nothing_that_either_release_holds_is_a_negative(tmp_path: Path) -> None:
    # The new release lacks one fact of the older one, and denies another.
    older = "gout,r,salbutamol,,,,\nfever,r,acetylsalicylic acid,,,,\ngout,r,aspirin,,,,\n"
    new = NEW + "fever,r,salbutamol,true,,,\ngout,r,aspirin,,true,,\n"
    aliases = write(tmp_path / "aliases.csv", "name,alias\naspirin,acetylsalicylic acid\n")
    facts = collect_facts(read_since(tmp_path, new, older, aliases=aliases), "r")
    heads = facts.heads.select("head")
    # fever → aspirin is known by the alias; gout → aspirin is neither true enough nor false enough.
    assert sorted(facts.list_tested(heads).rows()) == [("asthma", "salbutamol"), ("gout", "colchicine")]
    assert find_excluded(facts) == {"asthma": {"salbutamol"}, "gout": {"colchicine", "salbutamol"}}
    assert facts.list_false(heads, facts.list_true(heads)).is_empty()


def test_a_fact_that_follows_from_an_older_one_by_the_hierarchy_is_known(tmp_path: Path) -> None:
    new = "gout,r,Pain,,,,H1\nasthma,r,Pain,,,C1,H1\nmumps,r,Foot pain,,,,H3\ncroup,r,Pain,,,,H1\n"
    older = "Gout,r,Old foot pain,,,,H4\nx,r,Foot pain,,,C1,H3\nmumps,r,Pain,,,,H1\ncroup,s,Foot pain,,,,H3\n"
    hierarchy = write(tmp_path / "hierarchy.csv", "child_id,parent_id\nH4,H3\nH3,H2\nH2,H1\n")
    base = read_since(tmp_path, new, older, hierarchy=hierarchy)
    assert list_tested(base) == [("croup", "Pain"), ("mumps", "Foot pain")]
    assert base.n_known == 2
    # The edges above what only the older release holds are there, because it is true as well.
    assert ("id:H4", "id:H3") in base.hierarchy.rows()


def test_relations_without_a_new_fact_are_left_out(tmp_path: Path) -> None:
    base = read_since(tmp_path, NEW + "gout,s,toe,,,,\n", "gout,s,toe,,,,\n")
    assert base.relations == ["r"]
    assert base.left_out == (LeftOut("s", "the relation", "the older release holds all its facts"),)
    same = write(tmp_path / "same.csv", COLUMNS + NEW)
    release = {"name": "same", "path": same, "test": "new"}
    assert "the older release holds all facts of the base 'own'" in read_error(same, releases=[release])


def test_the_age_of_a_fact_is_the_oldest_release_that_holds_it(tmp_path: Path) -> None:
    path = write(tmp_path / "new.csv", COLUMNS + NEW)
    rows = {"2021": "Gout,r,colchicine,,,,\n", "2023": "gout,r,colchicine,,,,\nx,r,y,,,C1,D1\n"}
    releases = [{"name": n, "path": write(tmp_path / f"{n}.csv", COLUMNS + text)} for n, text in rows.items()]
    base = read_own(path, releases=releases)
    ages = base.triplets.select("head", "first_release").rows()
    assert ages == [("asthma", "2023"), ("fever", "new"), ("gout", "2021")]
    assert base.checksum_relation("r") == read_own(path).checksum_relation("r")


def test_a_release_has_a_name_of_its_own_and_one_of_them_is_compared(tmp_path: Path) -> None:
    old, other = ({"name": name, "path": "x", "test": "new"} for name in ("old", "other"))
    for message, releases in {
        "releases names 'new' twice, or as the facts": [old | {"name": "new"}],
        "releases names 'old' twice": [old, old | {"test": "all"}],
        "test is set in several releases": [old, other],
    }.items():
        with pytest.raises(ValidationError, match=message):
            read_own(write(tmp_path / "now.csv", COLUMNS + NEW), releases=releases)
