"""The formats of a base: tables, folders of tables and MedQA. Wrong rows are named."""

import gzip
import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import LeftOut
from pretexeval.knowledge.medqa import MedqaItem, read_medqa
from pretexeval.knowledge.tables import read_table
from pretexeval.primitives.errors import InputError
from tests.pretexeval.knowledge.own_base import (
    list_tested,
    read_error,
    read_own,
    write,
    write_rows,
    write_workbook,
)

NESTED = b'{"base": [{"name": "gout", "signs": [{"sign": "pain"}, {"sign": "fever"}]}]}'
UNNESTED = "(select *, unnest(signs, max_depth := 2)"
LISTED = "(select unnest(base, max_depth := 2)"
LONG = 140_000 * "a"
MARKED = "head,relation,tail,also_true,also_false,undecided\n"
VERDICTS = "relation,head,tail,head_id,verdict\n"
DIFFERENT = "r,gout,x,,undecided\nr,Gout,fever,,also_true\nr,GOUT,x,,also_true"
ROWS: list[dict[str, Any]] = [
    {"head": "gout", "relation": "may_treat", "tail": "colchicine", "head_id": "C1"},
    {"head": "angina [X]", "relation": "may_treat", "tail": 'β "blocker"', "also_true": True},
    {"head": "angina [X]", "relation": "may_treat", "tail": "nitrate, organic", "tail_id": 7},
]
DISEK: list[dict[str, Any]] = [
    {"disease": "gout", "aspect": "symptoms", "attributes": ["joint pain", "redness, swelling"]},
    {"disease": "gout", "aspect": "therapeutic_drugs", "attributes": ["colchicine"], "disease_id": "M10"},
    {"disease": "hernia", "aspect": "surgical_procedures", "attributes": ["hernia repair", "mesh repair "]},
]
ASPECTS = {
    "head": "disease",
    "relation": "aspect",
    "tail": "attributes",
    "head_id": "disease_id",
    "split": {"tail": "||"},
}


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.parquet"])
def test_every_format_gives_the_same_base(tmp_path: Path, name: str) -> None:
    base = read_own(write_rows(tmp_path / name, ROWS))
    assert (base.name, base.left_out) == ("own", ())
    assert base.triplets.columns == ["relation", "head", "tail", "head_id", "tail_id", "also_true"]
    assert base.triplets.rows() == [
        ("may_treat", "angina [X]", "nitrate, organic", None, "7", False),
        ("may_treat", "angina [X]", 'β "blocker"', None, None, True),
        ("may_treat", "gout", "colchicine", "C1", None, False),
    ]
    disek = read_own(write_rows(tmp_path / name, DISEK), layout=ASPECTS)
    assert disek.triplets.rows() == [
        ("surgical_procedures", "hernia", "hernia repair", None, None, False),
        ("surgical_procedures", "hernia", "mesh repair", None, None, False),
        ("symptoms", "gout", "joint pain", None, None, False),
        ("symptoms", "gout", "redness, swelling", None, None, False),
        ("therapeutic_drugs", "gout", "colchicine", "M10", None, False),
    ]


FACTS = 'Head;Relation; TAIL\ngout;may_treat;"fièvre, à; 2"\n'
TWO = "Disease,Symptom,ID\ngout,fever,7\n"
NAMED = {"head": "disease", "tail": "Symptom", "relation": "may_treat"}
WIDE = 'tail = ["Symptom 1", "Symptom 2"] }'
OBO = b"[Term]\nid: A:1\nname: gout\nis_a: A:2\n[Term]\nid: A:2\nname: arthritis\n"
OBJECTS = [{"Disease": "gout", "Symptom": "fever", "ID": 7}]


