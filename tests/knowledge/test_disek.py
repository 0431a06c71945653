import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from knowledge.base import KnowledgeBase
from knowledge.disek import ASPECTS, build_disek_table, find_relation, read_disek
from knowledge.rows import build_base, clean_rows
from primitives.errors import InputError
from tests.support.small_bases import as_facts, as_rows

TEXT = (
    "disease,aspect,attributes,disease_id,also_true\n"
    'gout,Symptoms,"joint pain || redness, swelling",M10,\n'
    "gout,therapeutic drug,colchicine,M10,false\n"
    "gout,Symptoms,fever,M10,true\n"
    "hernia,SURGICAL-PROCEDURE,hernia repair||mesh repair ,,\n"
)
ROWS: list[dict[str, Any]] = [
    {"disease": "gout", "aspect": "Symptoms", "attributes": ["joint pain", "redness, swelling"]},
    {"disease": "gout", "aspect": "therapeutic drug", "attributes": ["colchicine"]},
    {"disease": "gout", "aspect": "Symptoms", "attributes": ["fever"], "also_true": True},
    {"disease": "hernia", "aspect": "SURGICAL-PROCEDURE", "attributes": ["hernia repair", "mesh repair"]},
]
EXPECTED = [
    ("surgical_procedures", "hernia", "hernia repair", None, None, False),
    ("surgical_procedures", "hernia", "mesh repair", None, None, False),
    ("symptoms", "gout", "fever", "M10", None, True),
    ("symptoms", "gout", "joint pain", "M10", None, False),
    ("symptoms", "gout", "redness, swelling", "M10", None, False),
    ("therapeutic_drugs", "gout", "colchicine", "M10", None, False),
]


def read_base(path: Path) -> KnowledgeBase:
    return build_base("disek", clean_rows(read_disek(path)))


def read_error(path: Path) -> str:
    with pytest.raises(InputError) as caught:
        read_base(path)
    return str(caught.value)


def write(folder: Path, name: str, text: str) -> Path:
    path = folder / name
    path.write_text(text, encoding="utf-8", newline="")
    return path


def write_rows(folder: Path, name: str) -> Path:
    rows = [row | ({"disease_id": "M10"} if row["disease"] == "gout" else {}) for row in ROWS]
    if name.endswith(".csv"):
        return write(folder, name, TEXT)
    if name.endswith(".tsv"):
        return write(folder, name, TEXT.replace('"', "").replace("redness, swelling", "X").replace(",", "\t"))
    if name.endswith(".jsonl"):
        return write(folder, name, "\n".join(json.dumps(row) for row in rows) + "\n\n")
    pl.DataFrame(rows, infer_schema_length=None).write_parquet(folder / name)
    return folder / name


@pytest.mark.parametrize("name", ["rows.csv", "rows.tsv", "rows.jsonl", "rows.parquet"])
def test_every_format_gives_the_same_triplets(tmp_path: Path, name: str) -> None:
    found = read_base(write_rows(tmp_path, name)).triplets.rows()
    swelling = "X" if name.endswith(".tsv") else "redness, swelling"
    assert sorted(found, key=str) == sorted(
        [tuple(swelling if cell == "redness, swelling" else cell for cell in row) for row in EXPECTED],
        key=str,
    )


@pytest.mark.parametrize("name", ["rows.jsonl", "rows.parquet"])
def test_attributes_may_be_one_text_where_lists_are_possible(tmp_path: Path, name: str) -> None:
    row = {"disease": "gout", "aspect": "symptoms", "attributes": "pain || fever", "disease_id": 7}
    if name.endswith(".parquet"):
        pl.DataFrame([row]).write_parquet(tmp_path / name)
    else:
        write(tmp_path, name, json.dumps(row))
    assert read_base(tmp_path / name).triplets.select("tail", "head_id").rows() == [
        ("fever", "7"),
        ("pain", "7"),
    ]


@pytest.mark.parametrize(
    ("aspect", "relation"),
    [
        *((relation, relation) for relation in ASPECTS),
        *((name.upper(), relation) for relation, names in ASPECTS.items() for name in names),
        ("Affected site", "affected_sites"),
        (" therapeutic-drug ", "therapeutic_drugs"),
        ("Prognosis", None),
        ("", None),
    ],
)
def test_an_aspect_names_a_relation_in_many_spellings(aspect: str, relation: str | None) -> None:
    assert find_relation(aspect) == relation


