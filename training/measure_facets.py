"""Measure facet models and write the scores into their cards: ``python -m training.measure_facets NAME ...``.

The pipeline itself measures them, on editions of seeds that nothing else uses: the quickstart uses seed 1,
the tests use seed 2. On one of them the models also think before they answer.
"""

import argparse
import tempfile
from collections import defaultdict
from dataclasses import replace
from pathlib import Path
from typing import Any

from training.card import MODELS
from training.facet_card import TaughtScores, read_facet_card, write_facet_card
from training.pipeline_runs import run_pipeline, write_configuration
from training.train_facets import RELATIONS, read_base
from warehouse.query import run_query

SETTINGS = {11: ("answer_only", "chain_of_thought"), 12: ("answer_only",), 13: ("answer_only",)}
"""Seed -> the settings in which the questions are asked."""
CONFIG = """\
[knowledge]
relations = {relations}

[edition]
seed = {seed}

[questions]
settings = {settings}
"""
MASTERED = """
    select
        facets.model, seed, setting, facets.is_known, facets.n_points, mastered_rate,
        facets.ci_low, facets.ci_high, samples.n_pairs,
        mastery as pair_mastery, average_accuracy as pair_accuracy
    from known_facets as facets
    inner join editions using (edition_id)
    inner join known_mastery as samples using (edition_id, model_id, is_known, scoring_policy)
    where is_negated_included
    order by facets.model, setting, facets.is_known desc, seed
"""
ACCURACY = """
    select
        model, seed, setting, is_known, concat_ws(' ', type, if(is_negated, 'negated', null)) as form,
        avg(is_correct::integer)
    from facet_details
    inner join editions using (edition_id)
    inner join taught_points using (edition_id, model_id, point_id)
    where repeat = 0
    group by all
    order by form
"""


def write_facet_configuration(
    file: Path, names: list[str], seed: int, settings: tuple[str, ...], models: Path = MODELS
) -> None:
    """Write a configuration of the relations that the facet models know, with data beside the file."""
    tables = CONFIG.format(relations=list(RELATIONS), seed=seed, settings=list(settings))
    write_configuration(file, tables, [models / name for name in names])


def read_scores(root: Path) -> dict[str, list[TaughtScores]]:
    """Return, by model name, the scores of all editions in the data folder, learned heads first."""
    accuracy: dict[tuple[str, int, str, bool], dict[str, float]] = defaultdict(dict)
    for *key, form, share in run_query(root, ACCURACY)[1]:
        model, seed, setting, is_known = key
        accuracy[model, seed, setting, is_known][form] = round(share, 4)
    scores: dict[str, list[TaughtScores]] = defaultdict(list)
    columns, rows = run_query(root, MASTERED)
    for model, *values in rows:
        row: dict[str, Any] = {
            name: round(value, 4) if isinstance(value, float) else value
            for name, value in zip(columns[1:], values, strict=True)
        }
        forms = accuracy[model, row["seed"], row["setting"], row["is_known"]]
        scores[model].append(TaughtScores(**row, accuracy=forms))
    return dict(scores)


def measure_models(names: list[str], models: Path) -> dict[str, list[TaughtScores]]:
    """Return, by model name, the scores on the editions of all seeds."""
    with tempfile.TemporaryDirectory(prefix="pretexeval-facets-") as place:
        for seed, settings in SETTINGS.items():
            file = Path(place) / f"seed{seed}.toml"
            write_facet_configuration(file, names, seed, settings, models)
            run_pipeline(file)
        return read_scores(Path(place) / "data")


def main() -> None:
    """Measure the models, and write their cards again."""
    parser = argparse.ArgumentParser(prog="python -m training.measure_facets", description=__doc__)
    parser.add_argument("names", nargs="+", help="names of folders under models/")
    parser.add_argument("--models", type=Path, default=MODELS, help="where the folders are")
    options = parser.parse_args()
    for name, scores in measure_models(options.names, options.models.resolve()).items():
        folder = options.models / name
        write_facet_card(folder, replace(read_facet_card(folder), scores=scores), read_base())


if __name__ == "__main__":
    main()