def test_a_table_is_read_as_it_is(tmp_path: Path) -> None:
    cases: list[tuple[str, bytes, dict[str, Any], str]] = [
        ("t.csv", FACTS.encode(), {}, "fièvre, à; 2"),
        ("t.txt", FACTS.replace("; ", "| ").replace(";", "|").encode(), {}, "fièvre, à| 2"),
        ("t.CSV", b"Head\tRelation\tTail\ngout\tmay_treat\ta, b; c\n", {}, "a, b; c"),
        ("t.tsv", b"tail,head, 'a;b;c;d',relation\nfever,gout,,may_treat\n", {}, "fever"),
        ("t.csv.gz", gzip.compress(FACTS.encode(), mtime=0), {}, "fièvre, à; 2"),
        ("t.csv", FACTS.encode("utf-16"), {}, "fièvre, à; 2"),
        ("t.csv", FACTS.encode("latin-1"), {"layout": {"encoding": "cp1252"}}, "fièvre, à; 2"),
        (
            "t.csv",
            FACTS.replace("fièvre, à", "发烧").encode("gb18030"),
            {"layout": {"encoding": "gb18030"}},
            "发烧; 2",
        ),
        ("t.csv", TWO.encode(), {"layout": NAMED}, "fever"),
        ("t.csv", b'"a, b";C\nfever;gout\n', {"layout": {**NAMED, "tail": "A, b", "head": "c"}}, "fever"),
        ("t.csv", b'"Facts, 2024"\nsep=;\nhead;relation;tail\ngout;may_treat;fever\n', {}, "fever"),
        ("t.tsv", b"# Facts\n# Head\trelation\ttail\n#\ngout\tmay_treat\tfever\n", {}, "fever"),
        ("t.csv", b"Head,head,relation,tail\nx,gout,may_treat,fever\n", {}, "fever"),
        ("t.json", json.dumps({"v": 1, "rows": OBJECTS}, indent=1).encode(), {"layout": NAMED}, "fever"),
        ("t.json.gz", gzip.compress(json.dumps(OBJECTS).encode(), mtime=0), {"layout": NAMED}, "fever"),
        ("t.json", b"\n".join(2 * [json.dumps(OBJECTS[0]).encode()]), {"layout": NAMED}, "fever"),
    ]
    for name, content, settings, tail in cases:
        (tmp_path / name).write_bytes(content)
        ids = {"layout": {**settings["layout"], "head_id": "id"}} if b"ID" in content else {}
        base = read_own(tmp_path / name, **settings | ids)
        expected = ("may_treat", "gout", tail, "7" if ids else None)
        assert base.triplets.select("relation", "head", "tail", "head_id").rows() == [expected], content


def test_cells_that_are_lists_and_several_columns_become_rows(tmp_path: Path) -> None:
    pair = {"layout": NAMED}
    wide = {"layout": NAMED | {"tail": ["S1", "S2"], "tail_id": ["I1", "I2"]}}
    objects = [{"Disease": "gout", "Symptom": ["fever", " pain", ""]}, {"Disease": "flu", "Symptom": "cough"}]
    one, two = [("gout", "fever"), ("gout", "pain")], [("flu", "cough"), ("gout", "fever"), ("gout", "pain")]
    both = [("flu", "fever"), ("gout", "pain")]
    lists: dict[str, Any] = {"head": "gout", "relation": "r", "tail": ["fever", "pain"], "tail_id": [1, 2]}
    cases: list[tuple[str, bytes, dict[str, Any], list[tuple[str, str]]]] = [
        ("t.csv", b"Disease,Symptom\ngout,fever^ pain^^\n", {"layout": NAMED | {"split": "^"}}, one),
        ("t.csv", b'Disease,Symptom\ngout,"fever\npain"\n', {"layout": NAMED | {"split": "\n"}}, one),
        (
            "t.csv",
            b"Disease,Symptom\ngout;flu,cough\n",
            {"layout": NAMED | {"split": ";"}},
            [("flu", "cough"), ("gout", "cough")],
        ),
        (
            "t.csv",
            b'Disease,Symptom\n"gout, old","fever, pain"\n',
            {"layout": NAMED | {"split": {"tail": ", "}}},
            [("gout, old", "fever"), ("gout, old", "pain")],
        ),
        ("t.csv", b"Disease,S1,I1,S2,I2\ngout,fever,1,pain,2\nflu,cough,3,,\n", wide, two),
        (
            "t.csv",
            b"Disease,S1,I1,S2,I2\ngout,fever;pain,1;2,,\n",
            {"layout": wide["layout"] | {"split": ";"}},
            one,
        ),
        ("t.json", json.dumps(objects).encode(), pair, two),
        ("t.jsonl", json.dumps(lists).encode(), {}, one),
        ("t.json", b'{"gout": {"r": ["fever", "pain"], "s": []}}', {}, one),
        ("t.json", b'{"flu": ["cough"], "gout": ["fever", "pain"]}', {"layout": {"relation": "r"}}, two),
        # Columns of JSON, also by the numbers of rows, and a table of Markdown.
        ("t.json", b'{"head": ["gout", "flu"], "relation": ["r", "r"], "tail": ["pain", "fever"]}', {}, both),
        (
            "t.json",
            b'{"Head": {"0": "gout", "1": "flu"}, "relation": {"0": "r", "1": "r"}, '
            b'"tail": {"0": "pain", "1": "fever"}}',
            {},
            both,
        ),
        (
            "t.txt",
            b"| head | relation | tail |\n|---|:---:|----:|\n| gout | r | pain |\n| flu | r | fever |\n",
            {},
            both,
        ),
    ]
    for name, content, settings, facts in cases:
        (tmp_path / name).write_bytes(content)
        triplets = read_own(tmp_path / name, **settings).triplets
        assert triplets.select("head", "tail").rows() == facts, content
        if b"1" in content and facts == one:
            assert triplets["tail_id"].to_list() == ["1", "2"], content
    pl.DataFrame([lists]).write_parquet(tmp_path / "t.parquet")
    assert read_own(tmp_path / "t.parquet").triplets["tail_id"].to_list() == ["1", "2"]


