"""Measure reference models and write the scores into their cards: ``python -m training.measure NAME ...``.

The pipeline itself measures them, on editions of seeds that nothing else uses: the quickstart uses seed 1,
the tests use seed 2.
"""

import argparse
import tempfile
from dataclasses import replace
from pathlib import Path
from typing import Any

from config.tables import KnowledgeConfig
from knowledge.reader import read_knowledge_base
from training.card import MODELS, read_card, write_card
from training.pipeline_runs import run_pipeline, write_configuration
from warehouse.query import run_query

SEEDS = (11, 12, 13)
CONFIG = """\
[edition]
seed = {seed}
"""
COLUMNS = (
    *("n_pairs", "average_accuracy", "ci_low", "ci_high"),
    *("mastery", "mastery_ci_low", "mastery_ci_high"),
)
QUERY = f"""
    select model, seed, is_known, taught_with, {", ".join(f"known_mastery.{name}" for name in COLUMNS)}
    from known_mastery inner join editions using (edition_id)
    order by model, is_known desc, taught_with desc, seed
"""


def measure_models(names: list[str]) -> dict[str, list[dict[str, Any]]]:
    """Return, by model name, the rows of known_mastery on the editions of SEEDS, learned heads first."""
    with tempfile.TemporaryDirectory(prefix="pretexeval-models-") as place:
        for seed in SEEDS:
            file = Path(place) / f"seed{seed}.toml"
            write_configuration(file, CONFIG.format(seed=seed), [MODELS / name for name in names])
            run_pipeline(file)
        columns, rows = run_query(Path(place) / "data", QUERY)
    scores: dict[str, list[dict[str, Any]]] = {name: [] for name in names}
    for name, *values in rows:
        scores[name].append(_round_values(dict(zip(columns[1:], values, strict=True))))
    return scores


def _round_values(row: dict[str, Any]) -> dict[str, Any]:
    return {key: round(value, 4) if isinstance(value, float) else value for key, value in row.items()}


def main() -> None:
    """Measure the models, and write their cards again."""
    parser = argparse.ArgumentParser(prog="python -m training.measure", description=__doc__)
    parser.add_argument("names", nargs="+", help="names of folders under models/")
    names = parser.parse_args().names
    base = read_knowledge_base(KnowledgeConfig())
    for name, scores in measure_models(names).items():
        write_card(MODELS / name, replace(read_card(MODELS / name), scores=scores), base)


if __name__ == "__main__":
    main()
