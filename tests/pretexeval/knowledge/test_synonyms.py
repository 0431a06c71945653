from pathlib import Path

import polars as pl
import pytest

from pretexeval.knowledge.synonyms import read_synonyms
from pretexeval.primitives.errors import InputError

ROWS = {"answer": ["Fever", "Fever", "gout"], "synonym": ["Pyrexia", "High temperature", "Podagra"]}


@pytest.mark.parametrize("name", ["table.csv", "table.tsv", "table.parquet"])
def test_all_formats_give_the_same_synonyms(tmp_path: Path, name: str) -> None:
    path, frame = tmp_path / name, pl.DataFrame(ROWS)
    if name.endswith("parquet"):
        frame.write_parquet(path)
    else:
        frame.write_csv(path, separator="\t" if name.endswith("tsv") else ",")
    table = read_synonyms(path)
    assert table.find("FEVER") == ("High temperature", "Pyrexia")
    assert table.find("Gout") == ("Podagra",)
    assert table.find("cough") == ()


def test_answers_with_the_same_id_share_their_synonyms(tmp_path: Path) -> None:
    path = tmp_path / "table.csv"
    path.write_text(
        "answer,synonym,answer_id\nFever,Pyrexia,C1\nFebrile state,High temperature,C1\nGout,Podagra,\n"
    )
    table = read_synonyms(path)
    assert table.find("Fever") == ("Febrile state", "High temperature", "Pyrexia")
    assert table.find("Febrile state") == ("Fever", "High temperature", "Pyrexia")
    assert table.find("Gout") == ("Podagra",)


@pytest.mark.parametrize(
    ("text", "problem"),
    [
        ("answer,name\nFever,Pyrexia\n", "has no column synonym"),
        ("answer,synonym\nFever,Pyrexia\nGout, \n", r"table\.csv, line 3: the synonym is empty"),
        ("answer,synonym\n,Pyrexia\n", r"table\.csv, line 2: the answer is empty"),
        ("answer,synonym\nFever,Pyrexia,more\n", "line 2: has 3 fields where the header has 2"),
        ("answer,synonym\n", "holds no rows"),
    ],
)
def test_broken_tables_name_the_place(tmp_path: Path, text: str, problem: str) -> None:
    path = tmp_path / "table.csv"
    path.write_text(text)
    with pytest.raises(InputError, match=problem):
        read_synonyms(path)


def test_a_row_of_parquet_is_named_by_its_index(tmp_path: Path) -> None:
    path = tmp_path / "table.parquet"
    pl.DataFrame({"answer": ["Fever"], "synonym": [" "]}).write_parquet(path)
    with pytest.raises(InputError, match=r"table\.parquet, row index 0: the synonym is empty"):
        read_synonyms(path)