def test_a_workbook_is_read_from_its_first_sheet_with_a_header(tmp_path: Path) -> None:
    header: list[object] = ["head", "relation", "tail", "tail_id", "also_true"]
    facts: list[list[object]] = [["gout", "r", "fever", 38341003, None], [None, None, "pain", 1.5, True], []]
    titled: list[list[object]] = [["All facts"], [], header, *facts, ["flu", "r", "cough"]]
    sheets: dict[str, list[list[object]]] = {
        "hidden": [header, *facts],
        "Notes": [["by me"]],
        "Empty": [],
        "Facts": titled,
        "More": [header],
    }
    path = write_workbook(tmp_path / "t.xlsx", sheets, merged="A1:E1 A4:A6 B4:B6")
    base = read_own(path)
    assert base.triplets.select("head", "tail", "tail_id", "also_true").rows() == [
        ("flu", "cough", None, False),
        ("gout", "fever", "38341003", False),
        ("gout", "pain", "1.5", True),
    ]
    assert [(item.where, item.what) for item in base.left_out] == [
        (n, "sheet") for n in ("Notes", "More", "hidden")
    ]
    assert all(item.reason.startswith("only 'Facts' is read") for item in base.left_out)
    own = write_workbook(tmp_path / "own.xlsx", {"A": [["Disease", "Symptom"], ["gout", ""]]})
    assert 'layout = { head = "Disease", relation = "has_symptom", tail = "Symptom" }' in read_error(own)
    assert "own.xlsx, line 2: the tail is empty" in read_error(own, layout=NAMED)


