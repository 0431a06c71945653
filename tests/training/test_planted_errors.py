"""Wrong labels and wrong facts, planted into the pool and the base, are noticed by trained models.

They were taught without these errors. The view `suspect_prototypes` must name the wrong cells and no other,
and `label_audit` must tell the wrong facts from the right ones.
"""

from collections import Counter
from collections.abc import Collection, Sequence
from pathlib import Path

import polars as pl
import pytest
from scipy.stats import mannwhitneyu

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

NAMES = ("large", "small", "unsure", "facets-large", "facets-small")
N_SWAPS, N_FACTS = 5, 16
"""Relations with swapped cells, and heads with a false tail; the edition tests most of these heads."""
OF = "inner join editions using (edition_id) where label = '{}'"
SUSPECTS = f"select relation, transformation from suspect_prototypes {OF} and model = 'large' and is_suspect"
LABELS = "select relation, head, is_positive, is_contradicted_by_all, wrong_probability from label_audit"
AUDITED = f"{LABELS} {OF}"
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


def list_learned() -> set[tuple[str, str]]:
    """Return the heads that at least three of the models have learned, so that their labels are audited."""
    cards = (read_taught_facts(MODELS / f"reference-{name}").known_heads or [] for name in NAMES)
    learned = Counter((unit.relation, unit.head) for card in cards for unit in card)
    return {unit for unit, n in learned.items() if n >= 3}


def plant_facts(base: KnowledgeBase, heads: Collection[tuple[str, str]], path: Path) -> Names:
    """Write a base in which some of these heads have only a false tail; return them."""
    rows, facts = base.triplets, set()
    for unit in draw_order(map("\t".join, heads), "planted fact")[:N_FACTS]:
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
def test_planted_errors_are_told_from_what_is_right(tmp_path: Path, prefect_server: dict[str, str]) -> None:
    base, root = read_knowledge_base(KnowledgeConfig()), tmp_path / "data"
    learned = list_learned()
    audited = {relation for relation, _ in learned}
    # The cells are of other relations than most of the facts.
    relations = sorted(draw_order(base.relations, "planted"), key=audited.__contains__)
    cells = plant_cells(load_pool("revised"), relations, tmp_path / "pool.toml")
    facts = plant_facts(base, learned, tmp_path / "base.parquet")
    # As in the quickstart: the answer is one token, and the models learned nothing that follows it.
    models = [
        {"name": name, "model": str(MODELS / f"reference-{name}"), "dtype": "bfloat16", "max_tokens": 1}
        for name in NAMES
    ]
    edition = {"seed": 1, "label": "clean"}
    clean = write_config(tmp_path / "clean.toml", root, models=models, edition=edition)
    edition |= {"label": "planted", "pool": str(tmp_path / "pool.toml")}
    knowledge = {"name": base.name, "format": "table", "path": str(tmp_path / "base.parquet")}
    planted = write_config(tmp_path / "c.toml", root, models=models, edition=edition, knowledge=knowledge)
    run_command("run", clean, planted, folder=tmp_path, environment=prefect_server).require()
    assert len(cells) == 2 * N_SWAPS
    assert cells == set(run_query(root, SUSPECTS.format("planted"))[1])
    assert not run_query(root, SUSPECTS.format("clean"))[1]
    # A head with a false tail that the edition leaves out is no error of the edition.
    audited_labels = run_query(root, AUDITED.format("planted"))[1]
    wrong = [row[3:] for row in audited_labels if row[2] and row[:2] in facts]
    right = [row[3:] for row in audited_labels if row[:2] not in facts]
    assert len(wrong) >= 10
    assert len(right) >= 150
    # The share of pairs of a wrong and a right label whose wrong one has the higher probability.
    n_higher = mannwhitneyu([p for _, p in wrong], [p for _, p in right]).statistic
    assert n_higher / (len(wrong) * len(right)) >= 0.95
    assert sum(is_by_all for is_by_all, _ in wrong) >= len(wrong) - 2
    assert sum(is_by_all for is_by_all, _ in right) <= 2
    # The models hardly err alone, so the probabilities are cautious.
    assert max(p for _, p in right) < 0.05
    unspoilt = [row[3:] for row in run_query(root, AUDITED.format("clean"))[1]]
    assert max(p for _, p in unspoilt) < 0.05
    assert not any(is_by_all for is_by_all, _ in unspoilt)
