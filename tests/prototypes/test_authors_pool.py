"""Pools in the formats of the authors: a CSV of prompts, and a table of prototypes."""

import csv
import os
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from prototypes.pool import INSTANCE, load_pool

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


def test_the_template_of_origin_is_a_sentence(tmp_path: Path) -> None:
    relations = load_pool("revised").relations
    assert relations["affected_sites"].origin == "The affected sites of [X] include [Y]."
    assert relations["may_treat"].origin == "[X] may treat [Y]."
    own = tmp_path / "own.toml"
    own.write_text('extends = "revised"\n[r]\norigin = "The [X]."\n')
    with pytest.raises(InputError, match=r"\[r\] origin is 'The \[X\].': give a sentence with"):
        load_pool(str(own))


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
