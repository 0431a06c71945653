"""A published data folder for analysts: two editions, two models of known knowledge, and one that failed.

The steps of the pipeline make everything but the answers. The name of a head decides who knows it.
"""

import contextlib
from collections.abc import Callable, Iterator
from dataclasses import dataclass
from functools import partial
from pathlib import Path
from typing import Any

import polars as pl

from config.engines import EngineConfig
from config.file import Config
from engines.base import Engine
from primitives.errors import InputError
from schemas.exchange import Completion
from schemas.stages import SAMPLES, STATEMENTS, TRIPLETS
from storage.mirror import Mirror
from tasks.edition.attempt_rounds import ask_rounds
from tasks.edition.edition import Edition
from tasks.edition.manifest import complete_edition
from tasks.edition.planning import plan_edition
from tasks.edition.recipes import RECIPES
from tasks.edition.stage_files import StageFiles, check_files, provide_files, record_check
from tasks.edition.statements import join_entities
from tasks.evaluation.evaluation import plan_evaluation
from tasks.evaluation.failures import record_failure
from tasks.evaluation.request_files import build_relation_requests
from tasks.quality.diversity import write_diversity
from tests.support.command import make_rows, write_base
from tests.support.evaluations import ask_model, finish, ignore
from tests.support.known_models import FAILED, LARGE, SMALL, Answering, answer_question, answer_sample
from tests.support.stage_rows import Row, digest
from warehouse.publishing import build_warehouse

# The relations of the base, which are in the bundled pool of prototypes.
RELATIONS = ("therapeutic_drugs", "symptoms")


@dataclass(frozen=True)
class AnalystFolder:
    """The data folder, and the names of its editions in the order of their weeks."""

    root: Path
    editions: tuple[str, ...]

    def read(self, stage: str, edition_id: str | None = None) -> pl.DataFrame:
        """Return the rows of a stage of an edition, by default the last, from its Parquet files."""
        return pl.read_parquet(
            self.root / "editions" / (edition_id or self.editions[-1]) / stage / "*.parquet"
        )

    def read_predictions(self, model: str, edition_id: str | None = None) -> pl.DataFrame:
        """Return the predictions of a model with the columns of their samples and triplets."""
        edition_id = edition_id or self.editions[-1]
        predictions = pl.read_parquet(
            self.root / "predictions" / edition_id / f"{model}-*/predictions/*.parquet"
        )
        samples = self.read("samples", edition_id).drop("relation")
        triplets = self.read("triplets", edition_id).select("triplet_id", "head", "tail", "is_positive")
        return predictions.join(samples, on="sample_id").join(triplets, on="triplet_id")


def publish_analyst_folder(folder: Path) -> AnalystFolder:
    """Build two editions, evaluate both models on each, and publish.

    The first edition is reworded by a writer; the second one has questions, and is validated.
    """
    rows = make_rows(*RELATIONS, n_heads=24, n_tails=8)
    base = write_base(folder / "base.tsv", rows)
    for name in (LARGE, SMALL, FAILED, "writer"):
        pl.DataFrame({"prompt": [name], "response": ["-"]}).write_parquet(folder / f"{name}.parquet")
    editions = []
    for week, kind in (("2026-W01", "model"), ("2026-W02", "reviewed")):
        config = _configure(folder, base, week, kind)
        edition = plan_edition(config)
        editions.append(edition.edition_id)
        _build(edition, plan_edition(_configure(folder, base, week, "reviewed")))
        write_diversity(config.storage.root, edition.edition_id)
        for name in (LARGE, SMALL):
            _evaluate(config, edition, name)
        with (
            contextlib.suppress(InputError),
            record_failure(Mirror(config.storage), config, editions[-1], FAILED),
        ):
            raise InputError("http://127.0.0.1:9/v1 cannot be reached")
    build_warehouse(folder / "data")
    return AnalystFolder(folder / "data", tuple(editions))