def test_the_next_step_is_named(tmp_path: Path) -> None:
    columns = 'layout = { head = "Disease", relation = "has_symptom", tail = "Symptom" }'
    french = FACTS.encode("cp1252")
    query = "select disease as head, 'has_symptom' as relation, symptom as tail from"
    cases: list[tuple[str, bytes, dict[str, Any], str]] = [
        ("t.csv", TWO.encode(), {}, columns),
        ("t.csv", TWO.encode(), {"layout": NAMED | {"tail_id": "code"}}, "no column code; it has Disease"),
        ("t.csv", french, {}, 'encoding = "cp1252" reads \'ay_treat;"fièvre, à; 2"\''),
        ("t.csv", french, {"layout": {"encoding": "ascii"}}, "is not ASCII: save the file as UTF-8"),
        (
            "t.csv.gz",
            gzip.compress(french, mtime=0)[:30],
            {},
            "t.csv.gz cannot be read: Compressed file ended before",
        ),
        ("t.json", b'{"a": {"b": 1}}', {}, f"{query} read_json($path)"),
        ("t.rrf", b"", {}, f"{query} read_csv($path)"),
        (
            "t.csv",
            b"a,Disease,Symptom 1,Symptom 2\n",
            {"layout": {"head_id": "a"}},
            columns[: columns.index("tail")] + WIDE,
        ),
        ("t.csv", b"subject,predicate,object\n", {}, 'relation = "predicate", tail = "object"'),
        (
            "t.csv",
            b'head,relation,tail\na,r,"b\nc"\n',
            {},
            'or set layout = { split = "\\n" } in [knowledge] if the cell is',
        ),
        (
            "t.csv",
            b"head,relation,tail,tail_id\na,r,b;c,1\n",
            {"layout": {"split": ";"}},
            "2 names of the tail and 1 tail_id",
        ),
        (
            "t.obo",
            OBO,
            {"layout": {"split": ";"}},
            "t.obo is an ontology, which has no columns: delete layout",
        ),
        ("t.owl", b"", {}, "convert it into OBO"),
        ("t.jsonld", b"{}", {}, "export its triples as a table of labels"),
        ("t.txt", b"<http://e.org/a> <http://e.org/r> <http://e.org/b> .\n", {}, "with a SPARQL SELECT"),
        (
            "t.csv",
            b"name,code,name,code\na,1,b,2\n",
            {},
            "code stands above several columns: give each",
        ),
        (
            "t.csv",
            b"drug,a,b,c,d,e,f,g,h,i\nx,1",
            {},
            "; if each column is a tail",
        ),
        ("t.csv", b"head,relation,tail\na,r,b\n,r,c\n", {}, "repeat the head in each row"),
        (
            "t.csv",
            b"head,relation,tail\nhttp://e.org/a,r,b\n",
            {},
            ". For example, r: http://e.org/a → b",
        ),
        (
            "t.csv",
            b"head,relation,tail\na,http://e.org/r,b\n",
            {},
            "'[^A-Za-z0-9_-]+', '_', 'g')",
        ),
        ("t.xlsx", b"a,b", {}, "if it is text, name it .csv"),
        ("t.zip", b"", {}, "unpack it"),
        ("t.csv", b"PK\3\4\0\0\xff", {}, "is no text: give a workbook the extension .xlsx"),
        ("t.csv", FACTS.encode("utf-16-le"), {}, 'set layout = { encoding = "utf-16-le" }'),
        ("t.csv", FACTS.encode("utf-16-be"), {}, 'set layout = { encoding = "utf-16-be" }'),
        (
            "t.csv",
            f"{TWO}{TWO}".encode(),
            {"layout": NAMED},
            "line 3: repeats 'Disease' of the header: delete it",
        ),
        ("t.csv", b"head relation tail\n", {}, "separated by a comma, semicolon, | or tab"),
        ("t.json", b'[{"head": {"a": "b"}, "relation": "r", "tail": "c"}]', {}, f"{query} read_json($path)"),
        ("t.json", b'[{"head": {"a": "b"}, "relation": "r", "tail": "c"}]', {}, "; head.a is a field of it"),
        (
            "t.json",
            b'{"@graph": [{"name": "a", "r": [{"name": "b"}]}]}',
            {},
            'unnest("@graph", ',
        ),
        ("t.csv", "head,relation,tail\na,r,\x9cdème\n".encode(), {}, 'try layout = { encoding = "cp1252" }'),
        (
            "t.csv",
            b"head,relation,tail,also_false\na,r,b,NOT\n",
            {},
            "that selects <column> = 'NOT' as also_false",
        ),
        ("t.csv", b'"head", "relation", "tail"\n', {}, ": delete the blanks before the quotation marks"),
        ("t.csv", b"'head','relation','tail'\n", {}, ": write double quotation marks in place of single"),
        (
            "t.tsv",
            b"CID100000085\tC0000729\tCramps\n",
            {},
            "Cramps: the first line looks like a fact: write a",
        ),
        ("t.xml", b"<a/>", {}, "convert it into CSV or JSON"),
        ("t.json", NESTED, {}, f"{query} {UNNESTED} from {LISTED} from read_json($path)))"),
        ("t.json", NESTED[9:-1], {}, f"{query} {UNNESTED} from read_json($path))"),
        ("t.jsonl", NESTED[10:-2], {}, f"{query} {UNNESTED} from read_json($path))"),
    ]
    for name, content, settings, said in cases:
        (tmp_path / name).write_bytes(content)
        assert said in read_error(tmp_path / name, **settings), (name, content)
    folder = tmp_path / "folder"
    folder.mkdir()
    assert f"{query} read_csv($path || '/*.tsv')" in read_error(folder)
    write(folder / "_SUCCESS", "")
    for name, source in (
        ("part-0.txt", "read_csv($path || '/*.txt')"),
        ("part-0.json", "read_json($path || '/*.json')"),
        ("part-1.json.gz", "read_json($path || '/*.json.gz')"),
    ):
        part = write(folder / name, "{}")
        assert f"{query} {source}" in read_error(folder)
        part.unlink()
    pl.DataFrame({"head": ["a"], "tail": [[{"disease": "b"}]]}).write_parquet(folder / "p.parquet")
    said = read_error(folder, layout={"relation": "r"})
    assert "from (select *, unnest(symptoms, max_depth := 2) from read_parquet($path))" in said
    assert said.endswith("if path is a folder, write $path || '/*.parquet'")


