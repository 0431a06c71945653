"""Wrong labels and wrong facts, planted into the pool and the base, are noticed by a trained model.

It was taught without these errors. The views `suspect_prototypes` and `suspect_facts` must name them, and
little else.
"""

from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from pretexeval.config.tables import KnowledgeConfig
from pretexeval.engines.identity import read_taught_facts
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.hashing import draw_order
from pretexeval.primitives.toml_files import write_toml
from prototypes.pool import Pool, load_pool
from schemas.transformations import POSITIVE_OF
from tests.support.command import run_command, write_config
from training.__main__ import MODELS
from warehouse.query import run_query

NAME = "reference-large"
N_SWAPS, N_FACTS = 5, 13
"""Relations with swapped cells, and heads with a false tail; the edition tests most of these heads."""
SUSPECT_CELLS = """
    select distinct label, relation, transformation
    from suspect_prototypes inner join editions using (edition_id) where is_suspect
"""
SUSPECT_FACTS = (
    "select distinct label, relation, head from suspect_facts inner join editions using (edition_id)"
)
Names = frozenset[tuple[str, str]]
"""Cells are (relation, transformation), facts are (relation, head)."""


def plant_cells(pool: Pool, relations: Sequence[str], path: Path) -> Names:
    """Write a pool in which a cell of the first relations is swapped with its contrary; return both cells."""
    cells = {r: {t: list(cell.texts) for t, cell in pool.relations[r].cells.items()} for r in relations}
    swapped = set()
    for relation in relations[:N_SWAPS]:
        (negated, *_) = draw_order(POSITIVE_OF, "planted", relation)
        positive, table = POSITIVE_OF[negated], cells[relation]
        table[negated], table[positive] = table[positive], table[negated]
        swapped |= {(relation, negated), (relation, positive)}
    write_toml(path, {r: {"instance": list(pool.relations[r].instance), **cells[r]} for r in relations})
    return frozenset(swapped)


def plant_facts(base: KnowledgeBase, relations: Sequence[str], path: Path) -> Names:
    """Write a base in which some heads of these relations have only a false tail; return them."""
    rows, facts = base.triplets, set()
    heads = rows.filter(pl.col("relation").is_in(relations)).select("relation", "head").unique()
    for unit in draw_order(map("\t".join, heads.iter_rows()), "planted fact")[:N_FACTS]:
        relation, head = unit.split("\t")
        is_unit = (pl.col("relation") == relation) & (pl.col("head") == head)
        true = set(rows.filter(is_unit)["tail"])
        tails = set(rows.filter(relation=relation)["tail"]) - true - {head}
        (tail, *_) = draw_order(tails, "planted tail", head)
        false = rows.filter(is_unit).head(1).with_columns(tail=pl.lit(tail), also_true=pl.lit(False))
        rows = pl.concat([rows.filter(~is_unit), false])
        facts.add((relation, head))
    rows.write_parquet(path)
    return frozenset(facts)


@pytest.mark.long
def test_planted_errors_are_named_and_little_else(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    base, root = read_knowledge_base(KnowledgeConfig()), tmp_path / "data"
    relations = draw_order(base.relations, "planted")
    cells = plant_cells(load_pool("revised"), relations, tmp_path / "pool.toml")
    facts = plant_facts(base, relations[N_SWAPS:], tmp_path / "base.parquet")
    # As in the quickstart: the answer is one token, and the models learned nothing that follows it.
    models = [{"name": NAME, "model": str(MODELS / NAME), "dtype": "bfloat16", "max_tokens": 1}]
    knowledge = {"name": base.name, "format": "table", "path": str(tmp_path / "base.parquet")}
    cases: dict[str, tuple[dict[str, Any], dict[str, Any]]] = {
        "clean": ({}, {}),
        "planted": ({"pool": str(tmp_path / "pool.toml")}, {"knowledge": knowledge}),
    }
    for label, (own, tables) in cases.items():
        edition = {"seed": 1, "label": label, **own}
        config = write_config(tmp_path / f"{label}.toml", root, models=models, edition=edition, **tables)
        run_command("run", config, folder=tmp_path, environment=prefect_server).require()

    def read(sql: str, label: str) -> Names:
        return frozenset((one, other) for found, one, other in run_query(root, sql)[1] if found == label)

    found_cells = read(SUSPECT_CELLS, "planted")
    assert len(cells) == 2 * N_SWAPS
    assert cells == found_cells
    assert not read(SUSPECT_CELLS, "clean")
    # A head with a false tail that the edition leaves out is no error of the edition.
    (edition_folder,) = root.glob("editions/*-planted-*")
    triplets = pl.read_parquet(edition_folder / "triplets" / "*.parquet").filter("is_positive", split="test")
    tested = facts & frozenset(triplets.select("relation", "head").iter_rows())
    known = {(unit.relation, unit.head) for unit in read_taught_facts(MODELS / NAME).known_heads or []}
    assert len(tested) >= 10
    assert len(tested & known) >= 5
    found_facts = read(SUSPECT_FACTS, "planted")
    # The model may be unsure of a tail that it was never taught to be false.
    assert len((tested & known) - found_facts) <= 1
    # The model reads some of the heads that it learned badly.
    assert len(read(SUSPECT_FACTS, "clean")) <= 3
    assert len(found_facts - tested) <= 8
