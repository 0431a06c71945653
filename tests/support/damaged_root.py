"""A small root with two editions and two models, and what `run` and `publish` do with it, without Prefect."""

from collections.abc import Sequence
from dataclasses import dataclass
from pathlib import Path

import duckdb
import polars as pl

from engines.base import Engine
from primitives.errors import InputError
from primitives.hashing import draw_order
from schemas.exchange import Completion, Prompt, Sampling
from storage.mirror import Mirror
from tasks.asking.model_records import restore_model_records
from tasks.asking.progress import Advance
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.stage_files import provide_files, validate_files
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.failures import write_failure
from tasks.evaluation.run_record import is_complete
from tasks.quality.measurements import measure_edition, repair_measurements
from tests.support.evaluations import ask_model, finish
from tests.support.small_bases import make_base, make_edition, make_facts
from warehouse.loading import load_warehouse

BASE = make_base(r=make_facts(12, 6))
# Times, and whether an answer was asked or reused, are those of the last run.
VARYING = {"n_asked", "n_reused", "finished_at", "duration_s"}
Tables = dict[str, list[tuple[object, ...]]]


class CountingEngine(Engine):
    """Answers every prompt by its hash, and counts the prompts."""

    def __init__(self) -> None:
        self.n_asked = 0

    def generate(
        self, prompts: Sequence[Prompt], sampling: Sampling, on_progress: Advance | None = None
    ) -> list[Completion]:
        self.n_asked += len(prompts)
        return [Completion(draw_order((" True", " False"), prompt.text)[0]) for prompt in prompts]

    def close(self) -> None:
        """Close nothing."""


@dataclass(frozen=True)
class SmallRoot:
    """The root, and the folder of the recordings that identify its models."""

    root: Path
    recordings: Path

    def make_edition(self, seed: int, *names: str) -> Edition:
        models = [
            {"name": n, "engine": "recorded", "model": str(self.recordings / f"{n}.parquet")} for n in names
        ]
        return make_edition(self.root, BASE, seed=seed, tables={"models": models})

    def run(self, seed: int, *names: str) -> tuple[int, Tables]:
        """Build an edition, evaluate the models, publish; return how many prompts were asked, and the tables.

        Raises:
            InputError: as the command would.
        """
        edition, engine = self.make_edition(seed, *names), CountingEngine()
        if not edition.is_whole():
            build(edition)
        for name in names:
            evaluation = plan_evaluation(edition.config, edition.edition_id, name)
            if not is_complete(evaluation):
                finish(evaluation, ask_model(evaluation, lambda _: engine))
        return engine.n_asked, self.publish(seed, *names)

    def publish(self, seed: int, *names: str) -> Tables:
        """Measure the edition, load everything, return the tables. Raises InputError as the command would."""
        edition = self.make_edition(seed, *names)
        restore_model_records(edition.config.models, Mirror(edition.config.storage))
        measure_edition(self.root, edition.edition_id)
        repair_measurements(self.root, [path.name for path in (self.root / "editions").iterdir()])
        with duckdb.connect() as connection:
            problems = load_warehouse(connection, self.root)
            if problems:
                raise InputError("\n".join(problems))
            return read_tables(connection)


def build(edition: Edition) -> None:
    """Build the stages as the flow does."""
    stages = [provide_files(edition, "triplets")]
    stages.append(provide_files(edition, "variants", *stages))
    stages.append(provide_files(edition, "statements", *stages))
    stages.append(provide_files(edition, "samples", *stages))
    for stage in stages:
        validate_files(edition, stage)
    complete_edition(edition, [ref for stage in stages for ref in stage.files.values()], [])


def fill_root(folder: Path) -> SmallRoot:
    """Evaluate the models `a` and `b` on the edition of seed 1, and `a` on that of seed 2."""
    small = SmallRoot(folder / "data", folder)
    for name in ("a", "b"):
        pl.DataFrame({"prompt": [name], "response": [name]}).write_parquet(folder / f"{name}.parquet")
    small.run(1, "a", "b")
    small.run(2, "a")
    config = small.make_edition(1, "a").config
    write_failure(Mirror(config.storage), config, small.make_edition(1).edition_id, "gone", "it is down")
    return small


def read_tables(connection: duckdb.DuckDBPyConnection) -> Tables:
    """Return table -> its rows, without the columns that differ from run to run."""
    names = [str(name) for (name,) in connection.execute("select table_name from duckdb_tables()").fetchall()]
    found = {}
    for name in sorted(names):
        rows = connection.execute(f"select * from {name}")
        kept = [k for k, column in enumerate(rows.description or []) if column[0] not in VARYING]
        found[name] = [tuple(row[k] for k in kept) for row in rows.fetchall()]
    return found
