"""Plant errors into copies of the pool and the base: ``python -m benchmarks.planted_errors``.

Ten cells of the pool are swapped with their contraries, so that their labels are wrong. In ten relations, a
cell and its contrary are swapped with those of another relation (the check of the pool refuses a single one).
Ten heads of the base get a false tail as their only one. The reference models, which were taught without
these errors, answer this edition and a clean one. The views `suspect_prototypes` and `suspect_facts` must
name the errors, and nothing on the clean edition.
"""

import argparse
from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import polars as pl

from benchmarks.processes import run_python
from config.tables import KnowledgeConfig
from knowledge.base import KnowledgeBase
from knowledge.reader import read_knowledge_base
from primitives.hashing import draw_order
from primitives.toml_files import write_toml
from prototypes.checks import check_cells
from prototypes.pool import Pool, load_pool
from report.console import align
from schemas.transformations import POSITIVE_OF
from tasks.drawing.heads import TripletSampling
from tasks.edition.triplets import draw_triplets
from warehouse.query import run_query

DEFAULT_MODELS = [Path(__file__).parents[1] / "models" / f"reference-{size}" for size in ("large", "small")]
N_SWAPS, N_FACTS = 5, 10
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

    contraries: frozenset[Name]
    foreign: frozenset[Name]
    facts: frozenset[Name]


@dataclass(frozen=True)
class Found:
    """What the views name on an edition."""

    cells: frozenset[Name]
    facts: frozenset[Name]


def plant_errors(base: KnowledgeBase, pool: Pool, folder: Path, seed: int) -> Planted:
    """Write `pool.toml` and `base.parquet` with errors into the folder, and return the errors."""
    order = draw_order(base.relations, "planted")
    swapped, foreign, changed = order[:N_SWAPS], order[N_SWAPS : 3 * N_SWAPS], order[3 * N_SWAPS :]
    cells = {r: {t: list(cell.texts) for t, cell in pool.relations[r].cells.items()} for r in base.relations}
    contraries: set[Name] = set()
    for relation in swapped:
        (negated, *_) = draw_order(POSITIVE_OF, "planted", relation)
        positive, table = POSITIVE_OF[negated], cells[relation]
        table[negated], table[positive] = table[positive], table[negated]
        contraries |= {(relation, negated), (relation, positive)}
    exchanged: set[Name] = set()
    for one, other in zip(foreign[::2], foreign[1::2], strict=True):
        (negated, *_) = draw_order(POSITIVE_OF, "planted", one)
        for cell in (negated, POSITIVE_OF[negated]):
            cells[one][cell], cells[other][cell] = cells[other][cell], cells[one][cell]
            exchanged |= {(one, cell), (other, cell)}
    tables = {r: {"instance": list(pool.relations[r].instance), **cells[r]} for r in base.relations}
    write_toml(folder / "pool.toml", tables)
    facts = _plant_facts(base, changed, folder / "base.parquet", seed)
    return Planted(frozenset(contraries), frozenset(exchanged), facts)


def _plant_facts(base: KnowledgeBase, relations: list[str], path: Path, seed: int) -> frozenset[Name]:
    """Give some heads of these relations a false tail as their only one, and write the base.

    A head that the edition would then leave out is not changed.
    """
    heads = base.triplets.filter(pl.col("relation").is_in(relations)).select("relation", "head").unique()
    rows = base.triplets
    facts: set[Name] = set()
    for unit in draw_order(map("\t".join, heads.iter_rows()), "planted fact"):
        relation, head = unit.split("\t")
        planted = _replace_tails(rows, relation, head)
        changed = {(relation, head)} | {fact for fact in facts if fact[0] == relation}
        if changed <= _list_tested(planted, relation, seed):
            rows = planted
            facts.add((relation, head))
        if len(facts) == N_FACTS:
            break
    rows.write_parquet(path)
    return frozenset(facts)


def _replace_tails(rows: pl.DataFrame, relation: str, head: str) -> pl.DataFrame:
    """Return the rows with a tail of other heads in the place of all tails of this head."""
    is_unit = (pl.col("relation") == relation) & (pl.col("head") == head)
    true = set(rows.filter(is_unit)["tail"])
    (tail, *_) = draw_order(set(rows.filter(relation=relation)["tail"]) - true - {head}, "planted tail", head)
    false = rows.filter(is_unit).head(1).with_columns(pl.lit(tail).alias("tail"))
    return pl.concat([rows.filter(~is_unit), false])