def test_the_query_of_a_message_reads_lists_of_objects(tmp_path: Path) -> None:
    path = write(tmp_path / "t.json", NESTED.decode())
    select = read_error(path).partition("with your columns: ")[2]
    query = write(
        tmp_path / "q.sql", select.replace("disease as", "name as").replace("symptom as", "sign as")
    )
    assert list_tested(read_own(path, format="sql", query=query)) == [("gout", "fever"), ("gout", "pain")]


def test_a_folder_is_read_as_one_base_and_other_files_are_listed(tmp_path: Path) -> None:
    write(tmp_path / "a.csv", "\ufeffhead, relation ,tail\r\n  type  1 DM ,may_treat,\u00a0Été \r\n\r\n")
    write(tmp_path / "b.TSV", "tail\tsource\tcolour\trelation\thead\nlung\tatlas\tred\tsites\tasthma\n")
    write(tmp_path / "README.md", "about")
    base = read_own(tmp_path)
    # Names lose outer white space, and runs of blanks are closed.
    assert base.triplets.select("relation", "head", "tail").rows() == [
        ("may_treat", "type 1 DM", "Été"),
        ("sites", "asthma", "lung"),
    ]
    skipped = LeftOut("README.md", "file", "not one of .csv, .tsv, .jsonl, .ndjson, .parquet")
    assert base.left_out == (skipped,)


def test_a_problem_is_reported_with_file_and_line(tmp_path: Path) -> None:
    for name, text, expected in (
        ("t.csv", "head,relation\na,r\n", "has no column tail; it has head, relation"),
        *((f"t.{end}", "", f"t.{end} is empty: fill it") for end in ("csv", "jsonl", "parquet", "xlsx")),
        ("t.csv", "\n  \n", "t.csv is empty: fill it"),
        ("t.csv", "head,relation,tail\n", "holds no rows"),
        ("t.csv", "head,relation,tail,head\na,r,b,c\n", "has the column head twice"),
        ("t.csv", "HEAD,Head,relation,tail\n", "has the column HEAD twice"),
        ("t.csv", "head,relation,tail\na,r,b\n ,r,b\n", "t.csv, line 3: the head is empty"),
        ("t.csv", "head,relation,tail\na,../r,b\n", "relation '../r' cannot name a file"),
        ("t.csv", f"head,relation,tail\na,{'ρ' * 90},b\n", "cannot name a file"),
        ("t.csv", f"head,relation,tail\na,{'r' * 250},b\n", "at most 200 of them"),
        ("t.csv", "head,relation,tail\na,r,b,c\n", "line 2: has 4 fields where the header has 3"),
        ("t.csv", 'head,relation,tail\n"a\nb",r,c\nd,r,\n', "line 2: the head contains a line break"),
        ("t.csv", "head,relation,tail\ngout&#10;x,r,fever\n", "line 2: the head contains a line break"),
        ("t.csv", 'head,relation,tail\na,r,b\n"c,r,d\ne,r,f\n', "t.csv, line 3: unexpected end"),
        ("t.csv", f"{MARKED}a,r,b,perhaps,,\n", "line 2: also_true is 'perhaps': write true or false"),
        ("t.csv", f"{MARKED}a,r,b,true,true,\n", "line 2: has more than one of the marks"),
        ("t.csv", f"{MARKED}a,r,b,,,\na,s,b,true,,\n", "nothing to test in s: every row is marked also_true"),
        (
            "t.csv",
            "head,relation,tail,Qualifier\na,r,b,\na,r,c,NOT\n",
            "line 3: qualifier is 'NOT', so the row",
        ),
        (
            "t.jsonl",
            '{"head": "a", "relation": "r", "tail": "b", "negated": true}',
            "line 1: negated is 'true'",
        ),
        ("t.tsv", f"head\trelation\ttail\na\tr\t{LONG}\n", "line 2: a field has more than 131,072"),
        ("t.jsonl", '{"head": "a", "relation": "r"}\n{"tail": "b"}', "line 1: the tail is empty"),
        ("t.jsonl", '{"head": "a"\n', "t.jsonl, line 1: is not JSON"),
        ("t.jsonl", '{"head": "a\\ud800", "relation": "r", "tail": "b"}', "holds half of a surrogate pair"),
        ("t.jsonl", '\n["a", "r", "b"]', "t.jsonl, line 2: is not a JSON object"),
        ("t.jsonl", '{"head": 1, "relation": "r", "tail": "b"}', "column head is of type Int64: store it"),
        ("t.xml", "", "has the extension '.xml'; a table has one of .csv, .tsv"),
        ("t.parquet", "no parquet", "cannot be read as Parquet"),
    ):
        path = write(tmp_path / name, text)
        message = read_error(path)
        assert expected in message, text
        assert str(path) in message or "nothing to test" in message