def test_no_spelling_names_two_relations() -> None:
    spellings = [name for relation, names in ASPECTS.items() for name in (relation, *names)]
    found = {name: find_relation(name) for name in spellings}
    assert found == {name: r for r, names in ASPECTS.items() for name in (r, *names)}


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("gout,Prognosis,good", "line 3: aspect 'Prognosis' is not one of Symptoms, Affected Sites"),
        ("gout,,good", "line 3: aspect '' is not one of"),
        (" ,Symptoms,pain", "line 3: the disease is empty: name it"),
        ("gout,Symptoms,", "line 3: an attribute is empty: name it, or remove one ||"),
        ("gout,Symptoms,pain || ", "line 3: an attribute is empty"),
        ("gout,Symptoms,pain,more", "line 3: has 4 fields where the header has 3"),
    ],
)
def test_a_wrong_row_is_named_with_its_remedy(tmp_path: Path, line: str, message: str) -> None:
    text = f"disease,aspect,attributes\ngout,Symptoms,pain\n{line}\n"
    assert message in read_error(write(tmp_path, "own.csv", text))


@pytest.mark.parametrize(
    ("line", "message"),
    [
        ("{", "line 2: is not JSON"),
        ("[1]", "line 2: is not a JSON object"),
        ('{"disease": 1, "aspect": "Symptoms", "attributes": ["a"]}', "disease is 1: write it as text"),
        (
            '{"disease": "d", "aspect": "Symptoms", "attributes": ["a", 2]}',
            'attributes is ["a", 2]: write it as a list of texts',
        ),
        ('{"disease": "d", "aspect": "Symptoms", "attributes": []}', "line 2: has no attributes"),
        ('{"disease": "d", "aspect": "Symptoms"}', "line 2: has no attributes"),
    ],
)
def test_a_wrong_line_of_json_is_named_with_its_remedy(tmp_path: Path, line: str, message: str) -> None:
    good = '{"disease": "d", "aspect": "Symptoms", "attributes": ["a"]}'
    assert message in read_error(write(tmp_path, "own.jsonl", f"{good}\n{line}\n"))


def test_file_that_is_not_a_disek_table_is_refused(tmp_path: Path) -> None:
    assert "no column attributes" in read_error(write(tmp_path, "own.csv", "disease,aspect\na,b\n"))
    assert "is not a table in DiseK's format" in read_error(tmp_path)
    assert "is not a table in DiseK's format" in read_error(tmp_path / "own.xlsx")
    numbers = tmp_path / "own.parquet"
    pl.DataFrame({"disease": ["d"], "aspect": ["Symptoms"], "attributes": [[1]]}).write_parquet(numbers)
    assert "column attributes is of type List(Int64): store it as text" in read_error(numbers)


def test_disek_table_has_a_row_per_disease_and_aspect() -> None:
    rows: list[dict[str, Any]] = [
        {"relation": "symptoms", "head": "gout", "tail": "pain"},
        {"relation": "symptoms", "head": "gout", "tail": "fever", "also_true": True},
        {"relation": "symptoms", "head": "gout", "tail": "ache"},
        {"relation": "affected_sites", "head": "gout", "tail": "toe"},
        {"relation": "symptoms", "head": "flu", "tail": "fever"},
        {"relation": "may_treat", "head": "colchicine", "tail": "gout"},
    ]
    table = build_disek_table(KnowledgeBase("own", as_rows(rows)))
    assert table.rows() == [
        ("flu", None, "Symptoms", ["fever"], False),
        ("gout", None, "Symptoms", ["ache", "pain"], False),
        ("gout", None, "Symptoms", ["fever"], True),
        ("gout", None, "Affected Sites", ["toe"], False),
    ]


def test_base_that_does_not_fit_the_format_is_refused() -> None:
    with pytest.raises(InputError, match="has none of the relations symptoms, affected_sites"):
        build_disek_table(KnowledgeBase("own", as_facts({"a": ["b"]})))
    row = {"relation": "symptoms", "head": "gout", "tail": "pain", "tail_id": "C7"}
    with pytest.raises(InputError, match=r"ids of tails \(pain: C7\)"):
        build_disek_table(KnowledgeBase("own", as_rows([row])))