def _list_tested(rows: pl.DataFrame, relation: str, seed: int) -> set[Name]:
    """Return the heads of the relation that an edition with this seed tests."""
    frame = draw_triplets(KnowledgeBase("planted", rows), relation, TripletSampling(seed))
    return {(relation, head) for head in frame.filter(split="test")["head"]}


def run_planted(folder: Path, models: Sequence[Path], seed: int = 1) -> tuple[Planted, dict[str, Found]]:
    """Evaluate the models on a clean and a planted edition; return the errors, and what was found on each."""
    base, pool = read_knowledge_base(KnowledgeConfig()), load_pool("revised")
    planted = plant_errors(base, pool, folder, seed)
    # As in the quickstart: the answer is one token, and the models learned nothing that follows it.
    settings_of_all = {"dtype": "bfloat16", "max_tokens": 1}
    tables = [{"name": model.name, "model": str(model), **settings_of_all} for model in models]
    shared = {"storage": {"root": str(folder / "data")}, "models": tables}
    knowledge = {"name": base.name, "format": "table", "path": str(folder / "base.parquet")}
    planted_edition = {"seed": seed, "label": "planted", "pool": str(folder / "pool.toml")}
    clean = shared | {"edition": {"seed": seed, "label": "clean"}}
    for name, settings in {
        "clean": clean,
        "planted": shared | {"edition": planted_edition, "knowledge": knowledge},
    }.items():
        write_toml(folder / f"{name}.toml", settings)
        run_python(["-m", "cli", "run", str(folder / f"{name}.toml")], folder)
    return planted, {label: _read_found(folder / "data", label) for label in ("clean", "planted")}


def _read_found(root: Path, label: str) -> Found:
    def read(sql: str) -> frozenset[Name]:
        return frozenset((one, other) for found, one, other in run_query(root, sql)[1] if found == label)

    return Found(read(SUSPECT_CELLS), read(SUSPECT_FACTS))


def render_planted(planted: Planted, found: dict[str, Found]) -> str:
    """Return a table of the kinds of errors, with how many were planted and named, and the false alarms."""
    clean, dirty = found["clean"], found["planted"]
    all_cells = planted.contraries | planted.foreign
    rows = (
        ("cells swapped with their contraries", planted.contraries, dirty.cells),
        ("cells swapped with another relation's", planted.foreign, dirty.cells),
        ("heads with a false tail", planted.facts, dirty.facts),
    )
    lines = [[name, str(len(errors)), str(len(errors & named))] for name, errors, named in rows]
    return "\n".join(
        [
            align(["error", "planted", "named"], lines),
            f"named without an error: {len(dirty.cells - all_cells)} cells, "
            f"{len(dirty.facts - planted.facts)} heads",
            f"named on the clean edition: {len(clean.cells)} cells, {len(clean.facts)} heads",
        ]
    )


def count_refused(pool: Pool) -> str:
    """Return how many errors in cells the check of the pool refuses, before any model is asked."""
    contrary = POSITIVE_OF | {positive: negated for negated, positive in POSITIVE_OF.items()}
    tables = [{t: list(cell.texts) for t, cell in each.cells.items()} for each in pool.relations.values()]
    errors = {
        "a cell that says its contrary": [t | {c: t[contrary[c]]} for t in tables for c in contrary],
        "a cell of another relation": [
            t | {c: other[c]} for t in tables for other in tables if other is not t for c in contrary
        ],
        "a cell swapped with its contrary": [
            t | {c: t[contrary[c]], contrary[c]: t[c]} for t in tables for c in POSITIVE_OF
        ],
    }
    refused = {name: sum(any(check_cells(t)) for t in cases) for name, cases in errors.items()}
    return align(
        ["error", "cases", "refused by the check of the pool"],
        [[name, str(len(cases)), str(refused[name])] for name, cases in errors.items()],
    )


def main() -> None:
    """Plant the errors, evaluate the reference models, and print what the views name."""
    parser = argparse.ArgumentParser(prog="python -m benchmarks.planted_errors", description=__doc__)
    parser.add_argument("--root", type=Path, default=Path("data/planted"), help="folder for the results")
    parser.add_argument("--models", type=Path, nargs="+", default=DEFAULT_MODELS, help="folders of models")
    options = parser.parse_args()
    folder: Path = options.root.resolve()
    folder.mkdir(parents=True, exist_ok=True)
    print(count_refused(load_pool("revised")))
    print(render_planted(*run_planted(folder, [path.resolve() for path in options.models])))


if __name__ == "__main__":
    main()