@pytest.mark.parametrize(
    ("column", "false", "true"),
    [
        *(
            (column, false, true)
            for column in ("negated", "is_negated", "Negation", "qualifier")
            for false, true in (
                (1, 0),
                (1.0, 0.0),
                (True, False),
                ("yes", "no"),
                ("1", ""),
                ("negative", " "),
            )
        ),
        ("qualifier", "NOT|enables", "enables"),
        ("qualifier", "contributes_to|NOT", "contributes_to"),
        ("qualifier", ["NOT", "enables"], ["enables", "knotted"]),
        *(
            (column, false, true)
            for column in ("polarity", "is_true")
            for false, true in ((0, 1), (-1, 1), (False, True), ("no", "yes"), ("-", "+"), ("absent", ""))
        ),
        ("label", 0, 1),
        ("label", False, True),
        ("label", "0.0", "NO"),
    ],
)
@pytest.mark.parametrize("kind", ["csv", "jsonl", "parquet", "xlsx"])
def test_a_row_that_its_file_calls_false_is_no_fact(
    tmp_path: Path,
    column: str,
    false: Any,  # noqa: ANN401
    true: Any,  # noqa: ANN401
    kind: str,
) -> None:
    rows = [
        {"head": "a", "relation": "r", "tail": tail, column: value}
        for tail, value in (("b", true), ("c", false))
    ]
    path = tmp_path / f"t.{kind}"

    def write_table(rows: list[dict[str, Any]]) -> None:
        if kind == "xlsx":
            texts = [["|".join(v) if isinstance(v, list) else v for v in row.values()] for row in rows]
            write_workbook(path, {"A": [list(rows[0]), *texts]})
        else:
            write_rows(path, rows)

    write_table(rows)
    (message,) = read_error(path).splitlines()
    assert f"{column.lower()} is '" in message
    places = {"jsonl": "line 2", "parquet": "row index 1"}
    assert f"t.{kind}, {places.get(kind, 'line 3')}: " in message
    assert "in layout of [knowledge]" in message or "with a query (format = 'sql') that selects" in message
    write_table(rows[:1])
    assert list_tested(read_own(path)) == [("a", "b")]


