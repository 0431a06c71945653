import csv
import os
from pathlib import Path

import polars as pl
import pytest

from pretexeval.primitives.errors import InputError
from prototypes.pool import INSTANCE, load_pool

FOLDER = os.environ.get("PRETEXEVAL_REFERENCE_DATA", "")
PROTOTYPES = Path(FOLDER) / "prototypes.parquet"
needs_reference = pytest.mark.skipif(
    not (FOLDER and PROTOTYPES.is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with prototypes.parquet",
)
HEADER = ["pid", "default_prompt", "human_prompt", *(f"prompt{i}" for i in range(2, 9))]
# In the order of the CSV: none, dn, inv, inv_dn, ins, ins_dn, inv_ins, inv_ins_dn.
TEXTS = [f"{i} [X] and [Y] ." for i in range(8)]


def write_csv(folder: Path, *rows: list[str], header: list[str] = HEADER) -> str:
    path = folder / "authors.csv"
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])
    return str(path)


def test_the_columns_of_the_csv_are_the_transformations(tmp_path: Path) -> None:
    pool = load_pool(write_csv(tmp_path, ["may_treat", "[X] may treat [Y] .", *TEXTS]))
    prototypes = pool.relations["may_treat"]
    assert {name: cell.prototype for name, cell in prototypes.cells.items()} == {
        "none": "0 [X] and [Y].",
        "inv": "2 [X] and [Y].",
        "ins": "4 [X] and [Y].",
        "inv_ins": "6 [X] and [Y].",
        "dn": "1 [X] and [Y].",
        "inv_dn": "3 [X] and [Y].",
        "ins_dn": "5 [X] and [Y].",
        "inv_ins_dn": "7 [X] and [Y].",
    }
    assert prototypes.instance == INSTANCE
    assert all(cell.wordings == () for cell in prototypes.cells.values())


def test_the_template_of_origin_for_the_relations_of_disek_is_a_sentence(tmp_path: Path) -> None:
    relations = load_pool("revised").relations
    assert relations["affected_sites"].origin == "The affected sites of [X] include [Y]."
    assert relations["may_treat"].origin == "[X] may treat [Y]."
    own = tmp_path / "own.toml"
    own.write_text('extends = "revised"\n[r]\norigin = "The [X]."\n')
    with pytest.raises(InputError, match=r"\[r\] origin is 'The \[X\].': give a sentence with"):
        load_pool(str(own))


def test_the_default_prompt_is_the_template_of_origin(tmp_path: Path) -> None:
    """Those that MedLAMA publishes are the name of the relation between the two slots."""
    rows = [["may_treat", "[Y] by [X] .", *TEXTS], ["has_physiologic_effect", "", *TEXTS]]
    relations = load_pool(write_csv(tmp_path, *rows)).relations
    assert relations["may_treat"].origin == "[Y] by [X]."
    assert relations["has_physiologic_effect"].origin == "[X] has physiologic effect [Y]."
    with pytest.raises(InputError, match=r"may_treat default_prompt holds \[Y\] 0 times"):
        load_pool(write_csv(tmp_path, ["may_treat", "[X] may treat .", *TEXTS]))


def test_faults_of_the_authors_are_kept(tmp_path: Path) -> None:
    faulty = ["[Y]  may be associate with [X]", *TEXTS[1:]]
    pool = load_pool(write_csv(tmp_path, ["may_treat", "", *faulty]))
    cell = pool.relations["may_treat"].cells["none"]
    assert cell.prototype == "[Y]  may be associate with [X]"


def test_missing_cells_and_slots_are_named_at_once(tmp_path: Path) -> None:
    lacking = ["may_treat", "", "", "[X] does not treat it.", *TEXTS[2:]]
    with pytest.raises(InputError) as caught:
        load_pool(write_csv(tmp_path, lacking))
    _, cell, slot = str(caught.value).splitlines()
    assert cell.strip() == "may_treat lacks none"
    assert slot.strip().startswith("may_treat dn holds [Y] 0 times instead of once")


@pytest.mark.parametrize(
    ("rows", "header", "expected"),
    [
        ([], HEADER, "holds no relation"),
        ([["r", "", *TEXTS]] * 2, HEADER, "holds r none twice: keep one"),
        ([["r", "", *TEXTS[:3]]], HEADER[:5], "has no column prompt4, prompt5"),
    ],
)
def test_a_csv_that_is_no_pool_is_an_error(
    tmp_path: Path, rows: list[list[str]], header: list[str], expected: str
) -> None:
    with pytest.raises(InputError, match=expected):
        load_pool(write_csv(tmp_path, *rows, header=header))


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
    frame.with_columns(pl.lit("Twist").alias("transformation")).write_parquet(path)
    with pytest.raises(InputError, match="unknown transformation 'twist'"):
        load_pool(str(path))
    frame.drop("transformation").write_parquet(path)
    with pytest.raises(InputError, match="is not a table of prototypes: it needs relation"):
        load_pool(str(path))


@needs_reference
def test_the_published_pool_is_read() -> None:
    pool = load_pool(str(PROTOTYPES))
    assert len(pool.relations) == 21
    disek = {"symptoms", "affected_sites", "therapeutic_drugs", "surgical_procedures"}
    assert disek <= pool.relations.keys()
    cells = pool.relations["disease_has_abnormal_cell"].cells
    assert cells["none"].prototype == "[X] has the abnormal cell [Y]."
    published = pl.read_parquet(PROTOTYPES)["pretex_csv"].drop_nulls().str.replace(r"\s+\.$", ".")
    read = {cell.prototype for p in pool.relations.values() for cell in p.cells.values()}
    assert set(published) <= read
