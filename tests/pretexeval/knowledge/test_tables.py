import json
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError


def read_base(path: Path, *relations: str) -> KnowledgeBase:
    config = KnowledgeConfig(name="own", format="table", path=path, relations=relations)
    return read_knowledge_base(config)


def read_error(path: Path, *relations: str) -> str:
    with pytest.raises(InputError) as caught:
        read_base(path, *relations)
    return str(caught.value)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


LONG = 140_000 * "a"
ROWS = [
    {"head": "gout", "relation": "may_treat", "tail": "colchicine", "head_id": "C1"},
    {"head": "angina [X]", "relation": "may_treat", "tail": 'β "blocker"', "also_true": "true"},
    {"head": "angina [X]", "relation": "may_treat", "tail": "nitrate, organic", "tail_id": "7"},
]
EXPECTED = [
    ("may_treat", "angina [X]", "nitrate, organic", None, "7", False),
    ("may_treat", "angina [X]", 'β "blocker"', None, None, True),
    ("may_treat", "gout", "colchicine", "C1", None, False),
]


def write_rows(folder: Path, name: str) -> Path:
    path = folder / name
    frame = pl.DataFrame(ROWS, infer_schema_length=None)
    if path.suffix == ".parquet":
        is_also_true = (pl.col("also_true") == "true").fill_null(value=False)
        frame.with_columns(is_also_true.alias("also_true"), pl.col("tail_id").cast(pl.Int64)).write_parquet(
            path
        )
    elif path.suffix == ".jsonl":
        numbered = [{**row, "tail_id": 7} if "tail_id" in row else row for row in ROWS]
        path.write_text("\n".join(json.dumps(row) for row in numbered) + "\n\n", encoding="utf-8")
    else:
        frame.write_csv(path, separator="\t" if path.suffix == ".tsv" else ",")
    return path


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.parquet"])
def test_every_format_gives_the_same_base(tmp_path: Path, name: str) -> None:
    base = read_base(write_rows(tmp_path, name))
    assert base.name == "own"
    assert base.triplets.columns == ["relation", "head", "tail", "head_id", "tail_id", "also_true"]
    assert base.triplets.rows() == EXPECTED
    assert base.left_out == ()


def test_a_folder_is_read_as_one_base_and_other_files_are_listed(tmp_path: Path) -> None:
    write(tmp_path, "a.csv", "head,relation,tail\ngout,may_treat,colchicine\n")
    write(tmp_path, "b.TSV", "tail\tsource\tcolour\trelation\thead\nlung\tatlas\tred\tsites\tasthma\n")
    write(tmp_path, "README.md", "about")
    base = read_base(tmp_path)
    assert base.relations == ["may_treat", "sites"]
    assert base.select_relation("sites").rows() == [("sites", "asthma", "lung", None, None, False)]
    assert base.left_out == (
        LeftOut("README.md", "file", "not one of .csv, .tsv, .jsonl, .ndjson, .parquet"),
    )


def test_names_lose_outer_white_space_only(tmp_path: Path) -> None:
    text = "\ufeffhead, relation ,tail\r\n  type  1 DM ,r,\u00a0Été \r\n\r\n"
    base = read_base(write(tmp_path, "t.csv", text))
    assert base.triplets.select("head", "tail").rows() == [("type  1 DM", "Été")]


@pytest.mark.parametrize(
    ("name", "text", "expected"),
    [
        ("t.csv", "head,relation\na,r\n", "has no column tail; it has head, relation"),
        ("t.csv", "", "has no column head, relation, tail; it has none"),
        ("t.csv", "head,relation,tail\n", "holds no rows"),
        ("t.csv", "head,relation,tail,head\na,r,b,c\n", "has the column head twice"),
        ("t.csv", "head,relation,tail\na,r,b\n ,r,b\n", "t.csv, line 3: the head is empty"),
        ("t.csv", "head,relation,tail\na,../r,b\n", "relation '../r' cannot name a file"),
        ("t.csv", "head,relation,tail\na,r,b,c\n", "line 2: has 4 fields where the header has 3"),
        ("t.csv", 'head,relation,tail\n"a\nb",r,c\nd,r,\n', "line 2: the head contains a line break"),
        ("t.csv", 'head,relation,tail\na,r,b\n"c,r,d\ne,r,f\n', "t.csv, line 3: unexpected end"),
        (
            "t.csv",
            "head,relation,tail,also_true\na,r,b,perhaps\n",
            "line 2: also_true is 'perhaps': write true or false",
        ),
        (
            "t.tsv",
            f"head\trelation\ttail\na\tr\t{LONG}\n",
            "line 2: a field has more than 131,072",
        ),
        ("t.jsonl", '{"head": "a", "relation": "r"}', "line 1: the tail is empty"),
        ("t.jsonl", '{"head": "a"\n', "t.jsonl, line 1: is not JSON"),
        ("t.jsonl", '\n["a", "r", "b"]', "t.jsonl, line 2: is not a JSON object"),
        ("t.jsonl", '{"head": 1, "relation": "r", "tail": "b"}', "head is 1: write it as text"),
        ("t.xlsx", "", "has the extension '.xlsx'; a table has one of .csv, .tsv"),
        ("t.parquet", "no parquet", "cannot be read as Parquet"),
    ],
)
def test_problem_is_reported_with_file_and_line(tmp_path: Path, name: str, text: str, expected: str) -> None:
    path = write(tmp_path, name, text)
    message = read_error(path)
    assert expected in message
    assert str(path) in message


def test_the_first_five_wrong_rows_are_named_and_all_are_counted(tmp_path: Path) -> None:
    rows = "".join(f"a{i},r,{'' if i % 2 else 'b'}\n" for i in range(14))
    message = read_error(write(tmp_path, "t.csv", "head,relation,tail\n" + rows))
    assert message.startswith("7 wrong rows:")
    assert [line.split("line ")[1][:3] for line in message.splitlines()[1:6]] == [
        "3: ", "5: ", "7: ", "9: ", "11:",
    ]  # fmt: skip
    assert message.endswith("and 2 more")


def test_a_parquet_column_of_another_type_and_a_wrong_row_are_named(tmp_path: Path) -> None:
    path = tmp_path / "t.parquet"
    pl.DataFrame({"head": [1], "relation": "r", "tail": "b"}).write_parquet(path)
    assert "column head is of type Int64" in read_error(path)
    pl.DataFrame({"head": ["a", ""], "relation": "r", "tail": "b"}).write_parquet(path)
    assert "row index 1: the head is empty" in read_error(path)