def test_a_table_beside_the_base_that_cannot_be_used_is_an_error(tmp_path: Path) -> None:
    for setting, table, problem in (
        ("aliases", "alias\npyrexia\n", "has neither a column name nor a column id"),
        ("aliases", "name,id,alias\nfever,C1,a\n,,b\n", "line 3: the row has neither a name nor an id"),
        ("aliases", "name,alias\nfever,\n", "line 2: the alias is empty"),
        (
            "aliases",
            "name,synonym\nfever,pyrexia\n",
            "has no column alias; it has name, synonym: name the columns alias, and name or id",
        ),
        ("hierarchy", "child_id,parent_id\nH3,H2\nH2,\n", "1 row without child_id or parent_id: fill"),
        ("hierarchy", "child_id,parent\nH3,H2\n", "in child_id and parent_id, or in child and parent"),
        ("verdicts", f"{VERDICTS}r,gout,x,,maybe", "is 'maybe': write also_true, also_false or undecided"),
        ("verdicts", f"{VERDICTS}r,,x,,undecided", "line 2: the head is empty"),
        ("verdicts", f"{VERDICTS}{DIFFERENT}", "verdicts.csv, line 4: the verdicts on a triplet differ"),
    ):
        path = write(tmp_path / "facts.csv", "head,relation,tail\ngout,r,fever\nflu,r,x\n")
        assert problem in read_error(path, **{setting: write(tmp_path / f"{setting}.csv", table)}), table


def test_a_wrong_encoding_and_the_first_five_wrong_rows_are_named_and_all_are_counted(tmp_path: Path) -> None:
    (tmp_path / "latin1.tsv").write_bytes(b"head\trelation\ttail\ncaf\xe9\tr\tt\n")
    assert "line 2: byte 0xe9 is not UTF-8" in read_error(tmp_path / "latin1.tsv")
    rows = "".join(f"a{i},r,{'' if i % 2 else 'b'}\n" for i in range(14))
    first, *named, last = read_error(write(tmp_path / "t.csv", "head,relation,tail\n" + rows)).splitlines()
    assert (first, last.strip()) == ("7 wrong rows:", "and 2 more")
    assert [int(line.split("line ")[1].split(":")[0]) for line in named] == [3, 5, 7, 9, 11]


CTD = "gout,marker/mechanism,fever\nmumps,,fever\ngout,treats,pain\nflu,marker/mechanism,pain\n,,x\n"


def test_rows_of_relations_that_are_not_chosen_are_counted(tmp_path: Path) -> None:
    path = write(tmp_path / "t.csv", f"head,relation,tail\n{CTD}")
    base = read_own(path, relations=["treats"])
    assert list_tested(base) == [("gout", "pain")]
    assert [(item.where, item.what, item.reason) for item in base.left_out] == [
        ("t.csv", "2 rows", "the relation is empty"),
        ("t.csv", "2 rows of marker/mechanism", "relations of [knowledge] does not name the relation"),
    ]
    # Without a choice, the name of a relation is one problem.
    first, *lines = read_error(path).splitlines()
    assert first == "4 wrong rows:"
    remedy = "or choose others by relations in [knowledge]"
    named, *empty = (line.partition("csv, line ")[2] for line in lines)
    assert named.startswith("2: relation 'marker/mechanism' cannot name a file: use a to z")
    assert named.endswith(f"{remedy} (2 rows)")
    assert empty == [f"{line}: the relation is empty: name it or delete the row, {remedy}" for line in (3, 6)]
    broken = write(tmp_path / "t.csv", f"head,relation,tail\n{CTD}gout,,fever,x\n")
    assert "line 7: has 4 fields" in read_error(broken, relations=["treats"])


def test_blanks_in_the_name_of_a_relation_become_underscores(tmp_path: Path) -> None:
    rows = [
        "aspirin,Has  indication,fever",
        "colchicine, Has\u00a0indication,gout",
        "aspirin,RxNorm has ing,acid",
    ]
    path = write(tmp_path / "t.csv", "\n".join(["head,relation,tail", *rows]))
    assert read_own(path).relations == ["Has_indication", "RxNorm_has_ing"]
    query = write(tmp_path / "t.sql", "from read_csv($path)")
    verdicts = write(
        tmp_path / "v.csv", "relation,head,tail,verdict\nHas indication,aspirin,fever,undecided\n"
    )
    for settings in ({}, {"format": "sql", "query": query}):
        base = read_own(path, relations=["Has indication"], verdicts=verdicts, **settings)
        assert base.relations == ["Has_indication"]
        assert list_tested(base) == [("colchicine", "gout")]
    named = KnowledgeConfig(relations=("Has indication", "r"), shape={"is a ": "transitive"})
    assert (named.relations, named.shape) == (("Has_indication", "r"), {"is_a": "transitive"})


