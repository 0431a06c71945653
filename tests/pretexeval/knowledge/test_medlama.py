import csv
import os
import time
from pathlib import Path

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.knowledge.base import KnowledgeBase, LeftOut
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.errors import InputError

FOLDER = os.environ.get("PRETEXEVAL_REFERENCE_DATA", "")
MEDLAMA = Path(FOLDER) / "medlama.parquet"
needs_reference = pytest.mark.skipif(
    not (FOLDER and MEDLAMA.is_file()),
    reason="PRETEXEVAL_REFERENCE_DATA names no folder with medlama.parquet",
)
HEADER = ["head_cui", "head_name", "rel", "tail_names", "tail_cuis", "avg_match"]


def read_base(path: Path, *relations: str) -> KnowledgeBase:
    config = KnowledgeConfig(name="medlama", format="medlama", path=path, relations=relations)
    return read_knowledge_base(config)


def write_csv(path: Path, *rows: list[str], header: list[str] = HEADER) -> None:
    with path.open("w", encoding="utf-8", newline="") as file:
        csv.writer(file).writerows([header, *rows])


def test_the_published_folder_is_read(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "may_treat_1000.csv",
        ["C1", "Aspirin, 5 mg", "may_treat", "Pain || Laennec's [X] fever", "C8 || C9", "0.0"],
        ["C2", "Nitrate", "may_treat", "Angina || Angina", "C7 || C7", "0.0"],
    )
    write_csv(tmp_path / "may_treat_1_hard.csv", ["C2", "Nitrate", "may_treat", "Angina", "C7", "0.0"])
    write_csv(
        tmp_path / "gene_product_encoded_by_gene_1000.csv",
        ["C3", "p53", "gene_product_encoded_by_gene", "TP53", "C4", "1.0"],
    )
    (tmp_path / "prompts.csv").write_text("pid,default_prompt\n", encoding="utf-8")
    base = read_base(tmp_path)
    assert base.triplets.rows() == [
        ("may_treat", "Aspirin, 5 mg", "Laennec's [X] fever", "C1", "C9", False),
        ("may_treat", "Aspirin, 5 mg", "Pain", "C1", "C8", False),
        ("may_treat", "Nitrate", "Angina", "C2", "C7", False),
    ]
    assert base.left_out == (
        LeftOut("may_treat_1_hard.csv", "file", "repeats rows of the full file"),
        LeftOut("may_treat_1000.csv, line 3", "may_treat: Nitrate → Angina", "repeats another row"),
    )
    inverse = "gene_product_encoded_by_gene"
    assert read_base(tmp_path, inverse).relations == [inverse]


def test_names_and_ids_of_different_number_are_an_error(tmp_path: Path) -> None:
    write_csv(
        tmp_path / "may_treat_1000.csv",
        ["C1", "a", "may_treat", "b", "C3", "0.0"],
        ["C2", "c", "may_treat", "d || e", "C3", "0.0"],
        ["C2", "f", "may_treat", "d || ", "C3 || C4", "0.0"],
    )
    with pytest.raises(InputError) as caught:
        read_base(tmp_path)
    first, second = str(caught.value).splitlines()[1:]
    assert "may_treat_1000.csv, line 3: has 2 tail_names and 1 tail_cuis" in first
    assert "may_treat_1000.csv, line 4: the tail is empty" in second


@needs_reference
def test_the_counts_of_medlama() -> None:
    started = time.perf_counter()
    base = read_base(MEDLAMA)
    checksums = {base.checksum_relation(relation) for relation in base.relations}
    # This takes half a second on two cores. The limit leaves a margin for a busy machine.
    assert time.perf_counter() - started < 5
    assert len(base.relations) == len(checksums) == 17
    assert base.triplets.height == 39_053
    assert base.triplets.select("relation", "head").n_unique() == 17_000
    names = pl.concat([base.triplets["head"], base.triplets["tail"]]).unique()
    assert names.str.contains("[X]", literal=True).any()
    assert base.left_out == ()


@needs_reference
def test_the_published_form_of_medlama_gives_the_same_base(tmp_path: Path) -> None:
    frame = pl.read_parquet(MEDLAMA)
    for (relation,), rows in frame.sample(fraction=1, shuffle=True, seed=1).group_by("relation"):
        joined = rows.select(
            "head_cui",
            "head_name",
            pl.col("relation").alias("rel"),
            pl.col("tail_names", "tail_cuis").list.join(" || "),
        )
        joined.write_csv(tmp_path / f"{relation}_1000.csv")
    base, other = read_base(MEDLAMA), read_base(tmp_path)
    assert base.triplets.equals(other.triplets)
    for relation in base.relations:
        assert base.checksum_relation(relation) == other.checksum_relation(relation)
