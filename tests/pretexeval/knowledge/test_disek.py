import json
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.disek import ASPECTS, find_relation, read_disek
from pretexeval.knowledge.rows import build_base, clean_rows
from pretexeval.primitives.errors import InputError

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


def test_a_row_without_attributes_is_named(tmp_path: Path) -> None:
    path = write(tmp_path, "own.jsonl", '{"disease": "gout", "aspect": "Symptoms"}')
    assert "line 1: an attribute is empty" in read_error(path)