@pytest.mark.parametrize("surplus", ["", ",", ",,", ", ,"])
def test_separators_at_the_end_of_most_rows_are_ignored(tmp_path: Path, surplus: str) -> None:
    rows = [f"gout,r,{tail}{surplus}" for tail in ("pain", "fever", "redness")]
    path = write(tmp_path / "t.csv", "\n".join(["head,relation,tail", *rows, "mumps,r,fever"]))
    assert len(list_tested(read_own(path))) == 4
    # An empty cell more, or text beyond the header, is a shift.
    for row in (f"gout, chronic,r,{surplus}", f"gout,r,pain{surplus},note"):
        write(path, "\n".join(["head,relation,tail", *rows, row]))
        assert "t.csv, line 5: has " in read_error(path), row


QUESTION = "A man coughs. Which of the following is the most likely diagnosis?"
OPTIONS = ["Gout", "Asthma", "Mumps"]
KEYED = dict(zip("ABC", OPTIONS, strict=True))
MEDQA = {"question": QUESTION, "options": KEYED, "answer_idx": "B", "answer": "Asthma", "meta_info": "step1"}


def write_lines(folder: Path, *rows: object) -> Path:
    lines = (row if isinstance(row, str) else json.dumps(row) for row in rows)
    return write(folder / "medqa.jsonl", "\n".join(lines))


def test_both_formats_of_medqa_give_the_same_item(tmp_path: Path) -> None:
    row = {"question": QUESTION, "options": OPTIONS, "answer_letter": "B", "answer": "Asthma"}
    path = write_rows(tmp_path / "medqa.parquet", [row])
    lines, table = read_medqa(write_lines(tmp_path, MEDQA)), read_medqa(path)
    expected = (QUESTION, tuple(OPTIONS), "B")
    assert lines.items == (MedqaItem(*expected, "step1", "medqa.jsonl, line 1"),)
    assert table.items == (MedqaItem(*expected, "", "medqa.parquet, row index 0"),)
    assert lines.items[0].answer == "Asthma"


def test_wrong_values_of_medqa_name_file_line_and_remedy(tmp_path: Path) -> None:
    cases: list[tuple[dict[str, Any] | str, str]] = [
        ("[]", "is not a JSON object"),
        ({"question": " "}, "the question is empty"),
        ({"options": {"A": "Gout"}}, "options must be 2 to 10 texts"),
        ({"options": ["Gout", " "]}, "an option is empty"),
        ({"options": {"A": "Gout", "C": "Mumps"}}, "options with the keys A, C: name them A, B, C"),
        ({"answer_idx": "D"}, "the answer's letter is 'D': write one of A, B, C"),
        ({"answer": "Gout"}, "the answer 'Gout' is not option B, 'Asthma': correct one of them"),
        ({"answer_idx": "A", "answer": "Gout"}, "asks what .*line 1 asks and answers differently"),
    ]
    for change, problem in cases:
        path = write_lines(tmp_path, MEDQA, change if isinstance(change, str) else {**MEDQA, **change})
        with pytest.raises(InputError, match=rf"medqa\.jsonl, line 2:? .*{problem}|line 2 {problem}"):
            read_medqa(path)


def test_repeated_questions_and_options_are_left_out_and_listed(tmp_path: Path) -> None:
    shuffled = {**MEDQA, "options": {"A": "asthma", "B": "Mumps", "C": "Gout"}, "answer_idx": "A"}
    twice = {**MEDQA, "question": "Why?", "options": {"A": "Gout", "B": "Asthma", "C": "asthma "}}
    source = read_medqa(write_lines(tmp_path, MEDQA, shuffled, twice))
    assert [item.place for item in source.items] == ["medqa.jsonl, line 1"]
    assert [(one.where, one.reason) for one in source.left_out] == [
        ("medqa.jsonl, line 2", "repeats medqa.jsonl, line 1"),
        ("medqa.jsonl, line 3", "two options have the same text"),
    ]


def test_quotation_marks_within_a_name_of_a_tab_separated_table_stay(tmp_path: Path) -> None:
    rows = '"weak" pulse\tsymptoms\t"low ""normal"" pressure"\n'
    path = write(tmp_path / "own.tsv", f"head\trelation\ttail\n{rows}")
    assert read_table(path).select("head", "tail").row(0) == ('"weak" pulse', 'low "normal" pressure')
