"""Wrong labels and wrong facts, planted into the pool and the base, are noticed by a trained model.

Ten cells of the pool are swapped with their contraries, so that their labels are wrong, and some heads of
the base get a false tail as their only one. A reference model, which was taught without these errors, answers
this edition and a clean one. The views `suspect_prototypes` and `suspect_facts` must name the errors, and
little else.
"""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import polars as pl
import pytest

from benchmarks.measuring import run_command, write_config
from pretexeval.config.tables import KnowledgeConfig
from pretexeval.engines.identity import read_taught_facts
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.knowledge.reader import read_knowledge_base
from pretexeval.primitives.hashing import draw_order
from pretexeval.primitives.toml_files import write_toml
from pretexeval.storage.layout import edition_folder
from prototypes.pool import Pool, load_pool
from schemas.transformations import POSITIVE_OF
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
Name = tuple[str, str]


@dataclass(frozen=True)
class Planted:
    """The errors: cells are (relation, transformation), facts are (relation, head)."""

    cells: frozenset[Name]
    facts: frozenset[Name]


@dataclass(frozen=True)
class Found:
    """What the views name on an edition."""

    cells: frozenset[Name]
    facts: frozenset[Name]


def plant_cells(pool: Pool, relations: Sequence[str], path: Path) -> frozenset[Name]:
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


def plant_facts(base: KnowledgeBase, relations: Sequence[str], path: Path) -> frozenset[Name]:
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


def run_planted(folder: Path, model: Path) -> tuple[Planted, dict[str, Found]]:
    """Evaluate a model on a clean and a planted edition; return the errors, and what was found on each.

    A head with a false tail that the edition leaves out is no error of the edition.
    """
    base, root = read_knowledge_base(KnowledgeConfig()), folder / "data"
    relations = draw_order(base.relations, "planted")
    cells = plant_cells(load_pool("revised"), relations, folder / "pool.toml")
    facts = plant_facts(base, relations[N_SWAPS:], folder / "base.parquet")
    # As in the quickstart: the answer is one token, and the models learned nothing that follows it.
    models = [{"name": model.name, "model": str(model), "dtype": "bfloat16", "max_tokens": 1}]
    knowledge = {"name": base.name, "format": "table", "path": str(folder / "base.parquet")}
    editions: dict[str, dict[str, Any]] = {
        "clean": {"edition": {"seed": 1, "label": "clean"}},
        "planted": {
            "edition": {"seed": 1, "label": "planted", "pool": str(folder / "pool.toml")},
            "knowledge": knowledge,
        },
    }
    for label, tables in editions.items():
        run_command(folder, "run", write_config(folder / f"{label}.toml", root, **tables, models=models))

    def read(sql: str, label: str) -> frozenset[Name]:
        return frozenset((one, other) for found, one, other in run_query(root, sql)[1] if found == label)

    (edition,) = (root / edition_folder("")).glob("*-planted-*")
    triplets = pl.read_parquet(edition / "triplets" / "*.parquet").filter("is_positive", split="test")
    tested = frozenset(triplets.select("relation", "head").iter_rows())
    found = {label: Found(read(SUSPECT_CELLS, label), read(SUSPECT_FACTS, label)) for label in editions}
    return Planted(cells, facts & tested), found


@pytest.fixture(scope="module")
def results(
    tmp_path_factory: pytest.TempPathFactory, prefect_server: dict[str, str]
) -> tuple[Planted, dict[str, Found]]:
    with pytest.MonkeyPatch.context() as patch:
        for variable, value in prefect_server.items():
            patch.setenv(variable, value)
        return run_planted(tmp_path_factory.mktemp("planted"), MODELS / NAME)


@pytest.mark.long
def test_every_swapped_cell_is_named(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert len(planted.cells) == 10
    assert planted.cells <= found["planted"].cells


@pytest.mark.long
def test_wrong_facts_about_learned_heads_are_named(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert len(planted.facts) >= 10
    known = {(unit.relation, unit.head) for unit in read_taught_facts(MODELS / NAME).known_heads or []}
    assert len(planted.facts & known) >= 5
    assert planted.facts & known <= found["planted"].facts


@pytest.mark.long
def test_little_is_named_where_nothing_is_wrong(results: tuple[Planted, dict[str, Found]]) -> None:
    planted, found = results
    assert not found["clean"].cells
    assert not found["planted"].cells - planted.cells
    # The model reads some of the heads that it learned badly.
    assert len(found["clean"].facts) <= 16
    assert len(found["planted"].facts - planted.facts) <= 16