def _configure(folder: Path, base: Path, week: str, kind: str) -> Config:
    def describe(name: str) -> dict[str, Any]:
        return {"name": name, "engine": "recorded", "model": str(folder / f"{name}.parquet")}

    prices = {"price_input": 2.0, "price_output": 10.0}
    return Config.model_validate(
        {
            "knowledge": {"name": "own", "format": "table", "path": base},
            "edition": {"label": week, "seed": int(week[-1]), "methods": ["pretexeval", "prototype"]},
            "rephraser": {"kind": kind} | ({"writer": "writer"} if kind == "model" else {}),
            "chain_of_thought": {"repeats": 3, "max_tokens": 16},
            "writers": [describe("writer") | prices] if kind == "model" else [],
            "models": [describe(LARGE) | prices, describe(SMALL), describe(FAILED)],
            "storage": {"root": folder / "data"},
        }
        | ({} if kind == "model" else {"questions": {"settings": ["chain_of_thought"]}})
    )


def _build(edition: Edition, reviewed: Edition) -> None:
    """Build and validate every stage. The writer replies with the reviewed wording, or with nonsense."""
    built: dict[str, StageFiles] = {}
    for stage in edition.stages:
        if stage.name == "attempts":
            _reword(edition, reviewed, built)
        inputs = [built[i.name] for i in RECIPES[stage.name].inputs if i.name in built]
        built[stage.name] = provide_files(edition, stage.name, *inputs)
        if edition.has_questions:
            record_check(edition, built[stage.name], check_files(edition, built[stage.name]))
    refs = [ref for files in built.values() for ref in files.files.values()]
    complete_edition(edition, refs, [])


def _reword(edition: Edition, reviewed: Edition, built: dict[str, StageFiles]) -> None:
    assert edition.rephraser is not None
    wordings: dict[str, Row] = {}
    joined = []
    for relation in edition.base.relations:
        frames = {name: files.read(edition.root, relation) for name, files in built.items()}
        samples = RECIPES[SAMPLES.name].build(reviewed, relation, frames)
        pairs = samples.filter(method="pretexeval").join(frames[STATEMENTS.name], on="variant_id")
        for row in pairs.iter_rows(named=True):
            prompt = edition.rephraser.build_prompt(row["statement"], 1, row["split"]).prompt
            wordings[prompt.text] = {"text": row["text"]}
        joined.append(join_entities(frames[STATEMENTS.name], frames[TRIPLETS.name]))

    def reply(row: Row, _: int) -> Completion:
        text = row["text"] if int(digest(row["text"]), 16) % 4 else "Hm."
        return Completion(text, n_prompt_tokens=50, n_completion_tokens=20)

    ask_rounds(
        Mirror(edition.config.storage), joined, edition.rephraser, _show, lambda _: Answering(wordings, reply)
    )


@contextlib.contextmanager
def _show(title: str, total: int) -> Iterator[Callable[[int], None]]:
    yield ignore


def _evaluate(config: Config, edition: Edition, name: str) -> None:
    """Evaluate a model on the samples, and in both settings on the questions."""
    rows = _index(edition)
    for setting in (None, *config.questions.settings):
        evaluation = plan_evaluation(config, edition.edition_id, name, setting)
        by_prompt = {
            prompt.text: rows[row[0]]
            for _, requests in build_relation_requests(evaluation)
            for prompt, row in zip(requests.prompts, requests.frame.iter_rows(), strict=True)
        }

        def reply(row: Row, repeat: int) -> Completion:
            return answer_sample(name, row) if "sample_id" in row else answer_question(name, row, repeat)

        engine = Answering(by_prompt, reply)
        finish(evaluation, ask_model(evaluation, partial(_return_engine, engine)))


def _return_engine(engine: Answering, _: EngineConfig) -> Engine:
    return engine


def _index(edition: Edition) -> dict[str, Row]:
    """Return the id of a sample or question -> its row, with the head and the truth of its triplet."""
    folder = edition.root / edition.folder
    triplets = pl.read_parquet(folder / "triplets/*.parquet").select("triplet_id", "head", "is_positive")
    samples = pl.read_parquet(folder / "samples/*.parquet").join(triplets, on="triplet_id")
    questions = pl.read_parquet(folder / "questions/*.parquet") if edition.has_questions else pl.DataFrame()
    rows = [*samples.iter_rows(named=True), *questions.iter_rows(named=True)]
    return {
        row.get("sample_id") or row["question_id"]: row | {"edition_id": edition.edition_id} for row in rows
    }
